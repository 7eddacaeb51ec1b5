package sim_test

import (
	"context"
	"math"
	"testing"
	"time"

	"latlab.example/common/laws"
	"latlab.example/common/metrics"
	"latlab.example/common/sim"
)

const seeds = 20

// t99 is the quantile 0.995 of Student's t with 19 degrees of freedom: a mean of
// 20 runs is off by more than t99 standard errors in 1 % of cases.
const t99 = 2.861

// agree holds the means of 20 independent runs against what theory says: theory
// must lie in their 99 % interval, and the interval must be narrow enough to mean
// something: within so much of theory.
func agree[T any](t *testing.T, what string, theory, within float64, runs []T, of func(T) float64) {
	t.Helper()
	var sum, squares float64
	for _, r := range runs {
		v := of(r)
		sum += v
		squares += v * v
	}
	m := sum / seeds
	half := t99 * math.Sqrt(max(squares/seeds-m*m, 0)/(seeds-1))
	if math.Abs(m-theory) > half {
		t.Errorf("%s: %.6g in theory, %.6g +- %.2g in %d runs", what, theory, m, half, seeds)
	}
	if half > within*theory && shorter == 1 {
		t.Errorf("%s: %.6g +- %.2g says too little: want it within %.1f %%", what, m, half, 100*within)
	}
	t.Logf("%s: %.6g in theory, %.6g +- %.2g (%.1f %%)", what, theory, m, half, 100*half/theory)
}

const ms = time.Millisecond

// one is a set of one stage.
var one = metrics.NewStageSet("one", "whole")

const whole metrics.Stage = 0

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open gives the usage of an open station in each run.
func open(t *testing.T, cpu func(*sim.Sim) *sim.CPU, between, service sim.Dist, length time.Duration) []sim.Usage {
	t.Helper()
	return runs(t, func(s *sim.Sim) (usage func() sim.Usage) {
		c := cpu(s)
		s.Arrivals("request", between, func(p *sim.Proc) { c.Use(p, p.Draw(service)) })
		return c.Usage
	}, 10*time.Second, length)
}

// runs runs a model with 20 seeds, and takes of each what it is to measure.
func runs[T any](t *testing.T, model func(*sim.Sim) func() T, warm, length time.Duration) []T {
	t.Helper()
	all := make([]T, seeds)
	for i := range all {
		s := sim.New(uint64(i) + 1)
		result := model(s)
		check(t, s.Run(context.Background(), warm, length/shorter))
		all[i] = result()
	}
	return all
}

func queued(cores int) func(*sim.Sim) *sim.CPU {
	return func(s *sim.Sim) *sim.CPU { return s.QueuedCPU("cores", cores) }
}

func shared(cores int) func(*sim.Sim) *sim.CPU {
	return func(s *sim.Sim) *sim.CPU { return s.SharedCPU("cores", cores) }
}

func TestMMc(t *testing.T) {
	for _, tt := range []struct {
		name    string
		servers int
		between time.Duration
	}{
		{"M/M/1", 1, 10 * ms},
		{"M/M/3", 3, 3 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			between, service := sim.Exponential(tt.between), sim.Exponential(7*ms)
			theory := laws.MMC{Servers: tt.servers, PerSec: 1 / tt.between.Seconds(), Service: 0.007}
			wait, err := theory.Wait()
			check(t, err)
			p90, err := theory.WaitQuantile(0.9)
			check(t, err)

			length := 40_000 * tt.between
			u := open(t, queued(tt.servers), between, service, length)
			agree(t, "wait", wait, 0.06, u, waitOf)
			agree(t, "utilisation", theory.PerSec*theory.Service/float64(tt.servers), 0.01, u, sim.Usage.Utilisation)
			agree(t, "number waiting", theory.PerSec*wait, 0.06, u, sim.Usage.Waiting)
			u = open(t, shared(tt.servers), between, service, length)
			agree(t, "response with shared cores", wait+theory.Service, 0.04, u, holdOf)

			// A pool, whose holders sleep, is the same station.
			r := runs(t, func(s *sim.Sim) func() sim.Result {
				pool, f := s.Pool("servers", tt.servers), s.Flow(one)
				s.Arrivals("request", between, func(p *sim.Proc) {
					r := f.Begin()
					pool.Acquire(p)
					r.Lap(whole)
					r.Done()
					p.Sleep(p.Draw(service))
					pool.Release(p)
				})
				return f.Result
			}, 10*time.Second, length)
			agree(t, "p90 of the wait for a pool", p90, 0.05, r, func(r sim.Result) float64 { return float64(r.Response.Quantile(0.9)) / 1e9 })
		})
	}
}

// The formula of Pollaczek and Khinchine: a queued server makes wait in the mean
// lambda E[S^2] / (2 (1 - rho)) (Kleinrock 1975, section 5.6). A shared one has a
// mean response of E[S] / (1 - rho), whatever the distribution (Kleinrock 1976,
// section 4.4).
func TestMG1(t *testing.T) {
	hitsAndMisses := sim.Mixture(sim.Part{Weight: 9, Dist: sim.Constant(2 * ms)}, sim.Part{Weight: 1, Dist: sim.Exponential(40 * ms)})
	median, p95 := 5*ms, 15*ms
	sigma := math.Log(float64(p95)/float64(median)) / 1.6448536269514727
	logMean := median.Seconds() * math.Exp(sigma*sigma/2)
	for _, tt := range []struct {
		name         string
		service      sim.Dist
		mean, square float64
	}{
		{"M/D/1", sim.Constant(7 * ms), 0.007, 0.007 * 0.007},
		{"M/G/1, log-normal", sim.LogNormal(median, p95), logMean, logMean * logMean * math.Exp(sigma*sigma)},
		{"M/G/1, hits and misses", hitsAndMisses, 0.9*0.002 + 0.1*0.04, 0.9*0.002*0.002 + 0.1*2*0.04*0.04},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const perSec = 100
			rho := perSec * tt.mean
			between := sim.Exponential(time.Second / perSec)
			u := open(t, queued(1), between, tt.service, 400*time.Second)
			agree(t, "wait, queued", perSec*tt.square/(2*(1-rho)), 0.05, u, waitOf)
			u = open(t, shared(1), between, tt.service, 400*time.Second)
			agree(t, "response, shared", tt.mean/(1-rho), 0.04, u, holdOf)
		})
	}
}

// The machine repairman, below and beyond saturation.
func TestRepairman(t *testing.T) {
	for _, tt := range []struct {
		name  string
		users int
		cpu   func(*sim.Sim) *sim.CPU
		cores int
	}{
		{"60 users, queued", 60, queued(2), 2},
		{"60 users, shared", 60, shared(2), 2},
		{"150 users, queued", 150, queued(2), 2},
		{"150 users, shared", 150, shared(2), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			think, service := 1500*ms, 25*ms
			perSec, response, err := laws.Repairman(tt.users, think.Seconds(), service.Seconds(), tt.cores)
			check(t, err)
			r := runs(t, func(s *sim.Sim) func() sim.Result {
				c, f := tt.cpu(s), s.Flow(one)
				s.Users(tt.users, sim.Exponential(think), func(p *sim.Proc) {
					r := f.Begin()
					c.Use(p, p.Draw(sim.Exponential(service)))
					r.Lap(whole)
					r.Done()
				})
				return f.Result
			}, 30*time.Second, 400*time.Second)
			agree(t, "requests a second", perSec, 0.01, r, sim.Result.PerSec)
			agree(t, "response", response, 0.03, r, func(r sim.Result) float64 { return r.Response.Mean() / 1e9 })
			agree(t, "in flight", perSec*response, 0.03, r, func(r sim.Result) float64 { return r.InFlight })
		})
	}
}

// A network of three stations, against its exact solution: a shared CPU, a device
// with four channels, and a link.
func TestClosedNetwork(t *testing.T) {
	want, err := laws.Closed{Users: 40, Think: 0.1, Stations: []laws.Station{
		{Name: "cpu", Demand: 0.004, Servers: 1},
		{Name: "device", Demand: 0.012, Servers: 4},
		{Name: "link", Demand: 0.005, Servers: laws.Unlimited},
	}}.Solve()
	check(t, err)
	type point struct{ perSec, response, depth float64 }
	got := runs(t, func(s *sim.Sim) func() point {
		cpu := s.SharedCPU("cpu", 1)
		device := s.Device("device", 4, sim.Exponential(12*ms), 0)
		link := s.Link("link", sim.Exponential(5*ms), 0)
		f := s.Flow(one)
		s.Users(40, sim.Exponential(100*ms), func(p *sim.Proc) {
			r := f.Begin()
			cpu.Use(p, p.Draw(sim.Exponential(4*ms)))
			device.Do(p, 0)
			link.Send(p, 0)
			r.Lap(whole)
			r.Done()
		})
		return func() point {
			r := f.Result()
			return point{r.PerSec(), r.Response.Mean() / 1e9, device.Depth()}
		}
	}, 5*time.Second, 100*time.Second)
	agree(t, "requests a second", want.PerSec, 0.01, got, func(p point) float64 { return p.perSec })
	agree(t, "response", want.Response, 0.02, got, func(p point) float64 { return p.response })
	agree(t, "depth of the device", want.Stations[1].InFlight, 0.03, got, func(p point) float64 { return p.depth })
}

func waitOf(u sim.Usage) float64 { return u.Wait().Seconds() }
func holdOf(u sim.Usage) float64 { return u.Hold().Seconds() }
