//go:build !js

package study

import (
	"latlab.example/coldfetch"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/store"
	"latlab.example/common/lab"
)

// Experiments are what this case offers.
var Experiments = []lab.Experiment{Cores, ColdPull, LoopBlocking, StageShares, Neighbour, QuotaOrPin, Herd, StoreLatency, PlannedFixes, Ladder}

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
