package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
)

// asks runs setups until one fails.
type asks struct {
	ctx context.Context
	t   param.Table
	err error
}

// change is another value of a parameter.
type change struct {
	name  string
	value int64
}

const relationWindow = 600 * time.Second

func (a *asks) run(s Setup, changes ...change) Figures {
	t := a.t
	for _, c := range changes {
		changed, err := t.Set(c.name, c.value)
		if err != nil && a.err == nil {
			a.err = err
		}
		t = changed
	}
	if a.err != nil {
		return Figures{}
	}
	f, err := Run(a.ctx, s, t, 1, relationWindow, nil)
	a.err = err
	return f
}

func percent(is, was float64) string { return fmt.Sprintf("%+.0f %%", 100*(is/was-1)) }

func near(is, want, tolerance float64) bool {
	return is >= want*(1-tolerance) && is <= want*(1+tolerance)
}

func verdict(holds bool) lab.Verdict {
	if holds {
		return lab.Holds
	}
	return lab.Fails
}

// flips is the verdict on what holds under one assumption and may fail under
// another.
func flips(one, other bool) lab.Verdict {
	switch {
	case one && other:
		return lab.Holds
	case !one && !other:
		return lab.Fails
	}
	return lab.Inconclusive
}

// study is the study's service on one core, all files there, with a cache that
// keeps two of six documents: at one user that gives the published rate.
func study(users int) Setup {
	return Setup{Mode: coldfetch.Loop, Users: users, Cores: 1, Cache: 2, Warm: true}
}

func (s Setup) in(m coldfetch.Mode) Setup {
	s.Mode = m
	return s
}

func (s Setup) on(cores, neighbour int) Setup {
	s.Cores, s.Neighbour = cores, neighbour
	return s
}

func (s Setup) sharing() Setup {
	s.Flight = coldfetch.ShareBuild
	return s
}

// herd is fifty users who want one cold document at once.
func herd(m coldfetch.Mode, f coldfetch.Flight) Setup {
	return Setup{
		Mode: m, Flight: f, Users: 50, Cores: 1, Cache: 2, PerUser: 1, Arrive: 5 * time.Millisecond, First: true, Alone: true, Store: WAN,
	}
}

// Relations are what the study says of cores, loop and ladder, with the model's
// answers for the parameters. The error is the context's.
func Relations(ctx context.Context, t param.Table) ([]relation.Relation, error) {
	a := &asks{ctx: ctx, t: t}
	ladder := func(change ...change) (rate [3]float64, at [3]Figures) {
		for i, n := range []int{1, 10, 100} {
			s := study(n)
			if len(change) > 0 {
				s = s.sharing()
			}
			at[i] = a.run(s, change...)
			rate[i] = at[i].PerSec()
		}
		return rate, at
	}
	flat, one := ladder()
	grows, shared := ladder(change{Turns, 2})
	ten, hundred := one[1], one[2]

	two := a.run(study(10).on(2, 0))
	crowded1, crowded2 := a.run(study(10).on(1, neighbour)), a.run(study(10).on(2, neighbour))
	off := a.run(study(10).in(coldfetch.OffloadGIL))
	offAll := a.run(study(100).in(coldfetch.OffloadGIL))
	free1, free2, bounded := a.run(study(30).in(coldfetch.Goroutines)), a.run(study(30).on(2, 0).in(coldfetch.Goroutines)), a.run(study(30).in(coldfetch.Bounded))
	connects := a.run(study(10), change{Accepts, 3})
	eight := a.run(study(8))
	herdLoop, herdFree, herdShared := a.run(herd(coldfetch.Loop, coldfetch.Alone)), a.run(herd(coldfetch.Goroutines, coldfetch.Alone)), a.run(herd(coldfetch.Goroutines, coldfetch.ShareBuild))

	fast := study(10)
	fast.Cache = Docs
	lean := study(10)
	lean.Lean = true
	cached, leaner := a.run(fast), a.run(lean)

	all := []relation.Relation{
		{
			Name: "one-core-loses", Says: "on one core instead of two, throughput at 100 users falls by 29 %",
			Rows:      []string{"cold.ladder.100.two.rps", "cold.ladder.100.one.rps"},
			Published: "7.3 to 5.2/s",
			Modelled: fmt.Sprintf("alone on the host %.2f to %.2f/s; with a neighbour that wants %d %% of a core %.2f to %.2f/s, %s",
				two.PerSec(), ten.PerSec(), neighbour, crowded2.PerSec(), crowded1.PerSec(), percent(crowded1.PerSec(), crowded2.PerSec())),
			Verdict: flips(ten.PerSec() < 0.9*two.PerSec(), crowded1.PerSec() < 0.9*crowded2.PerSec()),
			Why:     "a loop uses one core, and a second one is idle unless somebody else needs the first. It takes a neighbour, or another mix of hits and misses in the two runs",
		},
		{
			Name: "p95-stays", Says: "p95 hardly moves where throughput falls",
			Rows:      []string{"cold.ladder.100.two.p95", "cold.ladder.100.one.p95", "cold.ladder.100.two.rps", "cold.ladder.100.one.rps"},
			Published: "p95 +5 %, throughput -29 %",
			Modelled: fmt.Sprintf("the same neighbour, ten users: p95 %.1f to %.1f s, %s; throughput %s",
				crowded2.Quantile(0.95)/1000, crowded1.Quantile(0.95)/1000, percent(crowded1.Quantile(0.95), crowded2.Quantile(0.95)), percent(crowded1.PerSec(), crowded2.PerSec())),
			Verdict: verdict(crowded1.Quantile(0.95) < 1.1*crowded2.Quantile(0.95)),
			Why:     "users who wait for their answers and don't think have a mean of N / X: 13.7 and 19.2 s in the published runs. What makes all of it slower makes its tail slower, too, unless the two runs had other tails",
		},
		{
			Name: "throughput-grows", Says: "throughput grows along the ladder",
			Rows:      []string{"cold.ladder.1.two.rps", "cold.ladder.10.two.rps", "cold.ladder.100.two.rps"},
			Published: "1.8, 3.7, 7.3/s with 1, 10, 100 users",
			Modelled: fmt.Sprintf("%.2f, %.2f, %.2f/s; if the handler gives the loop back between look-up and build, and builds are shared: %.2f, %.2f, %.2f/s",
				flat[0], flat[1], flat[2], grows[0], grows[1], grows[2]),
			Verdict: flips(flat[2] > 2*flat[0], grows[2] > 2*grows[0] && grows[1] > 1.1*grows[0]),
			Why:     "one user settles the mix: two of three documents are built. A server that is full at one user can do more for a hundred only if their requests share builds. That gives both ends of the ladder, and not its middle",
		},
		{
			Name: "tail", Says: "p95 is three times the mean",
			Rows:      []string{"cold.ladder.10.two.p95", "cold.ladder.10.two.rps"},
			Published: "8.0 s, where 10 users at 3.7/s have a mean of 2.7 s",
			Modelled:  fmt.Sprintf("%.1f and %.1f s on the loop; %.1f and %.1f s off it; %.1f and %.1f s with shared builds", ten.Quantile(0.95)/1000, ten.Mean()/1000, off.Quantile(0.95)/1000, off.Mean()/1000, shared[1].Quantile(0.95)/1000, shared[1].Mean()/1000),
			Verdict:   verdict(ten.Quantile(0.95) > 2.5*ten.Mean() || off.Quantile(0.95) > 2.5*off.Mean() || shared[1].Quantile(0.95) > 2.5*shared[1].Mean()),
			Why:       "in rounds all wait alike. Such a tail needs a run in two parts: a cold cache first and hits later, say",
		},
		{
			Name: "health-waits", Says: "the health endpoint does nothing and waits for the loop",
			Rows:      []string{"cold.health.server", "cold.health.proxy.p95"},
			Published: "0.3 ms by its own clock, p95 60 s as the proxy saw it",
			Modelled: fmt.Sprintf("100 users: %.1f ms, and p95 %.0f s, with %d requests given up at the proxy's timeout; 10 users: p95 %.1f s",
				float64(hundred.Own.Quantile(0.95))/1e6, hundred.HealthQuantile(0.95)/1000, hundred.Timeouts, ten.HealthQuantile(0.95)/1000),
			Verdict: verdict(hundred.HealthQuantile(0.95) > 1000*float64(hundred.Own.Quantile(0.95))/1e6),
			Why:     "a round has a build for two of three users. 60 s is where the proxy gives up: how long it would have been isn't known",
		},
		{
			Name: "health-slower-than-documents", Says: "health waits longer than the documents on the same loop",
			Rows:      []string{"cold.health.proxy.p95", "cold.ladder.100.one.p95"},
			Published: "60 against 43.7 s",
			Modelled: fmt.Sprintf("ten users: %.1f against %.1f s; if each health request takes three turns, for a connection of its own: %.1f against %.1f s",
				ten.HealthQuantile(0.95)/1000, ten.Quantile(0.95)/1000, connects.HealthQuantile(0.95)/1000, connects.Quantile(0.95)/1000),
			Verdict: flips(ten.HealthQuantile(0.95) > 1.1*ten.Quantile(0.95), connects.HealthQuantile(0.95) > 1.1*connects.Quantile(0.95)),
			Why:     "on one loop each waits for one round. Health is slower only if it needs more rounds than a document",
		},
		{
			Name: "lag", Says: "one turn of the loop lasts for tens of seconds",
			Rows:      []string{"cold.looplag.max", "cold.looplag.events", "cold.looplag.total"},
			Published: "28.8 s at most, 35 events, 70 s in all",
			Modelled:  fmt.Sprintf("100 users: %.0f s at most; with shared builds %.0f s; ten users %.0f s", hundred.LagMax.Seconds(), shared[2].LagMax.Seconds(), ten.LagMax.Seconds()),
			Verdict:   verdict(hundred.LagMax > 20*time.Second),
			Why:       "28.8 s are 36 builds: as many in one round as a third of a hundred users need, or half of the misses",
		},
		{
			Name: "listing-waits", Says: "the listing's halves take seconds, since each waits for the loop",
			Rows:      []string{"cold.list.manifest", "cold.list.corpus"},
			Published: "4.3 and 5.2 s",
			Modelled:  fmt.Sprintf("8 users: %.1f and %.1f s; 100 users: %.0f and %.0f s; 5 ms each of its own", eight.Manifest.Mean()/1e9, eight.Corpus.Mean()/1e9, hundred.Manifest.Mean()/1e9, hundred.Corpus.Mean()/1e9),
			Verdict:   flips(near(eight.Manifest.Mean()/1e9, 4.3, 0.25) && near(eight.Corpus.Mean()/1e9, 5.2, 0.25), near(hundred.Manifest.Mean()/1e9, 4.3, 0.25)),
			Why:       "each half waits for a round, and the study doesn't say of how many users. Eight make rounds of that length: it isn't the run of the health endpoint's 60 s",
		},
		{
			Name: "off-the-loop", Says: "a handler off the loop lets health answer",
			Rows:      []string{"cold.health.proxy.p95"},
			Published: "planned, not measured",
			Modelled:  fmt.Sprintf("ten users: p95 of health %.0f to %.0f ms, throughput %s; 100 users: %.0f ms", ten.HealthQuantile(0.95), off.HealthQuantile(0.95), percent(off.PerSec(), ten.PerSec()), offAll.HealthQuantile(0.95)),
			Verdict:   verdict(off.HealthQuantile(0.95) < 0.1*ten.HealthQuantile(0.95)),
			Why:       "the lock passes every 5 ms. Documents gain nothing: one of them computes at a time, as before",
		},
		{
			Name: "unbounded-work", Says: "without a loop, health is slow as well if work on one core is unbounded",
			Rows:      []string{"cold.health.server"},
			Published: "not in the study",
			Modelled: fmt.Sprintf("30 users of goroutines: p95 of health %.0f ms on one core, %.0f ms on two; one build at a time: %.1f ms, at %s of throughput",
				free1.HealthQuantile(0.95), free2.HealthQuantile(0.95), bounded.HealthQuantile(0.95), percent(bounded.PerSec(), free1.PerSec())),
			Verdict: verdict(free1.HealthQuantile(0.95) > 10*bounded.HealthQuantile(0.95) && bounded.PerSec() > 0.95*free1.PerSec()),
			Why:     "a goroutine that becomes ready waits for a slice of 10 ms of each that computes. A bound on builds costs no throughput: who waited for it may find his document built",
		},
		{
			Name: "herd", Says: "a loop that blocks is an accidental single-flight",
			Rows:      []string{"cold.pull.large.size"},
			Published: "not in the study",
			Modelled: fmt.Sprintf("50 callers of one cold document: on the loop %d GET and %d build, p95 %.1f s; goroutines %d and %d, %.1f s; sharing pull and build %d and %d, %.1f s",
				herdLoop.Gets, herdLoop.Builds, herdLoop.Quantile(0.95)/1000, herdFree.Gets, herdFree.Builds, herdFree.Quantile(0.95)/1000, herdShared.Gets, herdShared.Builds, herdShared.Quantile(0.95)/1000),
			Verdict: verdict(herdLoop.Gets == 1 && herdFree.Gets == 50 && herdShared.Gets == 1),
			Why:     "nobody looks while the first one pulls and builds. Who takes the handler off the loop must share",
		},
		{
			Name: "next-fixes", Says: "off the loop, a larger cache, a profile of the build",
			Rows:      []string{"cold.stage.miss.build", "cold.stage.hit.json"},
			Published: "planned, without figures",
			Modelled:  fmt.Sprintf("ten users, mean %.2f s: off the loop %.2f s, all six documents kept %.2f s, a build of a tenth %.2f s", ten.Mean()/1000, off.Mean()/1000, cached.Mean()/1000, leaner.Mean()/1000),
			Verdict:   verdict(near(off.Mean(), ten.Mean(), 0.1) && cached.Mean() < 0.2*ten.Mean() && leaner.Mean() < 0.5*ten.Mean()),
			Why:       "the first fix in the study's order is for health alone; documents gain from the cache and the build",
		},
	}
	return all, a.err
}

// neighbour is what the published loss of throughput needs, in percent of a core.
const neighbour = 30
