package study

import (
	"slices"

	"latlab.example/aerospike"
	"latlab.example/common/lab"
)

// Experiments are what this case offers.
var Experiments = []lab.Experiment{Mystery, GatherOrSingle, Readers}

// Factors that the pipeline doesn't read. The study had 9 sets of 200 keys, and
// found 70 to 92 % of the keys.
var (
	sets        = lab.NewFactor("sets", 9, 3)
	batch       = lab.NewFactor("batch", 200, 50)
	concurrency = lab.NewFactor("concurrency", 1, 10)
	hits        = lab.NewFactor("hits", 0.9, 1.0, 0.7)
)

// Outcomes beside the time.
var (
	p95          = lab.Unit{Name: "p95-ns/op", Better: lab.Down}
	allocs       = lab.Unit{Name: "mallocs/op", Better: lab.Down}
	requests     = lab.Unit{Name: "requests/op", Better: lab.Down}
	queued       = lab.Unit{Name: "server-queue-ns/op", Better: lab.Down}
	unattributed = lab.Unit{Name: "unattributed-percent", Better: lab.Down}
)

const note = "an operation is one answer to all sets; with concurrency 10 its time is the mean of ten closed loops, and not their throughput"

// shared are the factors of every experiment here.
func shared(first ...lab.Factor) []lab.Factor {
	return slices.Concat(first, []lab.Factor{concurrency, sets, batch, hits})
}

func rigs() []lab.Rig {
	return []lab.Rig{
		lab.Emulated("server", assumptions, calibrate, openFake).With(costs, workers, nodes, roundTrip),
		lab.Real("cluster", probe, openReal),
	}
}

// Mystery breaks an answer's time down: the study's 50 ms outside the client had
// no name.
var Mystery = lab.Experiment{
	Name:     "aerospike/mystery",
	Question: "Where does the time of a batch read go, inside the client and outside it?",
	Note:     note,
	Factors:  shared(aerospike.ExecutorToggle, aerospike.ModeToggle, aerospike.ReaderToggle, aerospike.FormToggle),
	Outcomes: []lab.Unit{unattributed, p95, allocs, requests, queued},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   aerospike.Stages,
	Rigs:     rigs(),
}

// GatherOrSingle is the study's first lever, which took a third off its mean.
var GatherOrSingle = lab.Experiment{
	Name:     "aerospike/gather-vs-single",
	Question: "Does one read of all keys beat a read a set, all at once?",
	Note:     note,
	Factors:  shared(aerospike.ModeToggle, aerospike.ReaderToggle, aerospike.FormToggle),
	Outcomes: []lab.Unit{p95, allocs, requests, queued, unattributed},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   aerospike.Stages,
	Rigs:     rigs(),
}

// Readers compares the client's own decoding with rows that stay bytes.
var Readers = lab.Experiment{
	Name:     "aerospike/reader",
	Question: "What do rows that stay bytes save, for maps and for columns?",
	Note:     note,
	Factors:  shared(aerospike.ReaderToggle, aerospike.FormToggle, single),
	Outcomes: []lab.Unit{allocs, p95, requests, queued, unattributed},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(allocs, lab.Down),
	Stages:   aerospike.Stages,
	Rigs:     rigs(),
}

// single is the mode with one read first: readers are compared by their reads,
// without goroutines beside them.
var single = lab.NewFactor("mode", aerospike.Single, aerospike.Gather)
