package study

import (
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
)

// Factors of the load. The study had 150 users; its figures agree on a think
// time of 1.5 to 1.6 s.
var (
	users  = lab.NewFactor("users", 150, 210, 75, 10, 1)
	think  = lab.NewFactor("think", 1500*time.Millisecond, 3*time.Second, 500*time.Millisecond)
	radius = lab.NewFactor("radius", "mix", "5km", "50km")
)

// closedUsers ask one after the other, without thinking: for questions about a
// single request.
var (
	closedUsers = lab.NewFactor("users", 1, 4, 10)
	noThink     = lab.NewFactor("think", time.Duration(0))
)

// Levels of a toggle in another order: the first is the experiment's baseline.
var (
	waiting    = hold(spatial.HoldSleep, spatial.HoldBurn, spatial.HoldNone)
	busy       = lab.NewFactor("pool", 10, 15)
	logged     = lab.NewFactor("rowlog", spatial.LogRows, spatial.LogSummary, spatial.LogOff)
	loggedHeld = lab.NewFactor("log-place", spatial.LogHeld, spatial.LogAfter)
	nestedPool = lab.NewFactor("pool", 10, 11, 15, 30)
	withGuides = lab.NewFactor("guides", true)
	byShape    = lab.NewFactor("search", spatial.ByRadius, spatial.ByBox, spatial.ByCast)
	byOrder    = lab.NewFactor("search", spatial.BySorted, spatial.ByRadius, spatial.ByNearest)
	fetches    = lab.NewFactor("fetch", spatial.NPlusOne, spatial.Batched, spatial.AnyArray)
)

func hold(levels ...spatial.HoldName) *metrics.Toggle[spatial.HoldName] {
	t := lab.NewFactor("hold", levels...)
	var simulated []spatial.HoldName
	for i, l := range levels {
		if spatial.HoldToggle.SimulatedBy(indexOf(spatial.HoldToggle, t.Label(i))) != "" {
			simulated = append(simulated, l)
		}
	}
	return t.Simulates("what else a connection is kept for", simulated...)
}

func indexOf[T any](t *metrics.Toggle[T], label string) int {
	for i := range t.Len() {
		if t.Label(i) == label {
			return i
		}
	}
	panic("study: toggle " + t.Name() + " has no level " + label)
}

// SinkName names where the row log goes.
type SinkName string

// The sinks.
const (
	Terminal400 SinkName = "terminal-400us" // one line after the other, in this time each
	Terminal200 SinkName = "terminal-200us"
	Terminal100 SinkName = "terminal-100us"
	Discard     SinkName = "discard"
	File        SinkName = "file"      // in a temporary folder
	Pipe        SinkName = "slow-pipe" // whose reader takes pipeRate bytes a second
)

// pipeRate is about 2500 lines a second, as a terminal of 400 us a line.
const pipeRate = 250_000

var lineCost = map[SinkName]time.Duration{
	Terminal400: 400 * time.Microsecond, Terminal200: 200 * time.Microsecond, Terminal100: 100 * time.Microsecond,
}

const serialSink = "a log sink that takes lines one by one"

// Sinks that work in virtual time, and all.
var (
	virtualSinks = lab.NewFactor("sink", Terminal400, Terminal200, Terminal100, Discard).
			Simulates(serialSink, Terminal400, Terminal200, Terminal100)
	allSinks = lab.NewFactor("sink", Terminal400, Terminal200, Terminal100, Discard, File, Pipe).
			Simulates(serialSink, Terminal400, Terminal200, Terminal100)
)

// PlanName names how PostgreSQL plans a statement that a connection prepared.
type PlanName string

// The ways to plan.
const (
	Generic PlanName = "generic" // once, for any arguments
	Auto    PlanName = "auto"    // for these arguments five times, and then as looks cheaper
	Custom  PlanName = "custom"  // for these arguments, each time
	Churn   PlanName = "churn"   // auto, and a new connection for each request
)

var planCacheMode = map[PlanName]string{Generic: "force_generic_plan", Auto: "auto", Custom: "force_custom_plan", Churn: "auto"}

var plans = lab.NewFactor("plan", Custom, Generic, Auto, Churn)

// index says whether the planner may use indexes on places.
var index = lab.NewFactor("index", "off", "gist")

// timeout ends a request, where others wait for as long as 30 s.
var timeout = lab.NewFactor("timeout", 5*time.Second, 2*time.Second)

// approach is where the load comes from before it is measured.
var approach = lab.NewFactor("approach", "up", "down")

// order is how two pools are compared.
var order = lab.NewFactor("order", "interleaved", "10-then-15", "15-then-10")
