package sim_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"go.uber.org/goleak"

	"latlab.example/common/sim"
)

// In WebAssembly the runtime has a goroutine of its own for events of the host.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// run runs what model starts for a virtual hour at most.
func run(model func(s *sim.Sim)) error {
	s := sim.New(1)
	model(s)
	return s.Run(context.Background(), 0, time.Hour)
}

// log collects what processes do, with the time.
type log []string

func (l *log) add(p *sim.Proc, what string) {
	*l = append(*l, fmt.Sprintf("%v %v %s", p.Now(), p, what))
}

func (l log) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(l, lines) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(l, "\n  "), strings.Join(lines, "\n  "))
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	var l log
	check(t, run(func(s *sim.Sim) {
		s.Go("slow", func(p *sim.Proc) {
			p.Sleep(2 * ms)
			l.add(p, "slept")
			p.Sim().Go("child", func(p *sim.Proc) { l.add(p, "born") })
			p.Sleep(0) // lets the child go first
			l.add(p, "ends")
		})
		s.Go("fast", func(p *sim.Proc) {
			for range 2 {
				p.Sleep(ms)
				l.add(p, "slept")
			}
		})
		s.At(2*ms, func() { l = append(l, "at "+s.Now().String()) })
	}))
	// At 2 ms: events in the order in which they were scheduled.
	l.want(t, "1ms fast#2 slept", "at 2ms", "2ms slow#1 slept", "2ms fast#2 slept", "2ms child#3 born", "2ms slow#1 ends")
}

// Events come in the order of their times, and of scheduling within one instant.
func TestOrderOfEvents(t *testing.T) {
	property := func(delays []uint8) bool {
		type done struct {
			at time.Duration
			i  int
		}
		var got []done
		err := run(func(s *sim.Sim) {
			for i, d := range delays {
				s.Go("p", func(p *sim.Proc) {
					p.Sleep(time.Duration(d))
					got = append(got, done{p.Now(), i})
				})
			}
		})
		want := make([]done, len(delays))
		for i, d := range delays {
			want[i] = done{time.Duration(d), i}
		}
		// Those that don't sleep at all still go behind all others of instant 0.
		slices.SortStableFunc(want, func(a, b done) int { return int(a.at - b.at) })
		return err == nil && slices.Equal(got, want)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestEverySamplesUntilNothingIsLeft(t *testing.T) {
	var at []time.Duration
	s := sim.New(1)
	s.Go("work", func(p *sim.Proc) { p.Sleep(25 * ms) })
	s.Every(10*ms, func() { at = append(at, s.Now()) })
	check(t, s.Run(context.Background(), 0, time.Hour))
	if want := []time.Duration{10 * ms, 20 * ms, 30 * ms}; !slices.Equal(at, want) {
		t.Errorf("sampled at %v, want %v", at, want)
	}
}

func TestEndUnwindsProcesses(t *testing.T) {
	var l log
	s := sim.New(1)
	pool := s.Pool("pool", 1)
	for range 2 {
		s.Go("p", func(p *sim.Proc) {
			defer l.add(p, "unwound")
			pool.Acquire(p)
			defer pool.Release(p)
			p.Sleep(time.Hour)
			l.add(p, "never")
		})
	}
	s.Go("waits in its defer", func(p *sim.Proc) {
		defer p.Sleep(time.Second)
		p.Sleep(time.Hour)
	})
	// The waiter would panic as it releases what it doesn't hold, if it went on.
	check(t, s.Run(context.Background(), 0, time.Minute))
	l.want(t, "1m0s p#1 unwound", "1m0s p#2 unwound")
	if u := pool.Usage(); u.Ended != 0 || u.Inside() != 1 || u.Waiting() != 1 {
		t.Errorf("unwinding changed the result: %+v", u)
	}
	if s.Now() != time.Minute {
		t.Errorf("the run ended at %v, want 1m", s.Now())
	}
}

func TestContextEndsRun(t *testing.T) {
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	s := sim.New(1)
	s.Go("p", func(p *sim.Proc) {
		for {
			p.Sleep(ms)
			if p.Now() == time.Second {
				cancel(reason)
			}
		}
	})
	if err := s.Run(ctx, 0, time.Hour); !errors.Is(err, reason) || s.Now() > 3*time.Second {
		t.Errorf("%v at %v, want %q soon after 1 s", err, s.Now(), reason)
	}
}

func TestPanicNamesProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		body func(s *sim.Sim, p *sim.Proc)
		want string
	}{
		"its own": {func(*sim.Sim, *sim.Proc) { panic("oops") }, "process bad#1 at 1ms: oops"},
		"pool":    {func(s *sim.Sim, p *sim.Proc) { pools[s].Release(p) }, "bad#1 releases one of pool pool and holds none"},
		"lock":    {func(s *sim.Sim, p *sim.Proc) { locks[s].Release(p) }, "bad#1 releases lock lock and doesn't hold it"},
		"twice":   {func(s *sim.Sim, p *sim.Proc) { locks[s].Acquire(p); locks[s].Acquire(p) }, "bad#1 acquires lock lock and has it already"},
		"late":    {func(s *sim.Sim, _ *sim.Proc) { s.Pool("late", 1) }, "pool late made after Run began"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.New(1)
			pools[s], locks[s] = s.Pool("pool", 1), s.Lock("lock")
			s.Go("bad", func(p *sim.Proc) {
				p.Sleep(ms)
				tt.body(s, p)
			})
			s.Go("bystander", func(p *sim.Proc) { p.Sleep(time.Hour) })
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, tt.want) {
					t.Errorf("panic %.200q, want one with %q", r, tt.want)
				}
			}()
			_ = s.Run(context.Background(), 0, time.Hour)
			t.Error("no panic")
		})
	}
}

// What can't be is refused where it is made, with what and why.
func TestRefuses(t *testing.T) {
	zero := sim.Constant(0)
	for want, make := range map[string]func(s *sim.Sim){
		"CPU cores with 0 cores; it needs one":       func(s *sim.Sim) { s.SharedCPU("cores", 0) },
		"pool conns of 0; it needs one":              func(s *sim.Sim) { s.Pool("conns", 0) },
		"0 workers pool; it needs one":               func(s *sim.Sim) { s.Workers("pool", 0) },
		"device disk with 0 channels; it needs one":  func(s *sim.Sim) { s.Device("disk", 0, zero, 0) },
		"0 users; a closed loop needs one":           func(s *sim.Sim) { s.Users(0, zero, nil) },
		"a period of 0s; it must be positive":        func(s *sim.Sim) { s.Every(0, nil) },
		"IntN of a number that isn't positive":       func(s *sim.Sim) { s.Rand("r").IntN(0) },
		"p#1 asks CPU cores for 3h0m0s at once":      func(s *sim.Sim) { inside(s, s.SharedCPU("cores", 1), 3*time.Hour) },
		"longer than the clock runs":                 func(s *sim.Sim) { sendOver(s, s.Link("modem", zero, 1), 1<<62) },
		"waits for a turn on loop loop while it has": func(s *sim.Sim) { nestTurns(s, s.Loop("loop", 0)) },
		"with a check after each 0s":                 func(s *sim.Sim) { workUnchecked(s, s.Lock("gil"), s.SharedCPU("cores", 1)) },
		"Run was called twice":                       func(s *sim.Sim) { _ = s.Run(context.Background(), 0, 0) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, want) {
					t.Errorf("panic %.200q, want one with %q", r, want)
				}
			}()
			s := sim.New(1)
			make(s)
			_ = s.Run(context.Background(), 0, time.Second)
			t.Error("no panic")
		})
	}
}

func inside(s *sim.Sim, cpu *sim.CPU, work time.Duration) {
	s.Go("p", func(p *sim.Proc) { cpu.Use(p, work) })
}

func sendOver(s *sim.Sim, link *sim.Link, bytes int64) {
	s.Go("p", func(p *sim.Proc) { link.Send(p, bytes) })
}

func nestTurns(s *sim.Sim, loop *sim.Loop) {
	s.Go("p", func(p *sim.Proc) { loop.Run(p, func() { loop.Soon(p, nothing) }) })
}

func workUnchecked(s *sim.Sim, lock *sim.Lock, cpu *sim.CPU) {
	s.Go("p", func(p *sim.Proc) {
		lock.Acquire(p)
		lock.Work(p, cpu, ms, 0)
	})
}

var (
	pools = map[*sim.Sim]*sim.Pool{}
	locks = map[*sim.Sim]*sim.Lock{}
)

// A test that fails within a process ends as any test does.
func TestGoexitEndsRun(t *testing.T) {
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = run(func(s *sim.Sim) {
			s.Go("other", func(p *sim.Proc) { p.Sleep(time.Hour) })
			s.Go("exits", func(*sim.Proc) { runtime.Goexit() })
		})
		t.Error("Run returned")
	}()
	<-ended
}

// Processes that end are forgotten, and their coroutines are used again.
func TestShortLivedProcesses(t *testing.T) {
	s := sim.New(1)
	n := 0
	s.Arrivals("short", sim.Constant(ms), func(p *sim.Proc) {
		p.Sleep(500 * time.Microsecond)
		n++
	})
	most := 0
	s.Every(time.Second, func() { most = max(most, runtime.NumGoroutine()) })
	check(t, s.Run(context.Background(), 0, 20*time.Second))
	if n != 19_999 {
		t.Errorf("%d processes ended, want 19999", n)
	}
	if most > 50 {
		t.Errorf("%d goroutines at once for at most two processes", most)
	}
}

func TestNoAllocationsInSteadyState(t *testing.T) {
	s := sim.New(1)
	lock, pool, cpu := s.Lock("lock").Switch(5*ms, 0), s.Pool("pool", 3), s.SharedCPU("shared", 2)
	cores, loop, disk := s.QueuedCPU("queued", 2), s.Loop("loop", 0), s.Device("disk", 2, sim.Exponential(ms), 1e9)
	cost := sim.LogNormal(ms, 3*ms)
	s.Users(150, sim.Exponential(100*ms), func(p *sim.Proc) {
		pool.Acquire(p)
		cpu.Use(p, p.Draw(cost))
		pool.Release(p)
		lock.Acquire(p)
		lock.Work(p, cores, p.Draw(cost), time.Microsecond)
		lock.Release(p)
		disk.Do(p, 4096)
		loop.Run(p, nothing)
	})
	var objects, events [2]uint64
	for i := range objects {
		s.At(time.Duration(10+10*i)*time.Second, func() { objects[i], events[i] = mallocs(), s.Events() })
	}
	check(t, s.Run(context.Background(), 0, 21*time.Second))
	n, of := objects[1]-objects[0], events[1]-events[0]
	t.Logf("%d objects in %d events", n, of)
	if of < 10_000 || n > of/1000 { // the runtime may allocate a few of its own
		t.Errorf("%d objects in %d events, want none", n, of)
	}
}

func nothing() {}
