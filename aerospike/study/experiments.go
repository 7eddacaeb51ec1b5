//go:build !js

package study

import (
	"slices"

	"latlab.example/aerospike"
	"latlab.example/aerospike/predict"
	"latlab.example/common/lab"
)

// Experiments are what this case offers.
var Experiments = slices.Concat(
	[]lab.Experiment{Mystery, GatherOrSingle, Readers, ExecutorHop, Layers, ProfilingCost, SetEight, Cores}, models)

const (
	note        = "an operation is one answer to all sets; with concurrency 10 its time is the mean of ten closed loops, and not their throughput"
	noteLayers  = note + ". In layers B and C the official reader runs on a pool of 16 workers, as in the study"
	noteSets    = "an operation is the read of one set of 200 keys; all nine sets are read in turns, and only those that the arm names are timed"
	noteProcess = note + ". Each trial is a process of its own, which the server shares"
)

func rigs() []lab.Rig {
	return []lab.Rig{
		lab.Emulated("server", assumptions, calibrate, openFake).With(costs, workers, nodes, roundTrip),
		lab.Real("cluster", probe, openReal),
	}
}

// rigsAtOnce have a server without costs first: for questions about processors,
// which waits that are spun would take away.
func rigsAtOnce() []lab.Rig {
	return []lab.Rig{
		lab.Emulated("server", assumptions, calibrate, openFake).With(atOnce, workers, nodes, roundTrip),
		lab.Real("cluster", probe, openReal),
	}
}

// Mystery breaks an answer's time down: the study's 50 ms outside the client had
// no name.
var Mystery = lab.Experiment{
	Name:     "aerospike/mystery",
	Question: "Where does the time of a batch read go, inside the client and outside it?",
	Note:     note,
	Factors: shared(aerospike.ExecutorToggle, aerospike.ModeToggle, aerospike.ReaderToggle, aerospike.FormToggle,
		aerospike.OrderToggle, aerospike.LimitToggle, projection, inline, connections, burn),
	Outcomes: outcomes(unattributed),
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
	Outcomes: outcomes(p95),
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   aerospike.Stages,
	Rigs:     rigs(),
}

// Readers compares the client's own decoding with rows that stay bytes.
var Readers = lab.Experiment{
	Name:     "aerospike/reader",
	Question: "What do rows that stay bytes save, for maps and for columns?",
	Note:     note,
	Factors:  shared(aerospike.ReaderToggle, aerospike.FormToggle, modeSingle),
	Outcomes: outcomes(allocs),
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(allocs, lab.Down),
	Stages:   aerospike.Stages,
	Rigs:     rigs(),
}

// ExecutorHop asks what the pool between caller and client takes, on which the
// study ran its synchronous client.
var ExecutorHop = lab.Experiment{
	Name:     "aerospike/executor-hop",
	Question: "What does a pool between caller and client take?",
	Note:     note,
	Factors:  shared(aerospike.ExecutorToggle, modeSingle, twoReaders, aerospike.FormToggle),
	Cross:    []string{"executor", "mode", "concurrency"},
	Outcomes: outcomes(p95),
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   aerospike.Stages,
	Rigs:     rigsAtOnce(),
}

// Layers asks what is left of a reader's lead behind a server, and behind a
// forward pass: the study's went from 4.8 times to 1.24.
var Layers = lab.Experiment{
	Name:     "aerospike/layers",
	Question: "What is left of a reader's lead behind HTTP, and behind inference?",
	Note:     noteLayers,
	Factors:  shared(twoReaders, layer, columnsFirst, modeSingle, inference),
	Cross:    []string{"reader", "layer"},
	Outcomes: outcomes(p95),
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   predict.Stages,
	Rigs:     rigsAtOnce(),
}

// columnsFirst is the form with the service's first.
var columnsFirst = lab.NewFactor("form", aerospike.Typed, aerospike.Maps, aerospike.Handles)

// ProfilingCost asks what stages cost when they are on: at the stage, at the
// operation (layer A), end to end (layer C): how much faster is it with them off?
var ProfilingCost = lab.Experiment{
	Name:     "aerospike/profiling-cost",
	Question: "What do stages cost when they are on, at the stage, at the read, end to end?",
	Note:     noteLayers,
	Factors:  shared(profiling, layer, modes, twoReaders, columnsFirst, inference),
	Cross:    []string{"stages", "layer"},
	Outcomes: []lab.Unit{stagePair, p95, first, allocs, requests, queued},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Rigs:     rigsAtOnce(),
}

// SetEight asks how fast a set is that holds nothing, and what it does to an
// average: one of the study's nine held no record.
var SetEight = lab.Experiment{
	Name:     "aerospike/set-8",
	Question: "How much faster is a set that holds nothing, and what does it do to an average?",
	Note:     noteSets,
	Factors:  []lab.Factor{kind, aerospike.ReaderToggle, aerospike.FormToggle, modeSingle, batch},
	Cross:    []string{"set", "reader"},
	Outcomes: []lab.Unit{naive, found, p95, unattributed},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   aerospike.Stages,
	Rigs:     []lab.Rig{lab.Emulated("server", assumptions, calibrateSets, openFakeSets).With(costs, workers, nodes, roundTrip), lab.Real("cluster", probe, openRealSets)},
}

// Cores asks GatherOrSingle's question on one core and on two.
var Cores = lab.Experiment{
	Name:     "aerospike/cores",
	Question: "Does one read beat nine at once on one core, and on two?",
	Note:     noteProcess,
	Factors:  shared(modes, cores, maxprocs, twoReaders, aerospike.FormToggle),
	Cross:    []string{"mode", "cores", "concurrency"},
	Outcomes: outcomes(p95),
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   aerospike.Stages,
	Rigs: []lab.Rig{
		lab.Emulated("server", assumptions, calibrate, openFake).With(atOnce, workers, nodes, roundTrip).Requires(enoughCores).InChild(limits),
		lab.Real("cluster", probeCores, openReal).InChild(limits),
	},
}
