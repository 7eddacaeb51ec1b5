package spatial

import (
	"time"

	"latlab.example/common/metrics"
)

// SearchName names a way to search; each gives the same rows, but where its
// statement says otherwise.
type SearchName string

// The ways to search, by the statement that they run.
const (
	ByRadius  SearchName = "radius"        // SearchRadius
	BySorted  SearchName = "sorted"        // SearchSorted
	ByCast    SearchName = "geometry-cast" // SearchCast
	ByBox     SearchName = "geometry-box"  // SearchBox
	ByNearest SearchName = "nearest"       // SearchNearest
)

// AcquireName names what a request does while the pool has no connection.
type AcquireName string

// The ways to wait for a connection.
const (
	Park AcquireName = "park" // sleeps until it is given one, which is all that pgxpool does
	Spin AcquireName = "spin" // asks again and again on a processor, and then does the same
)

// FetchName names how the media of an answer's guides are read.
type FetchName string

// The ways to read media.
const (
	AnyArray FetchName = "any"     // one statement with all ids
	NPlusOne FetchName = "n+1"     // a statement a guide, on the connection that is held
	Batched  FetchName = "batch"   // a statement a guide, sent together
	FanOut   FetchName = "fan-out" // a statement a guide, each on a connection of its own, at once
)

// HoldName names what keeps a connection busy beside the search.
type HoldName string

// The ways to hold a connection.
const (
	HoldNone  HoldName = "none"  // nothing
	HoldSleep HoldName = "sleep" // the server waits without work, as for storage or a lock
	HoldBurn  HoldName = "burn"  // the server computes
)

// LogPlace names when a request writes its log.
type LogPlace string

// The places of the log.
const (
	LogAfter LogPlace = "after" // when the connection was given back
	LogHeld  LogPlace = "held"  // while the connection is held
)

// The choices that the code reads; first the baseline of this case.
var (
	// PoolToggle is the most connections that the pool opens.
	PoolToggle     = metrics.NewToggle("pool", 10, 2, 5, 11, 12, 15, 30, 100)
	SearchToggle   = metrics.NewToggle("search", ByRadius, BySorted, ByNearest, ByBox, ByCast)
	AcquireToggle  = metrics.NewToggle("acquire", Park, Spin)
	FetchToggle    = metrics.NewToggle("fetch", AnyArray, NPlusOne, Batched, FanOut)
	HoldToggle     = metrics.NewToggle("hold", HoldNone, HoldSleep, HoldBurn).Simulates("what else a connection is kept for", HoldSleep, HoldBurn)
	HoldForToggle  = metrics.NewToggle("hold-for", 100*time.Millisecond, 20*time.Millisecond)
	NestedToggle   = metrics.NewToggle("nested", false, true)
	LogToggle      = metrics.NewToggle("rowlog", LogOff, LogSummary, LogRows)
	LogPlaceToggle = metrics.NewToggle("log-place", LogAfter, LogHeld)
)
