package study

import (
	"latlab.example/coldfetch"
	"latlab.example/coldfetch/pull"
	"latlab.example/common/lab"
)

// Factors that the service doesn't read.
var (
	concurrency = lab.NewFactor("concurrency", 10, 1, 100)
	crowd       = lab.NewFactor("concurrency", 100, 10, 1)

	// cores are the processors of the service's process, or of its bubble.
	cores   = lab.NewFactor("cores", 2, 1)
	oneCore = lab.NewFactor("cores", 1, 2)
	// procs is GOMAXPROCS of the service; auto leaves it to Go.
	procs = lab.NewFactor("gomaxprocs", "auto", "1", "2")
	// neighbour is how much of one core another process in the core set takes, in
	// percent.
	neighbour = lab.NewFactor("neighbour", 0, 40).Simulates("a neighbour stack", 40)
	root      = lab.NewFactor("root", "cold", "warm")
	// buffers are the proxy's, in bytes.
	buffers = lab.NewFactor[lab.Bytes]("proxy-buffer", 0, 1<<20)
	// storeProfile is how far away the fake store is.
	storeProfile = lab.NewFactor("store", "loopback", "lan", "wan").Simulates("the way to a store", "lan", "wan")
	afar         = lab.NewFactor("store", "wan", "lan").Simulates("the way to a store", "wan", "lan")
	far          = lab.NewFactor("store", "wan", "lan", "loopback")
)

// Outcomes beside the time.
var (
	p95       = lab.Unit{Name: "p95-ns/op", Better: lab.Down}
	perSec    = lab.Unit{Name: "req/s", Better: lab.Up}
	healthP95 = lab.Unit{Name: "health-p95-ns", Better: lab.Down} // as the client of the proxy saw it
	healthMax = lab.Unit{Name: "health-max-ns", Better: lab.Down}
	healthOwn = lab.Unit{Name: "health-own-p95-ns", Better: lab.Down} // by the service's own clock
	lagEvents = lab.Unit{Name: "lag-events", Better: lab.Down}        // turns of the loop of 100 ms and longer
	lagMax    = lab.Unit{Name: "lag-max-ns", Better: lab.Down}
	lagSum    = lab.Unit{Name: "lag-sum-ns", Better: lab.Down}
	transfer  = lab.Unit{Name: "proxy-transfer-p95-ns", Better: lab.Down}
	timeouts  = lab.Unit{Name: "proxy-timeouts", Better: lab.Down}
	misses    = lab.Unit{Name: "miss-percent", Better: lab.Down}
	bytesOut  = lab.Unit{Name: "bytes/op", Better: lab.Down}
	gets      = lab.Unit{Name: "store-gets", Better: lab.Down}
	builds    = lab.Unit{Name: "builds", Better: lab.Down}
	spawnLag  = lab.Unit{Name: "callback-lag-max-ns", Better: lab.Down} // of probe.StartLag
	schedP95  = lab.Unit{Name: "sched-p95-ns", Better: lab.Down}        // of probe.StartScheduler
	timerP95  = lab.Unit{Name: "timer-late-p95-ns", Better: lab.Down}   // of probe.StartTimer
	cpuShare  = lab.Unit{Name: "service-cpu-percent", Better: lab.Down} // of one core
)

// fixes are what the study would do next.
type fixes struct {
	name                                string
	offLoop, cache, buffer, gzip, build bool
}

func (f fixes) String() string { return f.name }

// fixList is each fix alone, then stacked in the study's order.
var fixList = lab.NewFactor("fixes",
	fixes{name: "none"},
	fixes{name: "off-loop", offLoop: true},
	fixes{name: "cache", cache: true},
	fixes{name: "buffers", buffer: true},
	fixes{name: "gzip", gzip: true},
	fixes{name: "build", build: true},
	fixes{name: "first-2", offLoop: true, cache: true},
	fixes{name: "first-3", offLoop: true, cache: true, buffer: true},
	fixes{name: "first-4", offLoop: true, cache: true, buffer: true, gzip: true},
	fixes{name: "all-5", offLoop: true, cache: true, buffer: true, gzip: true, build: true},
)

// setting is all that an arm says of a stack, whatever its experiment.
type setting struct {
	Mode    coldfetch.Mode
	Flight  coldfetch.Flight
	Cache   int
	Gzip    bool
	Profile coldfetch.BuildProfile
	Sync    pull.Sync
	Buffer  int
	Nodes   int
	Warm    bool
}

// nodes is the size of a build. Tests make it small.
var nodes = coldfetch.DefaultNodes

func settingOf(a lab.Arm) setting {
	s := setting{
		Mode: coldfetch.ModeToggle.Of(a), Flight: coldfetch.FlightToggle.Of(a), Cache: coldfetch.CacheToggle.Of(a),
		Gzip: coldfetch.GzipToggle.Of(a), Profile: coldfetch.ProfileToggle.Of(a), Buffer: int(buffers.Of(a)), Nodes: nodes,
		Warm: root.Of(a) == "warm", Sync: pull.SyncToggle.Of(a),
	}
	f := fixList.Of(a)
	if f.offLoop {
		s.Mode = coldfetch.OffloadGIL
	}
	if f.cache {
		s.Cache = 6
	}
	if f.buffer {
		s.Buffer = 1 << 20
	}
	if f.gzip {
		s.Gzip = true
	}
	if f.build {
		s.Profile = coldfetch.Lean
	}
	return s
}

// rounds is how many requests each of so many users makes in a trial that was
// given a time: enough for a tail, and for each user to wait for others.
func rounds(users int) int { return max(3, 30/users) }
