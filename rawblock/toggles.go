package rawblock

import "latlab.example/common/metrics"

// Strategy is how PutMany writes its keys.
type Strategy string

// The strategies.
const (
	Sequential Strategy = "sequential" // key by key, the old loop
	FanOut     Strategy = "fan-out"    // a goroutine a key
	Pool       Strategy = "pool"       // a bounded pool of goroutines
	Batch      Strategy = "batch"      // Phases A to D, one submission
)

// Engine is how bytes reach a file or block device.
type Engine string

// The engines. Posix has no batches: with it, strategy Batch is the old loop.
const (
	IOUring Engine = "io_uring" // package uring
	Posix   Engine = "posix"    // pread and pwrite
)

// Layout is where a slot's header lies.
type Layout string

// The layouts. Split is the study's: the 32 B header is a write of its own, two
// writes a key. Aligned puts header and payload next to each other: one write a key.
const (
	Split   Layout = "split"
	Aligned Layout = "aligned"
)

// Placement is the order in which free slots are given out.
type Placement string

// The placements. Contiguous slots let the kernel merge a batch into few device
// writes; Scattered prevents that.
const (
	Scattered  Placement = "scattered"
	Contiguous Placement = "contiguous"
)

// Durability is what a store promises after a crash. In every mode each key is
// found whole or not at all, and what a Sync has covered is found.
type Durability string

// The modes. NoFlush adds none. Ordered flushes payloads before it writes their
// headers, so that a header is never found without its payload and nothing rests
// on the checksum alone, as long as the device writes its blocks whole; a key
// whose put has returned may still be missing.
// Flushed flushes before a put returns: its key is found after any crash.
const (
	NoFlush Durability = "none"
	Ordered Durability = "ordered"
	Flushed Durability = "flushed"
)

// Toggles, the first level being the baseline.
var (
	StrategyToggle   = metrics.NewToggle("strategy", Sequential, FanOut, Pool, Batch)
	EngineToggle     = metrics.NewToggle("engine", IOUring, Posix)
	LayoutToggle     = metrics.NewToggle("layout", Split, Aligned)
	PlacementToggle  = metrics.NewToggle("placement", Scattered, Contiguous)
	DurabilityToggle = metrics.NewToggle("durability", NoFlush, Ordered, Flushed)
)

// The stages of a PutMany. A blocking write can't be told apart from its wait,
// so only a batch has a submit stage.
const (
	StageDispatch metrics.Stage = iota // from asking for a goroutine until it runs
	StageReserve                       // A: lock, look up, take slots
	StagePrepare                       // B: fill buffers
	StageSubmit                        // C: hand writes over
	StageWait                          // C: until they are complete
	StageFlush                         // C: flushes, in modes Ordered and Flushed
	StageCommit                        // D: lock, enter into the index
)

// Stages names them.
var Stages = metrics.NewStageSet("rawblock", "dispatch", "reserve", "prepare", "submit", "wait", "flush", "commit")
