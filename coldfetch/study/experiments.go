package study

import (
	"slices"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/child"
	"latlab.example/common/lab"
)

// Experiments are what this case offers.
var Experiments = []lab.Experiment{Cores, ColdPull, LoopBlocking, StageShares, Neighbour, QuotaOrPin, Herd, StoreLatency, PlannedFixes, Ladder}

const ladderNote = "an operation is an answer to one of six documents, drawn at random; its time is the mean response time of so many users, and not their throughput"

var crowdOutcomes = []lab.Unit{perSec, p95, healthP95, healthMax, healthOwn, lagEvents, lagMax, lagSum, transfer, timeouts, misses}

var wallOutcomes = slices.Concat(crowdOutcomes, []lab.Unit{spawnLag, schedP95, timerP95, cpuShare})

// onProcesses are the rigs whose service is a process of its own.
func onProcesses(units []lab.Unit, limits func(lab.Arm) child.Limits) []lab.Rig {
	return []lab.Rig{
		lab.Emulated("loopback", emulatedAssumptions, noWaits, onWall(openFakeDepot, units, limits)).Requires(twoCores),
		lab.Real("s3", twoCoresAndStore(store.Probe), onWall(openRealDepot, units, limits)),
	}
}

// ladderLimits are those of arms with a number of cores.
func ladderLimits(a lab.Arm) child.Limits { return onCores(oneCore.Of(a), procs.Of(a)) }

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
	Rigs:     append([]lab.Rig{onModel(wallOutcomes, crowdSetup)}, onProcesses(wallOutcomes, ladderLimits)...),
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
	Rigs:     append([]lab.Rig{onModel(wallOutcomes, crowdSetup)}, onProcesses(wallOutcomes, ladderLimits)...),
}

// QuotaOrPin compares two ways to give a service one core.
var QuotaOrPin = lab.Experiment{
	Name:     "coldfetch/quota-vs-pin",
	Question: "Is a quota of one core the same as one core?",
	Note:     ladderNote,
	Factors:  []lab.Factor{share, coldfetch.ModeToggle, concurrency},
	Outcomes: wallOutcomes,
	Rule:     lab.Better(timerP95, 0.10).NoEffectUnder(0.05),
	Stages:   coldfetch.Stages,
	Rigs:     onProcesses(wallOutcomes, byShare),
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
	Rigs: append([]lab.Rig{
		onModel(wallOutcomes, crowdSetup),
		inBubble("bubble", nil, func(a lab.Arm) scene {
			return scene{setting: settingOf(a), cores: oneCore.Of(a), charge: published, load: crowdLoad(crowd.Of(a)), units: crowdOutcomes}
		}),
	}, onProcesses(wallOutcomes, ladderLimits)...),
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
	Rigs: []lab.Rig{
		onModel(herdOutcomes, herdSetup, far),
		inBubble("bubble", nil, func(a lab.Arm) scene {
			return scene{
				setting: modeOf(settingOf(a), handlers.Of(a)), profile: profileOf(far.Of(a)), cores: cores.Of(a), charge: published, units: herdOutcomes,
				load: func(t *lab.Trial) workload {
					return workload{users: 50, perUser: 1, paths: app.Paths()[:1], spread: 4_987_654 * time.Nanosecond, seed: t.Seed}
				},
			}
		}, far),
	},
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
	Rigs: []lab.Rig{
		onModel(slowOutcomes, slowSetup, far),
		inBubble("bubble", []string{"in this experiment nothing costs processor time"}, func(a lab.Arm) scene {
			s := settingOf(a)
			s.Cache = len(seed.Documents())
			return scene{
				setting: s, profile: profileOf(far.Of(a)), cores: 2, charge: free, units: slowOutcomes,
				load: func(t *lab.Trial) workload {
					w := crowdLoad(20)(t)
					w.spread, w.health, w.list = 98_765_432*time.Nanosecond, 50, 0
					return w
				},
			}
		}, far),
	},
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
	Rigs: []lab.Rig{
		onModel(fixOutcomes, crowdSetup),
		inBubble("bubble", []string{"off the loop there is still an interpreter lock"}, func(a lab.Arm) scene {
			return scene{setting: settingOf(a), profile: profileOf(storeProfile.Of(a)), cores: oneCore.Of(a), charge: published, load: crowdLoad(crowd.Of(a)), units: fixOutcomes}
		}, storeProfile, coldfetch.FlightToggle),
	},
}

// What is located.
const (
	large = "large" // 15 MB, cold
	small = "small" // 60 KB, cold
	hit   = "hit"   // there already
)

var located = lab.NewFactor("document", large, small, hit)

// ColdPull is locate, alone.
var ColdPull = lab.Experiment{
	Name:     "coldfetch/cold-pull",
	Question: "What does the first touch of a document cost?",
	Note:     "published, on loopback: 19 to 20 ms for 15 MB, 1.7 to 3.3 ms under 100 KB, 0.3 ms for a file that is there. With the store on loopback that is a shape, not a size",
	Factors:  []lab.Factor{located, pull.SyncToggle},
	Outcomes: nil,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   pull.Stages,
	Rigs: []lab.Rig{
		lab.Bubble("away", []string{
			"only the way to the store takes time: files, checksums and signatures take none",
			"the store's first byte and bandwidth are those of its profile, which is assumed: a size under that assumption, not a measured one",
		}, openAway).With(afar),
		lab.Emulated("loopback", []string{"shape, not size: the object store is a fake in this process, in memory, on loopback"}, noWaits, onDisk(openFakeDepot)),
		lab.Real("s3", store.Probe, onDisk(openRealDepot)),
	},
}

var (
	answered   = lab.NewFactor("path", "miss", "hit", "cold")
	document   = lab.NewFactor("document", small, large)
	buildPart  = lab.Unit{Name: "build-percent", Better: lab.Down}
	jsonPart   = lab.Unit{Name: "json-percent", Better: lab.Down}
	locatePart = lab.Unit{Name: "locate-percent", Better: lab.Down}
	shareUnits = []lab.Unit{buildPart, jsonPart, locatePart}
)

// StageShares asks where an answer's time goes, one at a time.
var StageShares = lab.Experiment{
	Name:     "coldfetch/stages",
	Question: "Where does the time of a miss go, of a hit, and of a cold document?",
	Note:     "published: a miss is 93 % build (802 ms), a hit 89 % JSON (20 ms)",
	Factors:  []lab.Factor{answered, document, coldfetch.ProfileToggle, coldfetch.GzipToggle, coldfetch.ModeToggle, pull.SyncToggle},
	Outcomes: shareUnits,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   coldfetch.Stages,
	Rigs: []lab.Rig{
		lab.Emulated("loopback", emulatedAssumptions[0:1:1], noWaits, oneByOne(openFakeDepot)),
		lab.Real("s3", store.Probe, oneByOne(openRealDepot)),
	},
}
