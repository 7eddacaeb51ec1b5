package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/laws"
	"latlab.example/common/load"
	"latlab.example/common/metrics"
)

const ms = time.Millisecond

// takes is a server of unlimited capacity.
func takes(d time.Duration) load.Func {
	return func(ctx context.Context, _ load.Request) error { return emu.Wait(ctx, emu.Sleep, d) }
}

// queue is a server with so many places, where a request takes what draw says.
func queue(places int, draw func(load.Request) time.Duration) load.Func {
	free := make(chan struct{}, places)
	return func(ctx context.Context, r load.Request) error {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-free }()
		return emu.Wait(ctx, emu.Sleep, draw(r))
	}
}

// exponential draws from the request's seed.
func exponential(mean time.Duration) func(load.Request) time.Duration {
	return func(r load.Request) time.Duration {
		return time.Duration(float64(mean) * rand.New(rand.NewPCG(r.Seed, 0)).ExpFloat64())
	}
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, relative)
	}
}

func closed(t *testing.T, c load.Closed, do load.Func) load.Report {
	t.Helper()
	rep, err := c.Run(t.Context(), do)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func open(t *testing.T, o load.Open, do load.Func) load.Report {
	t.Helper()
	rep, err := o.Run(t.Context(), do)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := closed(t, load.Closed{
			Users: load.Hold(150, 60*time.Second), Think: emu.Constant(1490 * ms),
			Options: load.Options{Window: load.Window{From: 15 * time.Second, To: 60 * time.Second}},
		}, takes(10*ms))
		if rep.Success != 150*30 || rep.Before != 150*10 || rep.After != 150*0 {
			t.Errorf("%d counted, %d before, %d after; want 4500, 1500, 0", rep.Success, rep.Before, rep.After)
		}
		near(t, "rate", rep.PerSec(), 100, 1e-9)
		near(t, "in flight", rep.InFlight(), 1, 1e-9)
		near(t, "users", rep.Users(), 150, 1e-9)
		if rep.Service.Max() != int64(10*ms) || rep.Response.Min() != int64(10*ms) || rep.Lag.Max() != 0 {
			t.Errorf("service %v, response %v, lag %v", rep.Service.Max(), rep.Response.Min(), rep.Lag.Max())
		}
		if rep.Stopped != "schedule" || rep.MaxInFlight != 150 {
			t.Errorf("stopped by %s, %d in flight", rep.Stopped, rep.MaxInFlight)
		}
	})
}

// The users' schedule: one more each second, a plateau, one less each second.
func TestRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying atomic.Int64
		var seen [30]int64
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for s := range seen {
				// Requests end at whole milliseconds, so look between two.
				time.Sleep(500*ms + ms/2)
				seen[s] = flying.Load()
				time.Sleep(500*ms - ms/2)
			}
		})
		rep := closed(t, load.Closed{Users: load.Schedule{{For: 10 * time.Second, To: 10}, {For: 10 * time.Second, To: 10}, {For: 10 * time.Second, To: 0}}},
			func(ctx context.Context, r load.Request) error {
				flying.Add(1)
				defer flying.Add(-1)
				return takes(ms)(ctx, r)
			})
		watcher.Wait()
		for s := range 10 {
			if up, flat, down := seen[s], seen[s+10], seen[s+20]; up != int64(s) || flat != 10 || down != int64(9-s) {
				t.Errorf("second %d: %d going up, %d on the plateau, %d going down; want %d, 10, %d", s, up, flat, down, s, 9-s)
			}
		}
		// User i, from 1 on, is there from second i to second 30-i.
		near(t, "user seconds", rep.Little.Active.Seconds(), 190, 1e-9)
	})
}

// A user who has left comes back when the schedule rises again.
func TestUserComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		s := load.Schedule{{0, 1}, {10 * time.Second, 1}, {0, 0}, {10 * time.Second, 0}, {0, 1}, {10 * time.Second, 1}}
		rep := closed(t, load.Closed{Users: s, Think: emu.Constant(4 * time.Second)}, func(context.Context, load.Request) error {
			at = append(at, time.Since(begin))
			return nil
		})
		want := []time.Duration{0, 4e9, 8e9, 20e9, 24e9, 28e9}
		if !slices.Equal(at, want) {
			t.Errorf("requests at %v, want %v", at, want)
		}
		if rep.Little.Active != 20*time.Second {
			t.Errorf("the user was active for %v, want 20 s", rep.Little.Active)
		}
	})
}

func TestStops(t *testing.T) {
	t.Run("count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			rep := closed(t, load.Closed{Users: load.Hold(4, time.Hour), PerUser: 25, Think: emu.Constant(90 * ms)}, takes(10*ms))
			if rep.Success != 100 || rep.Stopped != "count" {
				t.Errorf("%d requests, stopped by %s", rep.Success, rep.Stopped)
			}
			if d := time.Since(begin); d != 24*100*ms+10*ms || rep.To != d {
				t.Errorf("took %v, the window ends at %v", d, rep.To)
			}
		})
	})
	t.Run("count of arrivals", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rep := open(t, load.Open{Arrivals: load.Even(load.Hold(10, time.Hour)), Requests: 30}, takes(ms))
			if rep.Success != 30 || rep.Stopped != "count" || rep.To != 2901*ms {
				t.Errorf("%d requests, stopped by %s at %v", rep.Success, rep.Stopped, rep.To)
			}
		})
	})
	// Requests take 40 ms, and one is in flight when the context ends.
	t.Run("context", func(t *testing.T) {
		for name, run := range map[string]func(context.Context) (load.Report, error){
			"closed": func(ctx context.Context) (load.Report, error) {
				return load.Closed{Users: load.Hold(1, time.Hour)}.Run(ctx, takes(40*ms))
			},
			"open": func(ctx context.Context) (load.Report, error) {
				return load.Open{Arrivals: load.Even(load.Hold(25, time.Hour))}.Run(ctx, takes(40*ms))
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second+10*ms)
				defer cancel()
				rep, err := run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if rep.Success != 25 || rep.After != 1 || rep.Cancelled != 0 || rep.Stopped != "context" {
					t.Errorf("%s: %d successes, %d after, %d cancelled, stopped by %s", name, rep.Success, rep.After, rep.Cancelled, rep.Stopped)
				}
				near(t, name+": in flight", rep.InFlight(), 1, 1e-6)
			})
		}
	})
	t.Run("before it began", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			rep, err := load.Open{Arrivals: load.Even(load.Hold(10, time.Second))}.Run(ctx, takes(ms))
			if err != nil || rep.Completed() != 0 || rep.Stopped != "context" || rep.PerSec() != 0 {
				t.Errorf("got %+v, %v", rep, err)
			}
		})
	})
	t.Run("grace without end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := load.Options{Grace: math.MaxInt64}
			rep := closed(t, load.Closed{Users: load.Hold(1, time.Second), Options: o}, takes(2*time.Second))
			if rep.Success != 1 || rep.Cancelled != 0 {
				t.Errorf("%d successes, %d cancelled", rep.Success, rep.Cancelled)
			}
		})
	})
	// The server hangs: the grace ends the run, and the hang is counted.
	t.Run("grace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			rep := closed(t, load.Closed{Users: load.Hold(3, time.Second), Options: load.Options{Grace: 5 * time.Second}}, takes(time.Hour))
			if d := time.Since(begin); d != 6*time.Second || rep.Cancelled != 3 {
				t.Errorf("took %v, %d cancelled", d, rep.Cancelled)
			}
		})
	})
}

// The window is of completion times, and half open.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := open(t, load.Open{
			Arrivals: load.Even(load.Hold(10, 10*time.Second)),
			Options:  load.Options{Window: load.Window{From: 2 * time.Second, To: 8 * time.Second}},
		}, takes(500*ms))
		// Those of 1.5 s to 7.4 s complete at 2.0 s to 7.9 s.
		if rep.Before != 15 || rep.Success != 60 || rep.After != 25 {
			t.Errorf("%d before, %d in, %d after; want 15, 60, 25", rep.Before, rep.Success, rep.After)
		}
		if rep.Offered != 60 || rep.From != 2*time.Second || rep.To != 8*time.Second {
			t.Errorf("%d were due from %v to %v", rep.Offered, rep.From, rep.To)
		}
		near(t, "rate", rep.PerSec(), 10, 1e-12)
		near(t, "in flight", rep.InFlight(), 5, 1e-12)
		var all uint64
		for i, s := range rep.Seconds {
			all += s.Success
			if want := uint64(10); i > 0 && i < 10 && (s.Success != want || s.P95 < int64(498*ms) || s.Mean != float64(500*ms)) {
				t.Errorf("second %+v", s)
			}
		}
		if all != 100 {
			t.Errorf("the series has %d requests, want all 100", all)
		}
	})
}

var errBusy = errors.New("busy")

func TestErrorsByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := []error{
			nil, fmt.Errorf("server: %w", errBusy), context.DeadlineExceeded, context.Canceled,
			errors.New("odd"), fmt.Errorf("read: %w", context.DeadlineExceeded), nil, nil, nil, errBusy,
		}
		rep := open(t, load.Open{
			Arrivals: load.Even(load.Hold(10, 10*time.Second)),
			Options:  load.Options{Kinds: []load.Kind{{Name: "busy", Err: errBusy}}},
		}, func(ctx context.Context, r load.Request) error {
			err := outcomes[r.N%10]
			if err == nil {
				return takes(20*ms)(ctx, r)
			}
			return errors.Join(err, takes(ms)(ctx, r))
		})
		want := []load.ErrorCount{{"busy", 20, "server: busy"}, {"other", 10, "odd"}, {"timeout", 20, "context deadline exceeded"}}
		if !slices.Equal(rep.Errors, want) {
			t.Errorf("errors %v, want %v", rep.Errors, want)
		}
		if rep.Success != 40 || rep.Cancelled != 10 || rep.Failures() != 50 || rep.Completed() != 100 {
			t.Errorf("%d successes, %d cancelled, %d failures", rep.Success, rep.Cancelled, rep.Failures())
		}
		if rep.Response.Min() != int64(20*ms) || rep.Failed.Max() != int64(ms) || rep.Failed.Count() != 60 {
			t.Errorf("responses of successes from %d, of failures to %d", rep.Response.Min(), rep.Failed.Max())
		}
	})
}

// A request takes 100 ms and 10 may be in flight. At 100/s each slot is free
// again at the very moment of the next arrival; at 125/s ten of 13 find room.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		dropped uint64
	}{{50, 0}, {100, 0}, {125, 288}} {
		for range 5 {
			synctest.Test(t, func(t *testing.T) {
				rep := open(t, load.Open{Arrivals: load.Even(load.Hold(c.rate, 10*time.Second)), MaxInFlight: 10}, takes(100*ms))
				if rep.Offered != uint64(c.rate*10) || rep.Dropped+rep.Success != rep.Offered || rep.MaxInFlight > 10 {
					t.Errorf("%v/s: %d offered, %d dropped, %d made, %d in flight", c.rate, rep.Offered, rep.Dropped, rep.Success, rep.MaxInFlight)
				}
				if rep.Dropped != c.dropped {
					t.Errorf("%v/s: %d dropped, want %d", c.rate, rep.Dropped, c.dropped)
				}
			})
		}
	}
}

// late is a generator that is held up: it releases in bursts, every 10 ms.
type late struct{ emu.Waiter }

func (l late) Until(ctx context.Context, t time.Time) error {
	return l.Waiter.Until(ctx, t.Truncate(10*ms).Add(10*ms))
}

// Response time counts from when a request was due, whatever the generator does.
func TestLagIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := open(t, load.Open{Arrivals: load.Even(load.Hold(1000, 5*time.Second)), Waiter: late{emu.Sleep}}, takes(3*ms))
		if rep.Success != 5000 {
			t.Errorf("%d requests, want all 5000: those that are late are made up for", rep.Success)
		}
		if rep.Service.Max() != int64(3*ms) || rep.Lag.Max() != int64(9*ms) || rep.Response.Max() != int64(12*ms) {
			t.Errorf("service %d, lag %d, response %d", rep.Service.Max(), rep.Lag.Max(), rep.Response.Max())
		}
		near(t, "mean response is service and lag", rep.Response.Mean(), rep.Service.Mean()+rep.Lag.Mean(), 1e-12)
	})
}

// A waiter that fails ends the run with its error; here Spin in a bubble.
func TestWaiterFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, err := load.Open{Arrivals: load.Even(load.Hold(10, time.Second)), Waiter: emu.Spin}.Run(t.Context(), takes(ms))
		if !errors.Is(err, emu.ErrBubble) || rep.Success != 1 {
			t.Errorf("got %d requests, %v", rep.Success, err)
		}
	})
}

// The server is fine but for a stall of two seconds. Of 10,000 arrivals in 100 s,
// 200 come during it, one each 10 ms, and wait for the rest of it. So 99 % wait
// for one second at most: the share q > 0.98 waits up to 100 s x (q - 0.98).
func TestStallAgainstClosedForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := open(t, load.Open{Arrivals: load.Even(load.Hold(100, 100*time.Second))}, stalls(50*time.Second, 52*time.Second))
		for _, q := range []float64{0.985, 0.99, 0.995, 0.999} {
			want := 100*(q-0.98) + 0.001
			near(t, fmt.Sprint("quantile ", q), float64(rep.Response.Quantile(q))/1e9, want, 0.01)
		}
		near(t, "median", float64(rep.Response.Quantile(0.5)), float64(ms), 0.005)
		near(t, "mean", rep.Response.Mean()/1e9, 0.001+0.02*1.005, 1e-3) // the waits are 0.01, 0.02, ... 2.00 s
	})
}

// stalls is a server that answers in a millisecond, but for a while answers no
// one until the while is over.
func stalls(from, to time.Duration) load.Func {
	begin := time.Now()
	return func(ctx context.Context, r load.Request) error {
		if now := time.Since(begin); now >= from && now < to {
			if err := emu.Sleep.Until(ctx, begin.Add(to)); err != nil {
				return err
			}
		}
		return emu.Wait(ctx, emu.Sleep, ms)
	}
}

// Poisson arrivals at one server that takes 1 ms each (M/D/1): the mean wait is
// rho S / (2 (1 - rho)), by Pollaczek and Khinchine.
func TestPoissonAgainstClosedForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := open(t, load.Open{Arrivals: load.Poisson(load.Hold(600, 200*time.Second)), Options: load.Options{Seed: 1}},
			queue(1, func(load.Request) time.Duration { return ms }))
		near(t, "mean response", rep.Response.Mean()/1e6, 1+0.6/(2*0.4), 0.02)
		near(t, "rate", rep.PerSec(), 600, 0.01)
	})
}

// Users with exponential think time at a pool: the machine repairman.
func TestClosedAgainstClosedForm(t *testing.T) {
	think, err := emu.CappedExponential(1500*ms, 60*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	p, err := laws.Closed{Users: 150, Think: 1.5, Stations: []laws.Station{{Name: "pool", Demand: 0.106, Servers: 10}}}.Solve()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		rep := closed(t, load.Closed{
			Users: load.Schedule{{For: 10 * time.Second, To: 150}, {For: 590 * time.Second, To: 150}}, Think: think,
			Options: load.Options{Seed: 3, Window: load.Window{From: 60 * time.Second, To: 600 * time.Second}},
		}, queue(10, exponential(106*ms)))
		near(t, "rate", rep.PerSec(), p.PerSec, 0.01)
		near(t, "response", rep.Response.Mean()/1e9, p.Response, 0.05)
		near(t, "in flight", rep.InFlight(), p.PerSec*p.Response, 0.05)
		near(t, "users", rep.Users(), 150, 1e-9)
		// The response-time law, from what was seen alone.
		z := laws.Think(laws.Exact(rep.Users()), laws.Exact(rep.PerSec()), laws.Exact(rep.Response.Mean()/1e9))
		near(t, "think time", z.Mid(), 1.5, 0.01)
	})
}

// The same seed gives the same report, byte for byte; another one doesn't.
func TestReplay(t *testing.T) {
	think, err := emu.Empirical(emu.Quantile{Percent: 0, Value: 20 * ms}, emu.Quantile{Percent: 100, Value: 200 * ms})
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]func(*testing.T, uint64) load.Report{
		"closed": func(t *testing.T, seed uint64) load.Report {
			return closed(t, load.Closed{
				Users: load.Schedule{{For: time.Second, To: 20}, {For: 4 * time.Second, To: 20}, {For: time.Second, To: 0}}, Think: think,
				Options: load.Options{Seed: seed, Window: load.Window{From: time.Second, To: 5 * time.Second}},
			}, queue(3, exponential(20*ms)))
		},
		"open": func(t *testing.T, seed uint64) load.Report {
			return open(t, load.Open{
				Arrivals: load.Poisson(load.Schedule{{For: 2 * time.Second, To: 200}, {For: 3 * time.Second, To: 100}}), MaxInFlight: 12,
				Options: load.Options{Seed: seed, Window: load.Window{From: time.Second}},
			}, queue(3, exponential(20*ms)))
		},
	}
	for name, run := range runs {
		var first []byte
		for i := range 21 {
			synctest.Test(t, func(t *testing.T) {
				rep := run(t, 7+uint64(i/20)) // the last one has another seed
				if rep.Success < 100 {
					t.Fatalf("%s: only %d requests", name, rep.Success)
				}
				rep.Seed = 0
				got, err := json.Marshal(rep)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case i == 0:
					first = got
				case i < 20 && !bytes.Equal(got, first):
					t.Fatalf("%s, run %d:\n%s\nthe first:\n%s", name, i, got, first)
				case i == 20 && bytes.Equal(got, first):
					t.Errorf("%s: another seed gives the same report", name)
				}
			})
		}
	}
}

// Little's law holds to the nanosecond, whatever the load and the window.
func TestLittleOnEveryReport(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 40 {
		opts := load.Options{Seed: uint64(i), Window: load.Window{From: time.Duration(rng.IntN(2000)) * ms}}
		if rng.IntN(2) == 0 {
			opts.Window.To = opts.Window.From + time.Duration(1+rng.IntN(3000))*ms
		}
		level := 1 + rng.Float64()*30
		s := load.Schedule{{For: time.Second, To: level}, {For: 2 * time.Second, To: level / 2}}
		places, mean := 1+rng.IntN(5), time.Duration(rng.IntN(300)+1)*ms
		until := time.Duration(500+rng.IntN(6000)) * ms
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), until)
			defer cancel()
			server := queue(places, exponential(mean)) // its channel belongs to the bubble
			var rep load.Report
			var err error
			if i%2 == 0 {
				rep, err = load.Closed{Users: s, Think: emu.Constant(50 * ms), Options: opts}.Run(ctx, server)
			} else {
				rep, err = load.Open{Arrivals: load.Poisson(s), Options: opts}.Run(ctx, server)
			}
			if err != nil {
				t.Fatal(err) // Run checks it
			}
			if n := rep.Completed(); n > 0 {
				r := laws.Exact(rep.Little.Service.Seconds() / float64(n))
				x := laws.Exact(float64(n) / (rep.To - rep.From).Seconds())
				edges := (rep.Little.After - rep.Little.Before).Seconds() / (rep.To - rep.From).Seconds()
				near(t, "N = X R", rep.InFlight(), laws.InFlight(x, r).Mid()+edges, 1e-9)
			}
			if rep.Little.InFlight < 0 || rep.InFlight() > float64(rep.MaxInFlight) {
				t.Errorf("%v in flight, at most %d", rep.InFlight(), rep.MaxInFlight)
			}
		})
	}
}

func TestCheckFindsABrokenReport(t *testing.T) {
	good := load.Report{Success: 1, Little: load.Little{InFlight: 5, Service: 7, Before: 3, After: 1}}
	h := metrics.NewHistogram()
	h.Record(7)
	good.Response, good.Lag = h.Snapshot(), h.Snapshot()
	if err := good.Check(); err != nil {
		t.Errorf("a good report: %v", err)
	}
	bad := good
	bad.Little.InFlight++
	if err := bad.Check(); !errors.Is(err, load.ErrLittle) {
		t.Errorf("time in flight from nowhere: got %v", err)
	}
	bad = good
	bad.Success++
	if err := bad.Check(); !errors.Is(err, load.ErrLittle) {
		t.Errorf("a success without a response time: got %v", err)
	}
}

// What a request draws depends on seed, user and number, nothing else.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		got := make(chan load.Request, 100)
		closed(t, load.Closed{Users: load.Hold(3, time.Hour), PerUser: 4, Think: emu.Constant(ms)}, func(_ context.Context, r load.Request) error {
			got <- r
			return nil
		})
		close(got)
		seeds := map[uint64]bool{}
		next := map[int]int{}
		for r := range got {
			if r.N != next[r.User] || r.Intended.Sub(begin) != time.Duration(r.N)*ms {
				t.Errorf("request %+v", r)
			}
			next[r.User]++
			seeds[r.Seed] = true
		}
		if len(seeds) != 12 || !reflect.DeepEqual(next, map[int]int{0: 4, 1: 4, 2: 4}) {
			t.Errorf("%d seeds, requests of users %v", len(seeds), next)
		}
	})
}

func TestReportText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep := open(t, load.Open{Arrivals: load.Even(load.Hold(10, 2*time.Second)), MaxInFlight: 100}, func(ctx context.Context, r load.Request) error {
			if r.N == 3 {
				return errBusy
			}
			if r.N == 4 {
				return context.Canceled
			}
			return takes(250*ms)(ctx, r)
		})
		var b strings.Builder
		if err := rep.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
		if err := rep.WriteSeconds(&b); err != nil {
			t.Fatal(err)
		}
		want := `load       open even(0s:10,2s:10) at most 100 in flight, seed 0; stopped by schedule
counted    completions from 0s to 2.15s; cut: 0 before, 0 after
success    18 of 20, 8.372/s
error      1 x other, first: busy
cancelled  1
arrivals   20 due, 0 dropped
in flight  2.093 on average; by Little's law 9.302/s x 225ms, edges +0

            count   mean    p50    p95    p99    max
  response     18  250ms  250ms  250ms  250ms  250ms
   service     18  250ms  250ms  250ms  250ms  250ms
    failed      2     0s     0s     0s     0s     0s
       lag     20     0s     0s     0s     0s     0s

  second  success  errors   mean    p95
       0        6       1  250ms  250ms
       1       10       0  250ms  250ms
       2        2       0  250ms  250ms
`
		if got := b.String(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		data, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		var back load.Report
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(back); !bytes.Equal(data, again) {
			t.Errorf("JSON doesn't round-trip:\n%s\n%s", data, again)
		}
	})
}

func TestRefuses(t *testing.T) {
	good := load.Hold(1, time.Second)
	for name, l := range map[string]interface {
		Run(context.Context, load.Func) (load.Report, error)
	}{
		"no users":           load.Closed{},
		"half a user":        load.Closed{Users: load.Hold(0.5, time.Second)},
		"too many users":     load.Closed{Users: load.Hold(1e7, time.Second)},
		"minus requests":     load.Closed{Users: good, PerUser: -1},
		"no time":            load.Closed{Users: load.Schedule{{0, 5}}},
		"minus time":         load.Closed{Users: load.Schedule{{-1, 5}}},
		"no level":           load.Closed{Users: load.Hold(0, time.Second)},
		"no number":          load.Closed{Users: load.Hold(math.NaN(), time.Second)},
		"no arrivals":        load.Open{},
		"endless rate":       load.Open{Arrivals: load.Even(load.Hold(math.Inf(1), time.Second))},
		"minus rate":         load.Open{Arrivals: load.Poisson(load.Hold(-1, time.Second))},
		"minus bound":        load.Open{Arrivals: load.Even(good), MaxInFlight: -1},
		"window":             load.Closed{Users: good, Options: load.Options{Window: load.Window{From: 2, To: 1}}},
		"window before":      load.Closed{Users: good, Options: load.Options{Window: load.Window{From: -1}}},
		"minus grace":        load.Closed{Users: good, Options: load.Options{Grace: -1}},
		"kind without name":  load.Closed{Users: good, Options: load.Options{Kinds: []load.Kind{{"", errBusy}}}},
		"kind without error": load.Closed{Users: good, Options: load.Options{Kinds: []load.Kind{{"x", nil}}}},
		"kind taken":         load.Closed{Users: good, Options: load.Options{Kinds: []load.Kind{{"timeout", errBusy}}}},
		"kind twice":         load.Closed{Users: good, Options: load.Options{Kinds: []load.Kind{{"x", errBusy}, {"x", errBusy}}}},
	} {
		if _, err := l.Run(t.Context(), takes(0)); !errors.Is(err, load.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
