package model

import (
	"time"

	"latlab.example/common/sim/param"
)

// Names of the parameters.
const (
	Build      = "build"
	Spread     = "build-spread"
	JSON       = "json"
	MissRest   = "miss-rest"
	HitRest    = "hit-rest"
	Lean       = "lean-build"
	Gzip       = "gzip"
	Locate     = "locate"
	Health     = "health"
	Listing    = "listing"
	PullFirst  = "pull-first"
	PullRate   = "pull-rate"
	LANFirst   = "lan-first"
	LANRate    = "lan-rate"
	WANFirst   = "wan-first"
	WANRate    = "wan-rate"
	Turns      = "turns"
	Accepts    = "health-turns"
	Threads    = "threads"
	Switch     = "switch-interval"
	HandOver   = "hand-over"
	Proxy      = "proxy"
	Transfer   = "transfer"
	Timeout    = "proxy-timeout"
	Think      = "think"
	HealthRate = "health-rate"
	ListRate   = "list-rate"
	Duty       = "neighbour-cycle"
	Quantum    = "goroutine-slice"
)

const (
	microsecond = int64(time.Microsecond)
	millisecond = int64(time.Millisecond)
)

// Study are the parameters of the study's service. Its stage times are published;
// two values are worked out from published pulls.
func Study() param.Table {
	return param.New(
		param.Param{
			Name: Build, Value: 802 * millisecond, Unit: param.Time, Lo: 400 * millisecond, Hi: 1600 * millisecond,
			Source: param.Published("cold.stage.miss.build"), What: "median CPU of a build",
		},
		param.Param{
			Name: Spread, Value: 1_250_000, Unit: param.Share, Lo: 1_000_000, Hi: 3_000_000,
			Source: param.Published("cold.ladder.1.two.p95 against a miss of 862 ms"), What: "95th percentile over median of a build: log-normal",
		},
		param.Param{
			Name: JSON, Value: 20 * millisecond, Unit: param.Time, Lo: 5 * millisecond, Hi: 40 * millisecond,
			Source: param.Published("cold.stage.hit.json"), What: "CPU of an answer's text",
		},
		param.Param{
			Name: MissRest, Value: 40 * millisecond, Unit: param.Time, Lo: 0, Hi: 60 * millisecond,
			Source: param.Published("cold.stage.miss.build / cold.stage.miss.build_share less build, json and locate"), What: "CPU of a miss that no stage has",
		},
		param.Param{
			Name: HitRest, Value: 2200 * microsecond, Unit: param.Time, Lo: 0, Hi: 5 * millisecond,
			Source: param.Published("cold.stage.hit.json / cold.stage.hit.json_share less json and locate"), What: "CPU of a hit that no stage has",
		},
		param.Param{
			Name: Lean, Value: 80 * millisecond, Unit: param.Time, Lo: 40 * millisecond, Hi: 400 * millisecond,
			Source: param.Assumed("a tenth, as this case's own two builds"), What: "median CPU of a build after a profile of it",
		},
		param.Param{
			Name: Gzip, Value: 3 * millisecond, Unit: param.Time, Lo: millisecond, Hi: 10 * millisecond,
			Source: param.Assumed("140 KB"), What: "CPU of compressing an answer, which is then a fifth",
		},
		param.Param{
			Name: Locate, Value: 300 * microsecond, Unit: param.Time, Lo: 50 * microsecond, Hi: millisecond,
			Source: param.Published("cold.pull.hit"), What: "CPU of a look at a file that is there",
		},
		param.Param{
			Name: Health, Value: 300 * microsecond, Unit: param.Time, Lo: 50 * microsecond, Hi: millisecond,
			Source: param.Published("cold.health.server"), What: "CPU of the health endpoint",
		},
		param.Param{
			Name: Listing, Value: 5 * millisecond, Unit: param.Time, Lo: millisecond, Hi: 20 * millisecond,
			Source: param.Assumed("a handful of names"), What: "CPU of each of the listing's two halves",
		},
		param.Param{
			Name: PullFirst, Value: pullFirst, Unit: param.Time, Lo: millisecond, Hi: 5 * millisecond,
			Source: param.Calibrated("cold.pull.small.*, cold.pull.large.*"), What: "a pull without its bytes, store on loopback, file made durable",
		},
		param.Param{
			Name: PullRate, Value: pullRate, Unit: param.Rate, Lo: 200_000_000, Hi: 2_000_000_000,
			Source: param.Calibrated("cold.pull.small.*, cold.pull.large.*"), What: "bytes a second of such a pull",
		},
		param.Param{
			Name: LANFirst, Value: 2900 * microsecond, Unit: param.Time, Lo: 1500 * microsecond, Hi: 5 * millisecond,
			Source: param.Assumed("half a millisecond more than loopback"), What: "the same from a store in the next rack",
		},
		param.Param{
			Name: LANRate, Value: 400_000_000, Unit: param.Rate, Lo: 100_000_000, Hi: 1_000_000_000,
			Source: param.Assumed("a connection of 4 Gbit/s"), What: "bytes a second from there",
		},
		param.Param{
			Name: WANFirst, Value: 32 * millisecond, Unit: param.Time, Lo: 10 * millisecond, Hi: 100 * millisecond,
			Source: param.Assumed("a store in another city"), What: "the same from far away",
		},
		param.Param{
			Name: WANRate, Value: 50_000_000, Unit: param.Rate, Lo: 10_000_000, Hi: 125_000_000,
			Source: param.Assumed("one connection's share"), What: "bytes a second from there",
		},
		param.Param{
			Name: Turns, Value: 1, Unit: param.Count, Lo: 1, Hi: 2,
			Source: param.Assumed("the handler awaits nothing between look-up and build"), What: "1: a handler has one turn of the loop, 2: one to look up and one to build or answer, so that requests in between see the same cache",
		},
		param.Param{
			Name: Accepts, Value: 1, Unit: param.Count, Lo: 1, Hi: 3,
			Source: param.Assumed("connections are kept alive"), What: "turns of the loop that a health request needs; a connection of its own takes one more",
		},
		param.Param{
			Name: Threads, Value: 6, Unit: param.Count, Lo: 1, Hi: 40,
			Source: param.Assumed("Python's default is cores + 4"), What: "threads that take handlers off the loop",
		},
		param.Param{
			Name: Switch, Value: 5 * millisecond, Unit: param.Time, Lo: millisecond, Hi: 20 * millisecond,
			Source: param.Published("CPython's default"), What: "how long a thread waits for the interpreter's lock before it asks",
		},
		param.Param{
			Name: HandOver, Value: 50 * microsecond, Unit: param.Time, Lo: 5 * microsecond, Hi: millisecond,
			Source: param.Assumed("a thread wakes up"), What: "nobody works while the lock goes to a thread that waited",
		},
		param.Param{
			Name: Proxy, Value: 200 * microsecond, Unit: param.Time, Lo: 50 * microsecond, Hi: 2 * millisecond,
			Source: param.Assumed("a proxy in front"), What: "its CPU a request, on the service's cores",
		},
		param.Param{
			Name: Transfer, Value: millisecond, Unit: param.Time, Lo: 0, Hi: 100 * millisecond,
			Source: param.Published("cold.proxy.transfer.p95"), What: "time that an answer takes from the proxy to its user",
		},
		param.Param{
			Name: Timeout, Value: 60_000 * millisecond, Unit: param.Time, Lo: 30_000 * millisecond, Hi: 300_000 * millisecond,
			Source: param.Assumed("a common proxy's default"), What: "how long the proxy waits for the service, which goes on with what was given up",
		},
		param.Param{
			Name: Think, Value: 25 * millisecond, Unit: param.Time, Lo: 0, Hi: 1000 * millisecond,
			Source: param.Assumed("none is published"), What: "mean time that a user waits between two documents",
		},
		param.Param{
			Name: HealthRate, Value: 100 * millisecond, Unit: param.Time, Lo: 20 * millisecond, Hi: 1000 * millisecond,
			Source: param.Assumed("ten a second"), What: "mean time between health requests, whatever became of those before",
		},
		param.Param{
			Name: ListRate, Value: 1000 * millisecond, Unit: param.Time, Lo: 200 * millisecond, Hi: 10_000 * millisecond,
			Source: param.Assumed("one a second"), What: "mean time between listings",
		},
		param.Param{
			Name: Duty, Value: 10 * millisecond, Unit: param.Time, Lo: millisecond, Hi: 100 * millisecond,
			Source: param.Assumed("a busy stack of many small requests"), What: "time in which a neighbour computes once for its share",
		},
		param.Param{
			Name: Quantum, Value: 10 * millisecond, Unit: param.Time, Lo: millisecond, Hi: 20 * millisecond,
			Source: param.Assumed("Go's scheduler lets a goroutine run so long before others"), What: "CPU that a goroutine gets in its turn; off the loop and on it, threads share cores alike",
		},
	)
}

// What the published pulls come to: 19.5 ms for 15 MB, 2.5 ms for 60 KB.
const (
	pullFirst = 2430 * int64(time.Microsecond)
	pullRate  = 879_000_000
)

// Assumptions are about the structure.
var Assumptions = []string{
	"users ask for one of six documents, drawn at random, wait for the answer, think, and ask again; a run is steady, after a warm-up",
	"a loop runs what is ready in rounds, each handler to its end: a look at the file or a pull, a build unless the cache has it, and JSON; while a file is pulled there everybody waits",
	"off the loop a handler runs on one of a few threads under an interpreter lock, which passes in order of arrival to who has waited for a switch interval; light handlers stay on the loop and need the lock as well",
	"goroutines take turns on as many processors as there are cores, a slice each; bounded ones build one at a time",
	"neighbours and proxy compute on the service's cores, and have no loop or lock to wait for; the load's driver has cores of its own",
}
