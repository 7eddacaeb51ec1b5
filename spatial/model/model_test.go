package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
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

var relations = sync.OnceValues(func() ([]relation.Relation, error) { return Relations(context.Background(), Study()) })

// What the study says of its row log and its pool, and what the model gives.
func ExampleRelations() {
	all, err := relations()
	if err != nil {
		fmt.Println(err)
		return
	}
	relation.Write(os.Stdout, all)
	// Output:
	// row-log-costs: holds
	//   says       a log line a row makes requests nine times slower and takes two fifths of the throughput (spatial.log.avg, spatial.nolog.avg, spatial.log.rps, spatial.nolog.rps)
	//   published  1393 against 152 ms, 24.40 against 42.56/s
	//   modelled   1396 ms, p95 1690, 100.0 % slow, 25.1/s; without lines 11 ms, p95 31, 0.0 % slow, 47.4/s
	//   because    the mean is fitted, by one sink that takes lines one by one in 0.4 ms each. A file takes them in 3 us, and then nothing happens
	// sink-or-cpu: inconclusive
	//   says       the lines take CPU and block on output (spatial.log.avg, spatial.log.rps)
	//   published  both are named, neither was measured
	//   modelled   a sink 1396 ms, p95 1690, 100.0 % slow, 25.1/s; instead of it 0.7 ms of CPU a line 1453 ms, p95 1757, 100.0 % slow, 24.6/s
	//   because    any resource that takes some 41 ms a request gives the same means: they can't tell which it was
	// a-fifth-is-slow: inconclusive
	//   says       with a line a row a fifth of the requests is slow (spatial.log.slow_pct, spatial.log.p95, spatial.log.avg)
	//   published  20.32 % slow, p95 6361 ms, mean 1393 ms, 24.40/s
	//   modelled   a sink, steady: 1396 ms, p95 1690, 100.0 % slow, 25.1/s; a sink, ramp: 1944 ms, p95 4203, 77.5 % slow, 21.7/s; spinning on one host, ramp, 0.1 ms of CPU a line and no sink: 1450 ms, p95 9831, 18.4 % slow, 25.7/s (10 to 40 % slow with 10 of 10 seeds)
	//   because    a queue for a sink makes nearly all slow. A fifth needs two states in one run: here an overload that keeps itself up once the ramp has tipped it, since those who wait take the cores from those who work
	// pool-step: inconclusive
	//   says       fifteen connections instead of ten make requests fifteen times as fast (spatial.nolog.avg, spatial.pool15.avg, spatial.nolog.rps, spatial.pool15.rps)
	//   published  152 to 10 ms, 42.56 to 46.27/s
	//   modelled   11.0 to 11.0 ms; with half as much work again, ramp: 21.0 to 21.0 ms; and spinning on one host: 643 to 21.0 ms, 35.0 to 48.2/s, a step with 6 of 10 seeds; spinning on another host: 19.0 ms
	//   because    requests of 10 ms keep half a connection busy, so nobody waits for one of ten. A step needs requests that spin while they wait, on the cores that they wait for, and work in a narrow range: less never tips, more tips at fifteen as well. HikariCP's callers sleep
	// spin-burns: inconclusive
	//   says       threads that fight for ten connections burn CPU (spatial.pool10.cpu_peak, spatial.pool15.cpu_peak)
	//   published  peak 79 %, with fifteen 33 %
	//   modelled   mean 24 % with ten and 24 % with fifteen; spinning, with half as much work again 46 % and 36 %
	//   because    the same assumptions as for the step; who sleeps burns nothing
	// pool-cliff: holds
	//   says       a pool that is a third too small is a cliff (spatial.nolog.avg, spatial.pool15.avg)
	//   published  15 times
	//   modelled   210 users, connections held 100 ms without CPU: 838 ms with ten, 154 ms with fifteen, 5.4 times
	//   because    between the knees at P (Z + S) / S, for a hold that is ten times the published request. Fifteen times needs Z/S about 40
	// larger-pool-hurts: inconclusive
	//   says       the author expected a larger pool to hurt, by context switches (spatial.pool10.cpu_peak)
	//   published  CPU near 80 %; no figures
	//   modelled   150 users who think 0.5 s: 237 to 238 ms with 10 and 100 connections; if a job beyond the cores costs 2 %: 385 to 1939 ms, 170 to 62/s
	//   because    it rests on what a switch costs. Without a cost the pool only decides where requests wait
	// creep: inconclusive
	//   says       response time crept up during the run with ten connections (spatial.nolog.avg)
	//   published  no figures
	//   modelled   the same load, come up and come down: 114 and 114 ms; two connections a request 114 and 5000 ms; given up at 0.5 s and asked again up to three times 114 and 500 ms; spinning 13 and 6681 ms
	//   because    a queue alone forgets. Each of the three feedbacks makes an overload stay, and the study names none but spinning
	// half-the-users: inconclusive
	//   says       150 users made the load (spatial.vus, spatial.pool15.rps, spatial.pool15.avg)
	//   published  46.27/s of 10 ms
	//   modelled   73 users all the time 47.4/s; 150 who come and go evenly 48.4/s; 150 all the time 97.5/s
	//   because    with the think time on which the rows agree, 1.5 to 1.6 s, it was half of them in the mean: a ramp. With 150 all the time they would think 3.2 s in one row and 4.8 s in another
	// gauge-reads-zero: holds
	//   says       the gauge of the pool reads zero between requests, since users think (spatial.pool15.usage_peak)
	//   published  20 % at its peak
	//   modelled   66 % of the samples find no connection in use, and 3.1 % of the pool's time is used
	//   because    half a connection in the mean is none for more than half of the time
}

// What the model takes for granted.
func ExampleStudy() {
	Study().WriteText(os.Stdout)
	// Output:
	// parameter    value   range       source                                                                                                 what it is
	// service      7.28ms  3ms..40ms   published: spatial.pool15.avg, spatial.pool15.p95                                                      median of a request's work where nothing waits; with its spread the mean is 10 ms
	// spread       3.71    1..8        published: spatial.pool15.avg, spatial.pool15.p95                                                      95th percentile over median of that work: log-normal
	// cpu-share    1       0..1        assumed: places and index fit into memory                                                              share of the statement's work that is CPU; the rest waits for storage and holds no core
	// encode       0.1     0..0.5      assumed: a hundred rows to JSON                                                                        share of a request's work that the service does after the connection went back
	// round-trip   200us   0s..2ms     assumed: one host, or one rack                                                                         on the way to the database and back, a statement
	// guides       500us   100us..5ms  assumed: two look-ups by key                                                                           CPU of the database for guides and media, where a request asks for them
	// cores        2       1..8        assumed: 46.27/s of 10 ms keep 0.46 cores busy; at a peak of 33 % that is two cores rather than eight  cores of the database
	// one-host     1       0..1        assumed: one figure of CPU was published                                                               1: the service works on the database's cores, 0: on as many of its own
	// rows         100     20..500     published: spatial.rows_per_query                                                                      rows of an answer
	// line         395us   0s..800us   calibrated: spatial.log.avg                                                                            time of the one serial log sink a line
	// line-cpu     3us     1us..50us   assumed: what a line to a file costs                                                                   CPU of the service a line
	// block-lines  0       0..1        assumed: appenders lock a line at a time                                                               1: a request's lines stay together in the sink, 0: they alternate with others'
	// inflation    0       0..0.1      assumed: none: what switching costs was not published                                                  how much more work a statement is for each job beyond the cores when it begins
	// spin-slice   1ms     200us..4ms  assumed: a scheduler's                                                                                 CPU that a spinning request burns between two looks at the pool
	// patience     30s     2s..1m0s    assumed: HikariCP's default                                                                            how long a request waits for a connection before it fails
	// retries      0       0..3        assumed: none: the study says nothing of any                                                           how often a request that failed is made again at once, while the database goes on with what was given up
}

// How much work tips a pool of ten whose waiters spin, and how much one of
// fifteen? Between the two is all the room that the study's step has.
func Example_flips() {
	for _, pool := range []int{10, 15} {
		flips, err := param.Flips(Study(), Service, 6*millisecond, 16*millisecond, func(t param.Table) (string, error) {
			f, err := Run(context.Background(), spinning(ramped(study(pool))), t, 1, rampWindow, nil)
			if f.Mean() > 200 {
				return "tips", err
			}
			return "doesn't", err
		})
		fmt.Println(pool, "connections:", flips, err)
	}
	// Output:
	// 10 connections: [service: doesn't up to 9.90625ms, tips from 9.984375ms (the model has 7.28ms, published)] <nil>
	// 15 connections: [service: doesn't up to 11.9375ms, tips from 12.015625ms (the model has 7.28ms, published)] <nil>
}

// Which assumption does the step of the pool rest on?
func Example_tornado() {
	step := func(t param.Table) (float64, error) {
		t, err := t.Set(Service, heavier)
		if err != nil {
			return 0, err
		}
		ten, err := Run(context.Background(), spinning(ramped(study(10))), t, 1, rampWindow, nil)
		if err != nil {
			return 0, err
		}
		fifteen, err := Run(context.Background(), spinning(ramped(study(15))), t, 1, rampWindow, nil)
		return ten.Mean() / fifteen.Mean(), err
	}
	base, bars, err := param.Tornado(Study(), step)
	if err != nil {
		fmt.Println(err)
		return
	}
	param.WriteTornado(os.Stdout, base, bars[:6])
	// Output:
	// the outcome is 30.57
	// parameter  from  to    outcome at from  at to   source
	// encode     0     0.5   33.49            0.9938  assumed
	// one-host   0     1     0.9985           30.57   assumed
	// cpu-share  0     1     1                30.57   assumed
	// inflation  0     0.1   30.57            1.059   assumed
	// patience   2s    1m0s  13.43            32.81   assumed
	// retries    0     3     30.57            32.64   assumed
}

func TestRelationsOfTheStudy(t *testing.T) {
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
