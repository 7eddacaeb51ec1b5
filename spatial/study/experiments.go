package study

import (
	"latlab.example/common/lab"
	"latlab.example/spatial"
)

// Experiments are what this case offers.
var Experiments = []lab.Experiment{
	RowLog, PoolSize, RowLogPool, Users, Hysteresis, Order, Nested, NPlusOne, SpinOrPark,
	Index, Shape, KNN, PlanWarmth, Feedback,
}

const note = "sec/op is the mean response time of requests, failed ones included; a trial is a minute of load in virtual time, and 8 s on other rigs, after a ramp"

// everywhere are the rigs on which the queues are real and nothing of the effect
// is typed in.
func everywhere() []lab.Rig { return []lab.Rig{onModel(), onBubble(), onFake(), onReal()} }

// RowLog asks what an info line a row costs, and what it has to meet to cost
// seconds.
var RowLog = lab.Experiment{
	Name:     "spatial/rowlog",
	Question: "What does a log line a row cost, and on which sink?",
	Note:     note,
	Factors:  []lab.Factor{logged, loggedHeld, busy, users, think},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onModel(), onBubble(virtualSinks), onFake(allSinks), onReal(allSinks)},
}

// PoolSize asks where the knee of the pool is, and whether there is one at all.
var PoolSize = lab.Experiment{
	Name:     "spatial/pool-size",
	Question: "When does a larger pool help?",
	Note:     note,
	Factors:  []lab.Factor{spatial.PoolToggle, waiting, users, think, spatial.HoldForToggle},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     everywhere(),
}

// RowLogPool crosses the study's two changes.
var RowLogPool = lab.Experiment{
	Name:     "spatial/rowlog-pool",
	Question: "Does a larger pool help while rows are logged, and after that stopped?",
	Note:     note,
	Factors:  []lab.Factor{busy, logged, loggedHeld, spatial.HoldToggle, users, think},
	Cross:    []string{"pool", "rowlog"},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onModel(), onBubble(virtualSinks), onFake(allSinks), onReal(allSinks)},
}

// Users asks for the knee along the load.
var Users = lab.Experiment{
	Name:     "spatial/users",
	Question: "At how many users, and which think time, does a pool of ten become the bottleneck?",
	Note:     note,
	Factors:  []lab.Factor{lab.NewFactor("users", 75, 150, 210, 300), think, waiting, busy},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     everywhere(),
}

// Hysteresis asks whether one setting has two answers.
var Hysteresis = lab.Experiment{
	Name:     "spatial/hysteresis",
	Question: "Does it matter whether a load came up to where it is, or down from twice as much?",
	Note:     note,
	Factors:  []lab.Factor{approach, spatial.NestedToggle, waiting, lab.NewFactor("pool", 30, 10, 100), users, think, timeout, withGuides},
	Cross:    []string{"approach", "nested"},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     everywhere(),
}

// Order asks what the study's way to compare was worth: one run of each setting,
// one after the other.
var Order = lab.Experiment{
	Name:     "spatial/order",
	Question: "Does the order of the runs decide what a change of the pool seems to gain?",
	Note:     "gain-x is the mean response time with 10 connections over that with 15, as each order gives it; " + note,
	Factors:  []lab.Factor{order, spatial.HoldToggle, users, think},
	Outcomes: []lab.Unit{gain},
	Rule:     lab.Better(gain, 0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onBubble(), onFake(), onReal()},
}

// Nested has requests take a second connection while they hold one.
var Nested = lab.Experiment{
	Name:     "spatial/nested-acquire",
	Question: "What do two connections a request do to a pool?",
	Note:     note,
	Factors:  []lab.Factor{spatial.NestedToggle, nestedPool, waiting, users, think, timeout, withGuides},
	Cross:    []string{"nested", "pool"},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     everywhere(),
}

// NPlusOne reads the media of an answer's guides in four ways.
var NPlusOne = lab.Experiment{
	Name:     "spatial/n-plus-one",
	Question: "What do a statement a guide, a batch, and one statement for all guides cost?",
	Note:     note,
	Factors:  []lab.Factor{fetches, closedUsers, noThink, withGuides, radius},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(queries, lab.Down),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onBubble(), onFake(), onReal()},
}

// SpinOrPark has requests burn a processor while they wait, as the study thought
// that its pool did. A spin never ends in virtual time.
var SpinOrPark = lab.Experiment{
	Name:     "spatial/spin-vs-park",
	Question: "What does it cost if requests spin for a connection instead of sleeping?",
	Note:     note,
	Factors:  []lab.Factor{spatial.AcquireToggle, busy, waiting, lab.NewFactor("users", 210, 150), think},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onModel(), onFake(), onReal()},
}

// Index, Shape, KNN and PlanWarmth are about what a real planner and a real
// index do, so a fake has nothing to say.

// Index takes the planner's indexes away.
var Index = lab.Experiment{
	Name:     "spatial/index",
	Question: "What is the GiST index worth?",
	Note:     note,
	Factors:  []lab.Factor{index, radius, closedUsers, noThink},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onReal()},
}

// Shape compares geography with two ways to use geometry.
var Shape = lab.Experiment{
	Name:     "spatial/geography-vs-geometry",
	Question: "Is geometry faster than geography for the same rows?",
	Note:     note,
	Factors:  []lab.Factor{byShape, radius, closedUsers, noThink},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onReal()},
}

// KNN compares a full sort with the index's own order.
var KNN = lab.Experiment{
	Name:     "spatial/knn-vs-radius",
	Question: "What does it save to take the nearest hundred in the index's order?",
	Note:     note,
	Factors:  []lab.Factor{byOrder, radius, closedUsers, noThink, lab.NewFactor("plan", Generic, Custom)},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onReal()},
}

// PlanWarmth asks what planning for each question costs.
var PlanWarmth = lab.Experiment{
	Name:     "spatial/plan-warmth",
	Question: "What do plans for any arguments, kept on a connection, save?",
	Note:     note,
	Factors:  []lab.Factor{plans, radius, closedUsers, noThink},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onReal()},
}
