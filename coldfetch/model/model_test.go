package model

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/laws"
	"latlab.example/common/metrics"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
)

// relations takes seconds, so it is asked once.
var relations = sync.OnceValues(func() ([]relation.Relation, error) { return Relations(context.Background(), Study()) })

// long skips what takes minutes under the race detector. A simulation runs one
// goroutine at a time; the short tests show that.
func long(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("takes minutes under the race detector")
	}
}

func TestRelationsOfTheStudy(t *testing.T) {
	long(t)
	all, err := relations()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]lab.Verdict{
		"one-core-loses": lab.Inconclusive, "p95-stays": lab.Fails, "throughput-grows": lab.Inconclusive, "tail": lab.Fails,
		"health-waits": lab.Holds, "health-slower-than-documents": lab.Inconclusive, "lag": lab.Holds, "listing-waits": lab.Inconclusive,
		"off-the-loop": lab.Holds, "unbounded-work": lab.Holds, "herd": lab.Holds, "next-fixes": lab.Holds,
	}
	for _, r := range all {
		if r.Verdict != want[r.Name] {
			t.Errorf("%s: %s (%s), want %s", r.Name, r.Verdict, r.Modelled, want[r.Name])
		}
		delete(want, r.Name)
	}
	for name := range want {
		t.Errorf("no relation %s", name)
	}
}

// The calibrated pulls are within what is published.
func TestPublishedPulls(t *testing.T) {
	p := Study()
	of := func(bytes int64) float64 {
		return float64(PullTime(p.Time(PullFirst), p.Rate(PullRate), bytes)) / 1e6
	}
	if got := of(large); got < 19 || got > 20 {
		t.Errorf("15 MB take %.2f ms, published 19 to 20", got)
	}
	for _, bytes := range []int64{35_000, small, 92_000} {
		if got := of(bytes); got < 1.7 || got > 3.3 {
			t.Errorf("%d bytes take %.2f ms, published 1.7 to 3.3", bytes, got)
		}
	}
	if got := PullTime(time.Second, 0, large); got != time.Second {
		t.Errorf("without a limit of bandwidth a pull takes %v, want its first byte's second", got)
	}
}

// seeds of a closed form's test, and the quantile 0.995 of Student's t for one
// degree of freedom less: a mean of so many runs is off by more than that many
// standard errors in 1 % of cases.
const (
	seeds = 20
	t99   = 2.861
)

// agree holds a mean of several runs against theory: it must lie in their 99 %
// interval widened by what the theory leaves out, and the interval must be within
// so much of it.
func agree(t *testing.T, what string, theory, within, approximate float64, of func(seed uint64) float64) {
	t.Helper()
	var sum, squares float64
	for seed := range uint64(seeds) {
		v := of(seed + 1)
		sum += v
		squares += v * v
	}
	m := sum / seeds
	half := t99 * math.Sqrt(max(squares/seeds-m*m, 0)/(seeds-1))
	t.Logf("%s: %.5g in theory, %.5g +- %.2g", what, theory, m, half)
	if math.Abs(m-theory) > half+approximate*theory {
		t.Errorf("%s: %.5g in theory, %.5g +- %.2g in %d runs", what, theory, m, half, seeds)
	}
	if half > within*theory {
		t.Errorf("%s: %.5g +- %.2g says too little", what, m, half)
	}
}

// plain is the model with nothing but builds.
func plain(t *testing.T, changes ...change) param.Table {
	t.Helper()
	p := Study()
	for _, c := range append([]change{
		{JSON, 0}, {MissRest, 0}, {HitRest, 0}, {Locate, 0}, {Proxy, 0}, {Transfer, 0}, {Timeout, 3600 * 1000 * millisecond},
	}, changes...) {
		var err error
		if p, err = p.Set(c.name, c.value); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Users of a service whose builds take exponential times are the machine
// repairman: with one server on a loop and with builds one at a time, and with as
// many as there are cores for goroutines.
func TestServiceIsTheMachineRepairman(t *testing.T) {
	long(t)
	const build, think = 200 * time.Millisecond, time.Second
	p := plain(t, change{Think, int64(think)}, change{Quantum, 5 * millisecond})
	for _, test := range []struct {
		mode           coldfetch.Mode
		cores, servers int
		approximate    float64 // slices are no equal shares
	}{
		{coldfetch.Loop, 1, 1, 0}, {coldfetch.Loop, 2, 1, 0}, {coldfetch.Bounded, 2, 1, 0.01},
		{coldfetch.Goroutines, 1, 1, 0.01}, {coldfetch.Goroutines, 2, 2, 0.01},
	} {
		for _, n := range []int{2, 10} {
			s := Setup{Mode: test.mode, Users: n, Cores: test.cores, Warm: true, Alone: true}
			_, want, err := laws.Repairman(n, think.Seconds(), build.Seconds(), test.servers)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, fmt.Sprintf("%s, %d users on %d cores, ms", test.mode, n, test.cores), 1000*want, 0.05, test.approximate, func(seed uint64) float64 {
				m, err := newMachine(s, p, seed)
				if err != nil {
					t.Fatal(err)
				}
				m.buildFor = sim.Exponential(build)
				f, err := m.run(t.Context(), 400*time.Second, nil)
				if err != nil {
					t.Fatal(err)
				}
				return f.Mean()
			})
		}
	}
}

// Off the loop, who computes under the interpreter's lock is one at a time: the
// throughput is that of one server, and the second core is idle.
func TestLockIsOneServer(t *testing.T) {
	long(t)
	p := plain(t, change{HandOver, 0}, change{Spread, 1_000_000})
	for _, cores := range []int{1, 2} {
		f, err := Run(t.Context(), Setup{Mode: coldfetch.OffloadGIL, Users: 10, Cores: cores, Warm: true, Alone: true}, p, 1, 400*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := 1 / 0.802; !near(f.PerSec(), want, 0.02) {
			t.Errorf("%d cores: %.3f/s, want %.3f", cores, f.PerSec(), want)
		}
	}
}

// A cache of the documents used last that keeps k of six, drawn at random, misses
// one less k sixths.
func TestMisses(t *testing.T) {
	long(t)
	p := plain(t, change{Build, millisecond})
	for k := range Docs + 1 {
		s := study(1)
		s.Cache, s.Alone = k, true
		f, err := Run(t.Context(), s, p, 1, 400*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := 1 - float64(k)/Docs; math.Abs(f.Misses-want) > 0.02 {
			t.Errorf("a cache of %d misses %.3f, want %.3f", k, f.Misses, want)
		}
	}
}

// A neighbour on the loop's core takes what it wants of it, and next to nothing
// where there is a second core.
func TestNeighbour(t *testing.T) {
	long(t)
	for _, test := range []struct {
		cores int
		left  float64
	}{{1, 0.6}, {2, 1}} {
		alone, err := Run(t.Context(), study(4).on(test.cores, 0), Study(), 1, 400*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Run(t.Context(), study(4).on(test.cores, 40), Study(), 1, 400*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.PerSec() / alone.PerSec(); !near(got, test.left, 0.04) {
			t.Errorf("%d cores: a neighbour of 40 %% leaves %.3f of the throughput, want %.2f", test.cores, got, test.left)
		}
	}
}

// Little's law between the model's own figures, with the think time, in all modes
// and with shared builds.
func TestLittle(t *testing.T) {
	for _, s := range []Setup{
		study(10), study(10).in(coldfetch.OffloadGIL), study(10).in(coldfetch.Goroutines), study(10).in(coldfetch.Bounded), study(10).sharing().in(coldfetch.OffloadGIL),
	} {
		f, err := Run(t.Context(), s, Study(), 1, 200*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.PerSec() * (f.Mean()/1000 + 0.025); !near(got, 10, 0.06) {
			t.Errorf("%s: X (R + Z) = %.2f, want 10", s.Mode, got)
		}
		if f.CPU > 1.05 {
			t.Errorf("%s: one core was busy for %.2f of the time", s.Mode, f.CPU)
		}
	}
}

// One user meets nobody: a request is the sum of its parts, in every mode and for
// a miss, a hit and a cold document.
func TestAloneIsTheSumOfItsParts(t *testing.T) {
	p, err := Study().Set(Spread, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	hit := p.Time(Locate) + p.Time(JSON) + p.Time(HitRest) + p.Time(Proxy) + p.Time(Transfer)
	miss := hit - p.Time(HitRest) + p.Time(Build) + p.Time(MissRest)
	for _, mode := range []coldfetch.Mode{coldfetch.Loop, coldfetch.OffloadGIL, coldfetch.Goroutines, coldfetch.Bounded} {
		for _, test := range []struct {
			setup Setup
			want  []time.Duration
		}{
			{Setup{Cache: 1, Warm: true, PerUser: 2}, []time.Duration{miss, hit}},
			{Setup{Cache: 0, PerUser: 2, Store: WAN}, []time.Duration{miss + PullTime(p.Time(WANFirst), p.Rate(WANRate), large), miss}},
		} {
			s := test.setup
			s.Mode, s.Users, s.Cores, s.First, s.Alone = mode, 1, 1, true, true
			i := 0
			f, err := Run(t.Context(), s, p, 1, 0, func(tl metrics.Timeline) {
				b := tl.Critical()
				if got := time.Duration(b.Total); (got - test.want[i]).Abs() > time.Microsecond {
					t.Errorf("%s, request %d: %v, want %v", mode, i+1, got, test.want[i])
				}
				if rest := []time.Duration{p.Time(MissRest), p.Time(HitRest)}[min(i, s.Cache)]; time.Duration(b.Unattributed) != rest {
					t.Errorf("%s, request %d: %v has no stage, want %v", mode, i+1, time.Duration(b.Unattributed), rest)
				}
				i++
			})
			if err != nil || i != 2 || f.Response.Count() != 2 {
				t.Errorf("%s: %d requests, %v", mode, i, err)
			}
		}
	}
}

// What the proxy gives up counts with what was waited; the service goes on.
func TestProxyGivesUp(t *testing.T) {
	p, err := Study().Set(Timeout, 300*millisecond)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Run(t.Context(), Setup{Users: 3, Cores: 1, Warm: true, PerUser: 1, Alone: true}, p, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Timeouts != 3 || f.Builds != 3 || f.Response.Max() > int64(302*time.Millisecond) || f.Response.Min() < int64(298*time.Millisecond) {
		t.Errorf("%d of 3 given up, %d built, after %v to %v", f.Timeouts, f.Builds, time.Duration(f.Response.Min()), time.Duration(f.Response.Max()))
	}
}

// Callers of one cold document share as they are told to.
func TestSharing(t *testing.T) {
	for _, test := range []struct {
		flight       coldfetch.Flight
		gets, builds uint64
	}{{coldfetch.Alone, 50, 50}, {coldfetch.SharePull, 1, 50}, {coldfetch.ShareBuild, 1, 1}} {
		f, err := Run(t.Context(), herd(coldfetch.Goroutines, test.flight), Study(), 1, 0, nil)
		if err != nil || f.Gets != test.gets || f.Builds != test.builds {
			t.Errorf("%s: %d GETs and %d builds, %v; want %d and %d", test.flight, f.Gets, f.Builds, err, test.gets, test.builds)
		}
	}
}

func TestWhatCanNotBeIsRefused(t *testing.T) {
	for _, s := range []Setup{{Users: 0, Cores: 1}, {Users: 1, Cores: 0}, {Users: 1, Cores: 1, Neighbour: -1}, {Users: 1, Cores: 1, Mode: "threads"}} {
		if _, err := Run(t.Context(), s, Study(), 1, time.Second, nil); err == nil {
			t.Errorf("%+v, and no error", s)
		}
	}
}
