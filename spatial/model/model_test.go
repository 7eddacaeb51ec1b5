package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/laws"
	"latlab.example/common/metrics"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
	"latlab.example/spatial"
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
		"row-log-costs": lab.Holds, "sink-or-cpu": lab.Inconclusive, "a-fifth-is-slow": lab.Inconclusive,
		"pool-step": lab.Inconclusive, "spin-burns": lab.Inconclusive, "pool-cliff": lab.Holds,
		"larger-pool-hurts": lab.Inconclusive, "creep": lab.Inconclusive, "half-the-users": lab.Inconclusive, "gauge-reads-zero": lab.Holds,
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

// The fitted parameter gives the row that it was fitted to, and a fit leaves it
// where it is.
func TestCalibrated(t *testing.T) {
	long(t)
	f, err := Run(t.Context(), logged(study(10)), Study(), 1, steadyWindow, nil)
	if err != nil || math.Abs(f.Mean()/publishedMean-1) > 0.01 {
		t.Errorf("the model gives %.0f ms, published %d, %v", f.Mean(), publishedMean, err)
	}
	again, _, err := Calibrate(t.Context(), Study())
	if err != nil {
		t.Fatal(err)
	}
	if was, is := Study().Time(Line), again.Time(Line); (was - is).Abs() > 2*time.Microsecond {
		t.Errorf("a fit moves it from %v to %v", was, is)
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
// interval, which must be within so much of it.
func agree(t *testing.T, what string, theory, within float64, of func(seed uint64) float64) {
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
	if math.Abs(m-theory) > half {
		t.Errorf("%s: %.5g in theory, %.5g +- %.2g in %d runs", what, theory, m, half, seeds)
	}
	if half > within*theory {
		t.Errorf("%s: %.5g +- %.2g says too little", what, m, half)
	}
}

// plain is the model with nothing but what a test looks at.
func plain(t *testing.T, changes ...change) param.Table {
	t.Helper()
	p := Study()
	for _, c := range append([]change{{RoundTrip, 0}, {Encode, 0}, {LineCPU, 0}}, changes...) {
		var err error
		if p, err = p.Set(c.name, c.value); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// A pool whose connections are held for exponential times that are no CPU is the
// machine repairman: the exact closed form, below the knee, at it and above it.
func TestPoolIsTheMachineRepairman(t *testing.T) {
	long(t)
	p := plain(t, change{Service, 1}, change{Spread, 1_000_000})
	for _, pool := range []int{5, 10, 15} {
		for _, n := range []int{40, 150, 210} {
			s := busy(pool)
			s.Users = n
			_, want, err := laws.Repairman(n, think.Seconds(), s.HoldFor.Seconds(), pool)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, fmt.Sprintf("%d users of %d connections, ms", n, pool), 1000*want, 0.06, func(seed uint64) float64 {
				m := newMachine(s, p, seed)
				m.holdFor = sim.Exponential(s.HoldFor)
				f, err := m.run(t.Context(), 100*time.Second, nil)
				if err != nil {
					t.Fatal(err)
				}
				return f.Mean()
			})
		}
	}
}

// Work on shared cores, with a pool that is never the limit, and a serial sink are
// a closed network: its exact solution, whatever the work's distribution is.
func TestCoresAndSinkAreAClosedNetwork(t *testing.T) {
	long(t)
	p := plain(t, change{Rows, 9}, change{Line, 500 * microsecond}) // ten lines of 0.5 ms
	for _, n := range []int{50, 250, 400} {
		s := Setup{Users: n, Think: think, Pool: 1000, Log: spatial.LogRows}
		work := sim.LogNormal(p.Time(Service), p.Part(Spread, p.Time(Service))).Mean().Seconds()
		want, err := laws.Closed{Users: n, Think: think.Seconds(), Stations: []laws.Station{
			{Name: "cores", Demand: work, Servers: 2}, {Name: "sink", Demand: 0.005, Servers: 1},
		}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		agree(t, fmt.Sprintf("%d users on two cores and a sink, ms", n), 1000*want.Response, 0.06, func(seed uint64) float64 {
			f, err := Run(t.Context(), s, p, seed, 100*time.Second, nil)
			if err != nil {
				t.Fatal(err)
			}
			return f.Mean()
		})
	}
}

// The knee of a pool is where the two asymptotes meet: at P (Z + S) / S users.
// Below two thirds of it nobody waits, at twice as many the pool gives all it has.
func TestKnee(t *testing.T) {
	long(t)
	p := plain(t, change{Service, 1}, change{Spread, 1_000_000})
	for _, pool := range []int{5, 10, 15} {
		knee := float64(pool) * (think + 100*time.Millisecond).Seconds() / 0.1
		run := func(share float64) Figures {
			s := busy(pool)
			s.Users = int(share * knee)
			f, err := Run(t.Context(), s, p, 1, 60*time.Second, nil)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		below, at, above := run(0.66), run(1), run(2)
		t.Logf("pool %d, knee at %.0f users: %.1f, %.1f, %.1f ms; %.1f/s of %d/s", pool, knee, below.Mean(), at.Mean(), above.Mean(), above.PerSec(), 10*pool)
		if below.Mean() > 110 || at.Mean() < 115 || at.Mean() > 300 || !near(above.PerSec(), float64(10*pool), 0.02) {
			t.Errorf("pool %d: the knee isn't at %.0f users", pool, knee)
		}
		if want := 1000 * (2*knee/float64(10*pool) - think.Seconds()); !near(above.Mean(), want, 0.04) {
			t.Errorf("pool %d: %.0f ms at twice the knee, the asymptote says %.0f", pool, above.Mean(), want)
		}
	}
}

// Users who each hold a connection and want a second one: T (C - 1) + 1
// connections are enough, and one less isn't.
func TestNestedAcquire(t *testing.T) {
	const threads = 10
	for pool, want := range map[int]bool{threads: false, threads + 1: true} {
		s := Setup{Users: threads, Pool: pool, Guides: true, Nested: true, Hold: spatial.HoldSleep, HoldFor: 100 * time.Millisecond}
		p := plain(t, change{Patience, 3600 * 1000 * millisecond}, change{Spread, 1_000_000}, change{CPUShare, 0})
		f, err := Run(t.Context(), s, p, 1, time.Minute, nil)
		var stuck *sim.StuckError
		if !want && err == nil && f.Response.Count() == 0 {
			continue // nobody got an answer in the window
		}
		if (err == nil && f.Response.Count() > 0) != want {
			t.Errorf("%d threads of two connections each and %d in all: %d answers, %v", threads, pool, f.Response.Count(), err)
		}
		if err != nil && !errors.As(err, &stuck) {
			t.Error(err)
		}
	}
}

// Little's law between the model's own figures: users / (mean + think) =
// throughput, and connections held = throughput x hold. What was asked again at
// once was not thought about.
func TestLittle(t *testing.T) {
	long(t)
	for name, s := range map[string]Setup{
		"plain": study(10), "held": busy(5), "rows": logged(study150(10)), "spin": spinning(busy(10)), "nested": nested(30), "down": {Users: 50, Think: think, Approach: Down, Pool: 10},
	} {
		f, err := Run(t.Context(), s, Study(), 1, 120*time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.PerSec() * (f.Mean()/1000 + think.Seconds()); !near(got, float64(s.Users), 0.03) {
			t.Errorf("%s: X (R + Z) = %.2f, want %d", name, got, s.Users)
		}
		if got, want := f.PerSec()*f.Held.Seconds(), f.PoolUse*float64(s.Pool); !near(got, want, 0.001) {
			t.Errorf("%s: X times hold = %.3f connections, and %.3f were held", name, got, want)
		}
		if busy := f.busy(2); busy > 1.01 {
			t.Errorf("%s: two cores were busy for %.2f of the time", name, busy)
		}
	}
}

// One user meets nobody: a request is the sum of its parts, and so is its path.
func TestAloneIsTheSumOfItsParts(t *testing.T) {
	p, err := Study().Set(Spread, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	s := Setup{
		Users: 1, Think: think, Pool: 2, Hold: spatial.HoldBurn, HoldFor: 20 * time.Millisecond, Log: spatial.LogRows,
		LogPlace: spatial.LogHeld, Guides: true, Nested: true, Timeout: time.Second,
	}
	want := p.Time(Service) + 4*p.Time(RoundTrip) + s.HoldFor + p.Time(Guides) + 101*(p.Time(Line)+p.Time(LineCPU))
	var path metrics.Breakdown
	f, err := Run(t.Context(), s, p, 1, time.Minute, func(tl metrics.Timeline) { path.Add(tl.Critical()) })
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(f.Response.Mean()); (got - want).Abs() > 5*time.Microsecond {
		t.Errorf("alone a request takes %v, want %v", got, want)
	}
	if path.Ops == 0 || path.Unattributed != 0 {
		t.Errorf("%d of %d ns in %d timelines are unattributed", path.Unattributed, path.Total, path.Ops)
	}
	if f.AppCPU == 0 || f.ServerCPU < s.HoldFor {
		t.Errorf("a request takes %v of the service's CPU and %v of the database's", f.AppCPU, f.ServerCPU)
	}
}

// A request that is given up ends at its timeout and is asked again as often as
// the parameters say.
func TestGivenUp(t *testing.T) {
	p := plain(t, change{Retries, 2})
	s := Setup{Users: 1, Think: time.Second, Pool: 1, Hold: spatial.HoldSleep, HoldFor: 10 * time.Second, Timeout: 200 * time.Millisecond}
	f, err := Run(t.Context(), s, p, 1, 10*time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Failures != f.Response.Count() || f.Response.Max() > int64(201*time.Millisecond) || f.Response.Min() < int64(199*time.Millisecond) {
		t.Errorf("%d of %d failed, after %v to %v", f.Failures, f.Response.Count(), time.Duration(f.Response.Min()), time.Duration(f.Response.Max()))
	}
	if want := 3 * 600 / 1.6; !near(float64(f.Response.Count()), want, 0.1) {
		t.Errorf("%d requests, want about %.0f: three for each thought", f.Response.Count(), want)
	}
}

func TestWhatCanNotBeIsRefused(t *testing.T) {
	for _, s := range []Setup{{Users: 0, Pool: 1}, {Users: 1, Pool: 0}} {
		if _, err := Run(t.Context(), s, Study(), 1, time.Second, nil); err == nil {
			t.Errorf("%+v, and no error", s)
		}
	}
	if slices.Contains(Assumptions, "") {
		t.Error("an empty assumption")
	}
}
