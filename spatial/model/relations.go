package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
	"latlab.example/spatial"
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

// run runs a setup with some parameters changed.
func (a *asks) run(s Setup, changes ...change) Figures { return a.seeded(1, s, changes) }

// tries is how many seeds tell how often a run tips.
const tries = 10

// seeds runs it with several seeds: the first is that of run.
func (a *asks) seeds(s Setup, changes ...change) []Figures {
	all := make([]Figures, tries)
	for i := range all {
		all[i] = a.seeded(uint64(i)+1, s, changes)
	}
	return all
}

func count(all []Figures, is func(Figures) bool) (n int) {
	for _, f := range all {
		if is(f) {
			n++
		}
	}
	return n
}

func (a *asks) seeded(seed uint64, s Setup, changes []change) Figures {
	t, window := a.t, steadyWindow
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
	if s.Approach == Triangle {
		window = rampWindow
	}
	f, err := Run(a.ctx, s, t, seed, window, nil)
	a.err = err
	return f
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

// says is a run's figures as the study's table has them.
func (f Figures) says() string {
	return fmt.Sprintf("%.0f ms, p95 %.0f, %.1f %% slow, %.1f/s", f.Mean(), f.Quantile(0.95), 100*f.Slow(), f.PerSec())
}

// busy is the share of the cores that computed.
func (f Figures) busy(cores int) float64 {
	return f.PerSec() * (f.AppCPU + f.ServerCPU).Seconds() / float64(cores)
}

// What the spin hypothesis needs beside spinning, each in a relation's text.
const (
	heavyLine = 100 * microsecond    // CPU a line, instead of a sink's time
	heavier   = 11_000 * microsecond // the median of a request's work, instead of 7.28 ms
)

// Relations are what the study says of its row log and its pool, with the model's
// answers for the parameters. The error is the context's.
func Relations(ctx context.Context, t param.Table) ([]relation.Relation, error) {
	a := &asks{ctx: ctx, t: t}
	quiet10, quiet15 := a.run(study(10)), a.run(study(15))
	rows := a.run(logged(study(10)))
	cpu := a.run(logged(study(10)), change{Line, 0}, change{LineCPU, 700 * microsecond})
	rampRows, rampQuiet := a.run(ramped(logged(study(10)))), a.run(ramped(study(10)))
	fifth := a.seeds(spinning(ramped(logged(study(10)))), change{Line, 0}, change{LineCPU, heavyLine})
	spinRows, aFifth := fifth[0], count(fifth, func(f Figures) bool { return f.Slow() > 0.1 && f.Slow() < 0.4 })
	tens, fifteens := a.seeds(spinning(ramped(study(10))), change{Service, heavier}), a.seeds(spinning(ramped(study(15))), change{Service, heavier})
	spin10, spin15 := tens[0], fifteens[0]
	steps := 0
	for i := range tens {
		if tens[i].Mean() > 5*fifteens[i].Mean() {
			steps++
		}
	}
	park10, park15 := a.run(ramped(study(10)), change{Service, heavier}), a.run(ramped(study(15)), change{Service, heavier})
	apart10 := a.run(spinning(ramped(study(10))), change{Service, heavier}, change{OneHost, 0})
	all150 := a.run(study150(15))
	cores := t.Count(Cores)

	up, down := a.both(busy(15))
	nestedUp, nestedDown := a.both(nested(30))
	retryUp, retryDown := a.both(impatient(15), change{Retries, 3})
	spinUp, spinDown := a.both(spinning(study150(10)))

	loaded := study150(10)
	loaded.Think = 500 * time.Millisecond
	wide := loaded
	wide.Pool = 100
	few, many := a.run(loaded), a.run(wide)
	fewThrash, manyThrash := a.run(loaded, change{Inflation, 20_000}), a.run(wide, change{Inflation, 20_000})

	tight := busy(10)
	tight.Users = 210
	roomy := tight
	roomy.Pool = 15
	cliff10, cliff15 := a.run(tight), a.run(roomy)

	all := []relation.Relation{
		{
			Name: "row-log-costs", Says: "a log line a row makes requests nine times slower and takes two fifths of the throughput",
			Rows:      []string{"spatial.log.avg", "spatial.nolog.avg", "spatial.log.rps", "spatial.nolog.rps"},
			Published: "1393 against 152 ms, 24.40 against 42.56/s",
			Modelled:  fmt.Sprintf("%s; without lines %s", rows.says(), quiet10.says()),
			Verdict:   verdict(rows.Mean() > 5*quiet10.Mean() && rows.PerSec() < 0.7*quiet10.PerSec()),
			Why:       "the mean is fitted, by one sink that takes lines one by one in 0.4 ms each. A file takes them in 3 us, and then nothing happens",
		},
		{
			Name: "sink-or-cpu", Says: "the lines take CPU and block on output",
			Rows:      []string{"spatial.log.avg", "spatial.log.rps"},
			Published: "both are named, neither was measured",
			Modelled:  fmt.Sprintf("a sink %s; instead of it 0.7 ms of CPU a line %s", rows.says(), cpu.says()),
			Verdict:   flips(true, !near(cpu.Mean(), rows.Mean(), 0.1)),
			Why:       "any resource that takes some 41 ms a request gives the same means: they can't tell which it was",
		},
		{
			Name: "a-fifth-is-slow", Says: "with a line a row a fifth of the requests is slow",
			Rows:      []string{"spatial.log.slow_pct", "spatial.log.p95", "spatial.log.avg"},
			Published: "20.32 % slow, p95 6361 ms, mean 1393 ms, 24.40/s",
			Modelled:  fmt.Sprintf("a sink, steady: %s; a sink, ramp: %s; spinning on one host, ramp, 0.1 ms of CPU a line and no sink: %s (10 to 40 %% slow with %d of %d seeds)", rows.says(), rampRows.says(), spinRows.says(), aFifth, tries),
			Verdict:   flips(rows.Slow() < 0.4 || rampRows.Slow() < 0.4, aFifth > 0),
			Why:       "a queue for a sink makes nearly all slow. A fifth needs two states in one run: here an overload that keeps itself up once the ramp has tipped it, since those who wait take the cores from those who work",
		},
		{
			Name: "pool-step", Says: "fifteen connections instead of ten make requests fifteen times as fast",
			Rows:      []string{"spatial.nolog.avg", "spatial.pool15.avg", "spatial.nolog.rps", "spatial.pool15.rps"},
			Published: "152 to 10 ms, 42.56 to 46.27/s",
			Modelled: fmt.Sprintf("%.1f to %.1f ms; with half as much work again, ramp: %.1f to %.1f ms; and spinning on one host: %.0f to %.1f ms, %.1f to %.1f/s, a step with %d of %d seeds; spinning on another host: %.1f ms",
				quiet10.Mean(), quiet15.Mean(), park10.Mean(), park15.Mean(), spin10.Mean(), spin15.Mean(), spin10.PerSec(), spin15.PerSec(), steps, tries, apart10.Mean()),
			Verdict: flips(quiet10.Mean() > 2*quiet15.Mean() || park10.Mean() > 2*park15.Mean(), steps > 0),
			Why:     "requests of 10 ms keep half a connection busy, so nobody waits for one of ten. A step needs requests that spin while they wait, on the cores that they wait for, and work in a narrow range: less never tips, more tips at fifteen as well. HikariCP's callers sleep",
		},
		{
			Name: "spin-burns", Says: "threads that fight for ten connections burn CPU",
			Rows:      []string{"spatial.pool10.cpu_peak", "spatial.pool15.cpu_peak"},
			Published: "peak 79 %, with fifteen 33 %",
			Modelled: fmt.Sprintf("mean %.0f %% with ten and %.0f %% with fifteen; spinning, with half as much work again %.0f %% and %.0f %%",
				100*rampQuiet.busy(cores), 100*quiet15.busy(cores), 100*spin10.busy(cores), 100*spin15.busy(cores)),
			Verdict: flips(rampQuiet.busy(cores) > 1.2*quiet15.busy(cores), spin10.busy(cores) > 1.2*spin15.busy(cores)),
			Why:     "the same assumptions as for the step; who sleeps burns nothing",
		},
		{
			Name: "pool-cliff", Says: "a pool that is a third too small is a cliff",
			Rows:      []string{"spatial.nolog.avg", "spatial.pool15.avg"},
			Published: "15 times",
			Modelled:  fmt.Sprintf("210 users, connections held 100 ms without CPU: %.0f ms with ten, %.0f ms with fifteen, %.1f times", cliff10.Mean(), cliff15.Mean(), cliff10.Mean()/cliff15.Mean()),
			Verdict:   verdict(cliff10.Mean() > 3*cliff15.Mean()),
			Why:       "between the knees at P (Z + S) / S, for a hold that is ten times the published request. Fifteen times needs Z/S about 40",
		},
		{
			Name: "larger-pool-hurts", Says: "the author expected a larger pool to hurt, by context switches",
			Rows:      []string{"spatial.pool10.cpu_peak"},
			Published: "CPU near 80 %; no figures",
			Modelled: fmt.Sprintf("150 users who think 0.5 s: %.0f to %.0f ms with 10 and 100 connections; if a job beyond the cores costs 2 %%: %.0f to %.0f ms, %.0f to %.0f/s",
				few.Mean(), many.Mean(), fewThrash.Mean(), manyThrash.Mean(), fewThrash.PerSec(), manyThrash.PerSec()),
			Verdict: flips(many.Mean() > 1.1*few.Mean(), manyThrash.Mean() > 1.1*fewThrash.Mean()),
			Why:     "it rests on what a switch costs. Without a cost the pool only decides where requests wait",
		},
		{
			Name: "creep", Says: "response time crept up during the run with ten connections",
			Rows:      []string{"spatial.nolog.avg"},
			Published: "no figures",
			Modelled: fmt.Sprintf("the same load, come up and come down: %.0f and %.0f ms; two connections a request %.0f and %.0f ms; given up at 0.5 s and asked again up to three times %.0f and %.0f ms; spinning %.0f and %.0f ms",
				up.Mean(), down.Mean(), nestedUp.Mean(), nestedDown.Mean(), retryUp.Mean(), retryDown.Mean(), spinUp.Mean(), spinDown.Mean()),
			Verdict: flips(down.Mean() > 1.5*up.Mean(), nestedDown.Mean() > 1.5*nestedUp.Mean() || retryDown.Mean() > 1.5*retryUp.Mean() || spinDown.Mean() > 1.5*spinUp.Mean()),
			Why:     "a queue alone forgets. Each of the three feedbacks makes an overload stay, and the study names none but spinning",
		},
		{
			Name: "half-the-users", Says: "150 users made the load",
			Rows:      []string{"spatial.vus", "spatial.pool15.rps", "spatial.pool15.avg"},
			Published: "46.27/s of 10 ms",
			Modelled:  fmt.Sprintf("73 users all the time %.1f/s; 150 who come and go evenly %.1f/s; 150 all the time %.1f/s", quiet15.PerSec(), rampQuiet.PerSec(), all150.PerSec()),
			Verdict:   flips(near(rampQuiet.PerSec(), 46.27, 0.1), near(all150.PerSec(), 46.27, 0.1)),
			Why:       "with the think time on which the rows agree, 1.5 to 1.6 s, it was half of them in the mean: a ramp. With 150 all the time they would think 3.2 s in one row and 4.8 s in another",
		},
		{
			Name: "gauge-reads-zero", Says: "the gauge of the pool reads zero between requests, since users think",
			Rows:      []string{"spatial.pool15.usage_peak"},
			Published: "20 % at its peak",
			Modelled:  fmt.Sprintf("%.0f %% of the samples find no connection in use, and %.1f %% of the pool's time is used", 100*quiet15.Zero, 100*quiet15.PoolUse),
			Verdict:   verdict(quiet15.Zero > 0.5),
			Why:       "half a connection in the mean is none for more than half of the time",
		},
	}
	return all, a.err
}

func near(is, want, tolerance float64) bool {
	return is >= want*(1-tolerance) && is <= want*(1+tolerance)
}

// both runs a setup come up and come down.
func (a *asks) both(s Setup, changes ...change) (up, down Figures) {
	up = a.run(s, changes...)
	s.Approach = Down
	return up, a.run(s, changes...)
}

// study150 is the load with all users there all the time.
func study150(pool int) Setup { return Setup{Users: 150, Think: think, Pool: pool} }

// busy keeps a connection for 100 ms that are no CPU.
func busy(pool int) Setup {
	s := study150(pool)
	s.Hold, s.HoldFor = spatial.HoldSleep, 100*time.Millisecond
	return s
}

// nested takes a second connection for guides.
func nested(pool int) Setup {
	s := busy(pool)
	s.Guides, s.Nested, s.Timeout = true, true, 5*time.Second
	return s
}

// impatient gives up after half a second.
func impatient(pool int) Setup {
	s := busy(pool)
	s.Timeout = 500 * time.Millisecond
	return s
}
