package study

import "latlab.example/common/lab"

// Experiments are those with a model, and their other rigs aren't there: a browser
// has no sockets and no processes.
var Experiments = []lab.Experiment{Cores, LoopBlocking, Neighbour, Herd, StoreLatency, PlannedFixes, Ladder}

func ladderRigs() []lab.Rig { return nil }
func loopRigs() []lab.Rig   { return nil }
func herdRigs() []lab.Rig   { return nil }
func slowRigs() []lab.Rig   { return nil }
func fixRigs() []lab.Rig    { return nil }
