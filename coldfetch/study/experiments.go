package study

import (
	"slices"

	"latlab.example/coldfetch"
	"latlab.example/common/lab"
)

const ladderNote = "an operation is an answer to one of six documents, drawn at random; its time is the mean response time of so many users, and not their throughput"

var crowdOutcomes = []lab.Unit{perSec, p95, healthP95, healthMax, healthOwn, lagEvents, lagMax, lagSum, transfer, timeouts, misses}

var wallOutcomes = slices.Concat(crowdOutcomes, []lab.Unit{spawnLag, schedP95, timerP95, cpuShare})

// Cores is the study's first question.
var Cores = lab.Experiment{
	Name:     "coldfetch/cores",
	Question: "Does a second core matter, for throughput and for latency?",
	Note:     ladderNote,
	Factors:  []lab.Factor{oneCore, concurrency, coldfetch.ModeToggle, neighbour, coldfetch.CacheToggle, root, procs},
	Cross:    []string{"cores", "concurrency"},
	Outcomes: wallOutcomes,
	Rule:     lab.Better(perSec, 0.10).NoEffectUnder(0.05),
	Stages:   coldfetch.Stages,
	Rigs:     append([]lab.Rig{onModel(wallOutcomes, crowdSetup)}, ladderRigs()...),
}

// alone is a neighbour first, and then none.
var alone = lab.NewFactor("neighbour", 40, 0).Simulates("a neighbour stack", 40)

// Neighbour asks whether the published loss is one core's or a neighbour's.
var Neighbour = lab.Experiment{
	Name:     "coldfetch/neighbour",
	Question: "How much of what one core loses does a neighbour in the core set take?",
	Note:     ladderNote,
	Factors:  []lab.Factor{alone, oneCore, concurrency, coldfetch.ModeToggle},
	Cross:    []string{"neighbour", "cores"},
	Outcomes: wallOutcomes,
	Rule:     lab.Better(perSec, 0.10).NoEffectUnder(0.05),
	Stages:   coldfetch.Stages,
	Rigs:     append([]lab.Rig{onModel(wallOutcomes, crowdSetup)}, ladderRigs()...),
}

// LoopBlocking asks who waits for whom.
var LoopBlocking = lab.Experiment{
	Name:     "coldfetch/loop-blocking",
	Question: "Who makes the health endpoint wait, in which mode?",
	Note:     ladderNote,
	Factors:  []lab.Factor{coldfetch.ModeToggle, crowd, oneCore, coldfetch.CacheToggle, coldfetch.FlightToggle},
	Cross:    []string{"mode", "cores"},
	Outcomes: wallOutcomes,
	Rule:     lab.Better(healthP95, 0.50).NoEffectUnder(0.10),
	Stages:   coldfetch.Stages,
	Rigs:     append([]lab.Rig{onModel(wallOutcomes, crowdSetup)}, loopRigs()...),
}

var herdOutcomes = []lab.Unit{gets, builds, p95}

// Herd asks what a crowd costs that wants the same cold document.
var Herd = lab.Experiment{
	Name:     "coldfetch/herd",
	Question: "What do fifty callers of one cold document of 15 MB cost, and what does sharing save?",
	Note:     "an operation is one caller's answer; all come within 5 ms",
	Factors:  []lab.Factor{coldfetch.FlightToggle, handlers, cores},
	Cross:    []string{"single-flight", "mode"},
	Outcomes: herdOutcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(gets, lab.Down),
	Stages:   coldfetch.Stages,
	Rigs:     append([]lab.Rig{onModel(herdOutcomes, herdSetup, far)}, herdRigs()...),
}

// handlers are the modes, goroutines first: on a loop callers can't come together.
var handlers = lab.NewFactor("mode", coldfetch.Goroutines, coldfetch.Bounded, coldfetch.OffloadGIL, coldfetch.Loop).
	Simulates("an interpreter lock", coldfetch.OffloadGIL)

func modeOf(s setting, m coldfetch.Mode) setting {
	s.Mode = m
	return s
}

var slowOutcomes = []lab.Unit{healthMax, healthP95, p95, lagEvents, lagMax, gets}

// StoreLatency asks who waits for a slow store.
var StoreLatency = lab.Experiment{
	Name:     "coldfetch/store-latency",
	Question: "Who waits while a document comes from a slow store?",
	Note:     "twenty users ask for six cold documents; nothing computes, so that all waiting is for the store",
	Factors:  []lab.Factor{coldfetch.ModeToggle, coldfetch.FlightToggle},
	Cross:    []string{"mode", "store"},
	Outcomes: slowOutcomes,
	Rule:     lab.Better(healthMax, 0.50).NoEffectUnder(0.10),
	Stages:   coldfetch.Stages,
	Rigs:     append([]lab.Rig{onModel(slowOutcomes, slowSetup, far)}, slowRigs()...),
}

var fixOutcomes = append(slices.Clone(crowdOutcomes), bytesOut)

// PlannedFixes are what the study would do next, each alone and stacked in its order.
var PlannedFixes = lab.Experiment{
	Name:     "coldfetch/planned-fixes",
	Question: "Which of the study's next fixes help, alone and on top of those before?",
	Note:     ladderNote,
	Factors:  []lab.Factor{fixList, crowd, oneCore},
	Outcomes: fixOutcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   coldfetch.Stages,
	Rigs:     append([]lab.Rig{onModel(fixOutcomes, crowdSetup)}, fixRigs()...),
}
