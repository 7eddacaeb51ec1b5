package model

import (
	"time"

	"latlab.example/common/sim/param"
)

// Names of the parameters.
const (
	Pause          = "pause"
	Cores          = "cores"
	Switch         = "switch-interval"
	HandOver       = "hand-over"
	WorkShare      = "work-share"
	KeyParse       = "key-parse"
	Setup          = "setup"
	Schedule       = "schedule"
	IO             = "io"
	IOKey          = "io-key"
	Spread         = "spread"
	IntoObject     = "into-object"
	Blocking       = "blocking-threads"
	ToMap          = "to-map"
	Eager          = "eager"
	OfficialLock   = "official-lock"
	Merge          = "merge"
	Executor       = "executor-threads"
	HTTP           = "http"
	Inference      = "inference"
	InferenceLock  = "inference-locked"
	InferenceParts = "inference-parts"
)

const (
	microsecond = int64(time.Microsecond)
	millisecond = int64(time.Millisecond)
)

// Study are the parameters of the study's service. Stage costs are the published
// means, a key where the stage works key by key; five values are fitted by
// Calibrate, one row each.
func Study() param.Table {
	return param.New(
		param.Param{
			Name: Pause, Value: 50 * millisecond, Unit: param.Time,
			Source: param.Published("the load script"), What: "between a user's calls; none in layer A",
		},
		param.Param{
			Name: Cores, Value: 8, Unit: param.Count, Lo: 4, Hi: 16,
			Source: param.Assumed("not published; four at least, since inference and loop take 2.7 without the lock"), What: "cores of the host",
		},
		param.Param{
			Name: Switch, Value: 5 * millisecond, Unit: param.Time,
			Source: param.Published("CPython's default"), What: "how long a thread waits for the lock before it asks",
		},
		param.Param{
			Name: HandOver, Value: handOver, Unit: param.Time, Lo: 5 * microsecond, Hi: 1000 * microsecond,
			Source: param.Calibrated("aero.k6.async.gather.avg"), What: "nobody works while the lock goes to a thread that waited",
		},
		param.Param{
			Name: WorkShare, Value: workShare, Unit: param.Share, Lo: 300_000, Hi: 1_000_000,
			Source: param.Calibrated("aero.reqs.free.async"), What: "share of a published mean of key_parse, to_dict and merge that is work; the rest was waiting",
		},
		param.Param{
			Name: KeyParse, Value: 4835, Unit: param.Time, Lo: 4835, Hi: 7300,
			Source: param.Published("aero.stage.gil.key_parse / 200"), What: "key_parse a key, in a call that keeps the lock",
		},
		param.Param{
			Name: Setup, Value: 46500, Unit: param.Time,
			Source: param.Published("aero.stage.gil.future_setup"), What: "setup a read, under the lock",
		},
		param.Param{
			Name: Schedule, Value: 49500, Unit: param.Time, Lo: 20 * microsecond, Hi: 83 * microsecond,
			Source: param.Published("aero.stage.free.schedule_delay"), What: "until a spawned task runs",
		},
		param.Param{
			Name: IO, Value: 1070 * microsecond, Unit: param.Time, Lo: 500 * microsecond, Hi: 2 * millisecond,
			Source: param.Published("aero.stage.free.io less 200 keys of io-key"), What: "a read's network and server, without its keys",
		},
		param.Param{
			Name: IOKey, Value: microsecond, Unit: param.Time, Lo: 500, Hi: 4 * microsecond,
			Source: param.Assumed("a real server's, over loopback"), What: "the server's time a key",
		},
		param.Param{
			Name: Spread, Value: 1_500_000, Unit: param.Share, Lo: 1_000_000, Hi: 4_000_000,
			Source: param.Assumed("no percentiles of stages were published that can be believed"), What: "95th percentile over median, of io, inference and pause",
		},
		param.Param{
			Name: IntoObject, Value: 3960, Unit: param.Time,
			Source: param.Published("aero.stage.gil.into_object"), What: "into_pyobject a read, under the lock, on the blocking pool",
		},
		param.Param{
			Name: Blocking, Value: 512, Unit: param.Count, Lo: 8, Hi: 512,
			Source: param.Assumed("the Rust runtime's default"), What: "threads of the blocking pool",
		},
		param.Param{
			Name: ToMap, Value: 4160, Unit: param.Time, Lo: 3950, Hi: 4160,
			Source: param.Published("aero.stage.gil.to_dict / 200"), What: "to_dict a key, in a call that keeps the lock",
		},
		param.Param{
			Name: Eager, Value: eager, Unit: param.Time, Lo: 0, Hi: 8 * microsecond,
			Source: param.Calibrated("aero.k6.official.single.avg"), What: "what the official client works a key beyond the other's key_parse and to_dict, under the lock",
		},
		param.Param{
			Name: OfficialLock, Value: 1, Unit: param.Count, Lo: 0, Hi: 1,
			Source: param.Assumed("a free-threaded build of it was still to be made"), What: "1: without the interpreter's lock the official client works under one of its own",
		},
		param.Param{
			Name: Merge, Value: 3540 * microsecond, Unit: param.Time, Lo: 3540 * microsecond, Hi: 4480 * microsecond,
			Source: param.Published("aero.stage.free.merge_to_dict"), What: "sets put into one map or split by set, for 1800 keys, in code that can be interrupted",
		},
		param.Param{
			Name: Executor, Value: 12, Unit: param.Count, Lo: 4, Hi: 32,
			Source: param.Assumed("Python's default is cores + 4"), What: "threads of the official client's executor",
		},
		param.Param{
			Name: HTTP, Value: millisecond, Unit: param.Time, Lo: 200 * microsecond, Hi: 5 * millisecond,
			Source: param.Assumed("request and response of an asyncio server, JSON included"), What: "CPU of the server a request, under the lock, in layers B and C",
		},
		param.Param{
			Name: Inference, Value: 20700 * microsecond, Unit: param.Time,
			Source: param.Published("aero.inference.free"), What: "the forward pass, alone, on a thread of its own",
		},
		param.Param{
			Name: InferenceLock, Value: inferenceLocked, Unit: param.Share, Lo: 0, Hi: 1_000_000,
			Source: param.Calibrated("aero.k6.async.single.avg"), What: "share of inference that is under the lock",
		},
		param.Param{
			Name: InferenceParts, Value: inferenceParts, Unit: param.Count, Lo: 1, Hi: 40,
			Source: param.Calibrated("aero.inference.gil"), What: "how often inference takes the lock",
		},
	)
}

// What Calibrate finds, rounded. A test runs a round of it again.
const (
	workShare       = 573_000
	inferenceLocked = 5_000 // the fit leaves next to none: inference waits for the lock, and hardly works under it
	handOver        = 411 * int64(time.Microsecond)
	eager           = 2650
	inferenceParts  = 8
)

// Assumptions are about the structure.
var Assumptions = []string{
	"one process with one event loop, whose callbacks take the lock one after the other; a lock that is asked for goes to whoever waited longest",
	"key_parse, setup, to_dict and into_pyobject are calls that keep the lock to their end; merge and inference's own part of it can be interrupted",
	"async: key_parse and setup in a turn of the loop, io off the lock, into_pyobject on the blocking pool, to_dict in another turn; the wait for the lock there counts as spawn_blocking_delay",
	"executor and, behind HTTP, official: a thread of an executor parses keys and builds maps under the lock and waits for the server without it; official in layer A is a thread a user, without a loop",
	"inference runs on a thread of its own, since at the published rates it would take more than a whole loop; layers A and B have none",
	"without the lock, all of this stays but the lock: the loop still runs one callback at a time",
}
