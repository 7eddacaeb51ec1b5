//go:build !js

package study

import (
	"slices"
	"time"

	"latlab.example/aerospike"
	"latlab.example/aerospike/predict"
	"latlab.example/common/lab"
)

// Layer is how much of a service stands around a read.
type Layer string

// The study's environments.
const (
	LayerA Layer = "A" // the pipeline alone
	LayerB Layer = "B" // behind an HTTP server
	LayerC Layer = "C" // behind an HTTP server, with features, a forward pass and JSON
)

// Factors that the pipeline doesn't read, beside the models' own. The study found
// 70 to 92 % of the keys.
var (
	concurrency = lab.NewFactor("concurrency", 1, 10)
	hits        = lab.NewFactor("hits", 0.9, 1.0, 0.7)
	layer       = lab.NewFactor("layer", LayerA, LayerB, LayerC)
	profiling   = lab.NewFactor("stages", "on", "off")
	projection  = lab.NewFactor("bins", "all", "two") // of eight
	inline      = lab.NewFactor("inline", true, false)
	// Connections are open before a trial, or each trial begins with a client that
	// has none but its own.
	connections = lab.NewFactor("connections", "open", "none")
	// Goroutines that compute beside the pipeline, as a service's other work does.
	burn = lab.NewFactor("burn", 0, 1, 2).Simulates("other work on the processors", 1, 2)
	// Cores that a trial's process may run on, and processors of Go: as many, or
	// another number.
	cores    = lab.NewFactor("cores", 2, 1)
	maxprocs = lab.NewFactor("gomaxprocs", "cores", "1", "4")
	// kind is which sets are timed.
	kind = lab.NewFactor("set", "full", "empty")
)

// Factors whose first level is another one than that of the toggle they stand
// for: what a question holds still is its own choice.
var (
	// Readers are compared by one read, without goroutines beside it.
	modeSingle = lab.NewFactor("mode", aerospike.Single, aerospike.Gather)
	// The study's two modes.
	modes = lab.NewFactor("mode", aerospike.Gather, aerospike.Single)
	// What BatchOperate costs is asked once, by Readers.
	twoReaders = lab.NewFactor("reader", aerospike.UseOfficial, aerospike.UseLazy)
)

// Device factors of the fake server.
var (
	workers   = lab.NewFactor("workers", 2, 1, 8)
	nodes     = lab.NewFactor("nodes", 1, 3)
	roundTrip = lab.NewFactor("round-trip", 100*time.Microsecond, time.Millisecond)
	// With costs none the server answers at once: what is left is the client, the
	// sockets and the server's own CPU. Then workers and round-trip mean nothing.
	// Ten closed loops keep two cores so busy that waits end late and the rows with
	// costs are refused there; those without have no waits to be late.
	costs = lab.NewFactor("costs", "typical", "none")
	// atOnce is costs for questions about the client's own processors.
	atOnce = lab.NewFactor("costs", "none", "typical")
)

// Outcomes beside the time.
var (
	first        = lab.Unit{Name: "first-ns", Better: lab.Down}
	allocs       = lab.Unit{Name: "mallocs/op", Better: lab.Down}
	requests     = lab.Unit{Name: "requests/op", Better: lab.Down}
	queued       = lab.Unit{Name: "server-queue-ns/op", Better: lab.Down}
	unattributed = lab.Unit{Name: "unattributed-percent", Better: lab.Down}
	stagePair    = lab.Unit{Name: "stage-ns", Better: lab.Down}
	found        = lab.Unit{Name: "found-percent", Better: lab.Up}
	naive        = lab.Unit{Name: "all-sets-ns/op", Better: lab.Down}
)

// outcomes are what most trials observe, the chief one first.
func outcomes(chief lab.Unit) []lab.Unit {
	all := []lab.Unit{chief}
	for _, u := range []lab.Unit{p95, first, allocs, requests, queued, unattributed} {
		if u != chief {
			all = append(all, u)
		}
	}
	return all
}

// shared are the factors of every experiment but one here.
func shared(first ...lab.Factor) []lab.Factor {
	return slices.Concat(first, []lab.Factor{concurrency, sets, batch, hits})
}

// layered says whether the arm's stages are the service's.
func layered(a lab.Arm) bool {
	_, ok := a.Level(layer.Name())
	return ok
}

// profiled says whether stages are on, and whether they are what is compared.
func profiled(a lab.Arm) (on, compared bool) {
	_, compared = a.Level(profiling.Name())
	return !compared || profiling.Of(a) == "on", compared
}

// specsOf are the columns that the arm reads, and bins what it asks for.
func specsOf(a lab.Arm) (specs []aerospike.Spec, bins []string) {
	specs = allSpecs
	if projection.Of(a) == "two" {
		specs = []aerospike.Spec{allSpecs[0], allSpecs[3]}
		for _, s := range specs {
			bins = append(bins, s.Bin)
		}
	}
	return specs, bins
}

// inference is where the service's forward pass runs.
var inference = predict.InferenceToggle
