package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/metrics"
	"latlab.example/common/sim"
)

func TestPool(t *testing.T) {
	var l log
	s := sim.New(1)
	pool := s.Pool("pool", 2).Bound(2)
	start := func(name string, at, hold time.Duration, acquire func(p *sim.Proc) bool) {
		s.Go(name, func(p *sim.Proc) {
			p.Sleep(at)
			if !acquire(p) {
				l.add(p, "has none")
				return
			}
			l.add(p, "has one")
			p.Sleep(hold)
			pool.Release(p)
		})
	}
	patient := pool.Acquire
	within := func(d time.Duration) func(p *sim.Proc) bool {
		return func(p *sim.Proc) bool { return pool.AcquireFor(p, d) }
	}
	start("a", 0, 10*ms, patient)
	start("b", 0, 20*ms, patient)
	start("hasty", ms, ms, within(0))
	start("impatient", ms, ms, within(4*ms))
	start("c", 2*ms, 5*ms, patient)
	start("crowded out", 3*ms, ms, patient)
	start("lucky", 6*ms, ms, within(9*ms)) // its patience ends as c releases: c was first
	check(t, s.Run(context.Background(), 0, time.Second))
	l.want(t, "0s a#1 has one", "0s b#2 has one", "1ms hasty#3 has none", "3ms crowded out#6 has none",
		"5ms impatient#4 has none", "10ms c#5 has one", "15ms lucky#7 has none")
	u := pool.Usage()
	if u.Refused != 2 || u.GaveUp != 2 || u.Ended != 3 || u.MostWaited != 2 {
		t.Errorf("usage %+v", u)
	}
}

func TestReleaseForAnother(t *testing.T) {
	var l log
	check(t, run(func(s *sim.Sim) {
		pool := s.Pool("pool", 1)
		s.Go("owner", func(p *sim.Proc) {
			pool.Acquire(p)
			s.Go("helper", func(h *sim.Proc) {
				h.Sleep(ms)
				pool.Release(p)
			})
		})
		s.Go("next", func(p *sim.Proc) {
			pool.Acquire(p)
			l.add(p, "has it")
		})
	}))
	l.want(t, "1ms next#2 has it")
}

// Three jobs on a CPU of one core, and of two.
func TestCPU(t *testing.T) {
	for _, tt := range []struct {
		name string
		cpu  func(s *sim.Sim) *sim.CPU
		want []string
		busy float64 // utilisation
	}{
		{"queued, 1", queued(1), []string{"10ms a#1 done", "20ms b#2 done", "24ms c#3 done"}, 1},
		{"queued, 2", queued(2), []string{"10ms a#1 done", "10ms b#2 done", "14ms c#3 done"}, 24. / 28},
		// c: 4 of 12 ms; then a and b share what is left of theirs, 6 ms each.
		{"shared, 1", shared(1), []string{"12ms c#3 done", "24ms a#1 done", "24ms b#2 done"}, 1},
		{"shared, 2", shared(2), []string{"6ms c#3 done", "12ms a#1 done", "12ms b#2 done"}, 1},
		{"shared, 3", shared(3), []string{"4ms c#3 done", "10ms a#1 done", "10ms b#2 done"}, 24. / 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l log
			s := sim.New(1)
			cpu := tt.cpu(s)
			for _, job := range []struct {
				name string
				work time.Duration
			}{{"a", 10 * ms}, {"b", 10 * ms}, {"c", 4 * ms}} {
				s.Go(job.name, func(p *sim.Proc) {
					cpu.Use(p, job.work)
					l.add(p, "done")
				})
			}
			check(t, s.Run(context.Background(), 0, time.Second))
			l.want(t, tt.want...)
			if got := cpu.Usage().Utilisation(); got != tt.busy {
				t.Errorf("utilisation %v, want %v", got, tt.busy)
			}
		})
	}
}

// Whatever comes when: the cores do exactly the work that they were asked for, a
// job takes no less than its work, and the last one ends when a CPU that is never
// idle with work to do must end, give or take the rounding.
func TestCPUConservesWork(t *testing.T) {
	type load struct {
		Cores uint8
		Jobs  []struct{ After, Work uint16 }
	}
	for name, make := range map[string]func(int) func(*sim.Sim) *sim.CPU{"queued": queued, "shared": shared} {
		t.Run(name, func(t *testing.T) {
			property := func(l load) bool {
				s := sim.New(1)
				cores := int(l.Cores%4) + 1
				cpu := make(cores)(s)
				var work, idleUntil, last time.Duration
				ok := true
				for _, j := range l.Jobs {
					s.Go("job", func(p *sim.Proc) {
						p.Sleep(time.Duration(j.After))
						began := p.Now()
						cpu.Use(p, time.Duration(j.Work))
						last = max(last, p.Now())
						ok = ok && p.Now()-began >= time.Duration(j.Work)
					})
					work += time.Duration(j.Work)
					idleUntil = max(idleUntil, time.Duration(j.After))
				}
				if err := s.Run(context.Background(), 0, time.Second); err != nil {
					t.Log(err)
					return false
				}
				u := cpu.Usage()
				busy := time.Duration(u.Utilisation()*float64(u.Window)*float64(cores) + 0.5)
				// A job ends at a whole nanosecond, so a core may do nothing for less than one.
				slack := time.Duration(len(l.Jobs) * cores)
				return ok && busy >= work && busy <= work+slack &&
					(cores > 1 || last <= idleUntil+work+slack)
			}
			if err := quick.Check(property, &quick.Config{MaxCount: 300}); err != nil {
				t.Error(err)
			}
		})
	}
}

// The interpreter lock: who waits asks after 5 ms, and the holder gives up at its
// next check.
func TestLockSwitches(t *testing.T) {
	for _, tt := range []struct {
		name        string
		check, wake time.Duration
		held        bool // the first holder calls a library that keeps the lock
		cpu         func(*sim.Sim) *sim.CPU
		want        []string
	}{
		// Who is asked at 5 ms passes its next check at 5.1. So a works until 5.1,
		// b until 10.2, a until 15.3, b until 17.2, which is all, and a the rest.
		{"checks often", 100 * time.Microsecond, 0, false, queued(2), []string{"17.2ms b#2 done", "27ms a#1 done"}},
		{"on shared cores", 100 * time.Microsecond, 0, false, shared(2), []string{"17.2ms b#2 done", "27ms a#1 done"}},
		// Only the holder works, so one core is enough.
		{"one core", 100 * time.Microsecond, 0, false, shared(1), []string{"17.2ms b#2 done", "27ms a#1 done"}},
		// a works until 6, b until 12, a until 18.
		{"checks each 6 ms", 6 * ms, 0, false, queued(2), []string{"19ms b#2 done", "27ms a#1 done"}},
		{"a library call of 20 ms", 100 * time.Microsecond, 0, true, queued(2), []string{"20ms a#1 done", "27ms b#2 done"}},
		// a works until 5.1, b from 6.1 to 10.2 as the waiter's 5 ms don't wait for it,
		// a from 11.2 to 15.3, b from 16.3, a from 20.2.
		{"slow to wake up", 100 * time.Microsecond, ms, false, queued(2), []string{"19.2ms b#2 done", "31ms a#1 done"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l log
			s := sim.New(1)
			gil, cpu := s.Lock("gil").Switch(5*ms, tt.wake), tt.cpu(s)
			work := func(p *sim.Proc, d time.Duration, held bool) {
				gil.Acquire(p)
				if held {
					cpu.Use(p, d)
				} else {
					gil.Work(p, cpu, d, tt.check)
				}
				gil.Release(p)
				l.add(p, "done")
			}
			s.Go("a", func(p *sim.Proc) { work(p, 20*ms, tt.held) })
			s.Go("b", func(p *sim.Proc) { work(p, 7*ms, false) })
			check(t, s.Run(context.Background(), 0, time.Second))
			l.want(t, tt.want...)
		})
	}
}

// Without a switch interval nobody asks, and Check does nothing.
func TestLockIsHeldUntilReleased(t *testing.T) {
	var l log
	check(t, run(func(s *sim.Sim) {
		lock := s.Lock("lock")
		for i := range 3 {
			s.Go("p", func(p *sim.Proc) {
				p.Sleep(time.Duration(3 - i))
				lock.Acquire(p)
				p.Sleep(10 * ms)
				lock.Check(p)
				p.Sleep(10 * ms)
				l.add(p, "releases")
				lock.Release(p)
			})
		}
	}))
	l.want(t, "20.000001ms p#3 releases", "40.000001ms p#2 releases", "60.000001ms p#1 releases")
}

// A work under the lock that is cut while it queues for a core runs until its
// first check.
func TestLockCutWhileQueued(t *testing.T) {
	var l log
	s := sim.New(1)
	gil, cpu := s.Lock("gil").Switch(5*ms, 0), s.QueuedCPU("cpu", 1)
	s.Go("neighbour", func(p *sim.Proc) { cpu.Use(p, 30*ms) })
	s.Go("holder", func(p *sim.Proc) {
		gil.Acquire(p)
		gil.Work(p, cpu, 10*ms, 2*ms)
		gil.Release(p)
		l.add(p, "done")
	})
	s.Go("waiter", func(p *sim.Proc) {
		gil.Acquire(p)
		l.add(p, "has the lock")
		gil.Release(p)
	})
	check(t, s.Run(context.Background(), 0, time.Second))
	l.want(t, "32ms waiter#3 has the lock", "40ms holder#2 done")
}

// All that is ready runs before the loop breathes: what comes in during a round
// waits for all of it.
func TestLoop(t *testing.T) {
	var l log
	s := sim.New(1)
	loop := s.Loop("loop", ms)
	s.At(0, func() {})
	for range 3 {
		s.Go("build", func(p *sim.Proc) {
			loop.Run(p, func() { p.Sleep(10 * ms) })
			loop.Soon(p, func() { l.add(p, "soon") })
		})
	}
	s.Go("health", func(p *sim.Proc) {
		p.Sleep(2 * ms)
		loop.Run(p, func() { l.add(p, "answers") })
	})
	check(t, s.Run(context.Background(), 0, time.Second))
	// Poll until 1 ms, builds until 31 ms, poll until 32 ms. The first two builds
	// were ready again before that poll; health is noticed there.
	l.want(t, "32ms build#1 soon", "32ms build#2 soon", "32ms build#3 soon", "32ms health#4 answers")
	if loop.Longest() != 30*ms || loop.Rounds() != 2 {
		t.Errorf("%d rounds, the longest %v; want 2, 30ms", loop.Rounds(), loop.Longest())
	}
	if u := loop.Usage(); u.Ended != 7 {
		t.Errorf("%d callbacks, want 7", u.Ended)
	}
}

func TestDevice(t *testing.T) {
	for _, tt := range []struct {
		channels int
		perSec   int64
		want     time.Duration // for eight operations of 1 MB at once
	}{
		{1, 0, 80 * ms},
		{4, 0, 20 * ms},
		{8, 0, 10 * ms},
		{100, 0, 10 * ms},
		{8, 1e9, 18 * ms},   // 10 ms, then 8 MB one after another
		{1, 1e9, 88 * ms},   // the way isn't shared with anybody
		{100, 1e8, 90 * ms}, // the way is the limit
	} {
		t.Run(fmt.Sprintf("channels=%d,perSec=%d", tt.channels, tt.perSec), func(t *testing.T) {
			s := sim.New(1)
			disk := s.Device("disk", tt.channels, sim.Constant(10*ms), tt.perSec)
			batch := s.Group("op")
			var took time.Duration
			s.Go("caller", func(p *sim.Proc) {
				for range 8 {
					batch.Go(func(c *sim.Proc) { disk.Do(c, 1e6) })
				}
				batch.Wait(p)
				took = p.Now()
			})
			check(t, s.Run(context.Background(), 0, time.Second))
			if took != tt.want {
				t.Errorf("took %v, want %v", took, tt.want)
			}
		})
	}
}

func TestLink(t *testing.T) {
	var l log
	check(t, run(func(s *sim.Sim) {
		link := s.Link("link", sim.Constant(20*ms), 1e6)
		for range 2 {
			s.Go("p", func(p *sim.Proc) {
				link.Send(p, 10_000) // 10 ms on the wire
				l.add(p, "arrived")
			})
		}
	}))
	l.want(t, "30ms p#1 arrived", "40ms p#2 arrived")
}

func TestWorkers(t *testing.T) {
	var l log
	s := sim.New(1)
	workers := s.Workers("worker", 2).Bound(1)
	job := func(p *sim.Proc) {
		p.Sleep(10 * ms)
		l.add(p, "done")
	}
	s.Go("caller", func(p *sim.Proc) {
		for range 4 {
			if !workers.Submit(job) {
				l.add(p, "refused")
			}
		}
		if workers.Run(p, func() {}) {
			l.add(p, "not refused")
		}
		p.Sleep(15 * ms)
		workers.Run(p, func() { l.add(p, "runs") })
	})
	check(t, s.Run(context.Background(), 0, time.Second))
	l.want(t, "0s caller#1 refused", "10ms worker#2 done", "10ms worker#3 done", "15ms caller#1 runs", "20ms worker#4 done")
	if u := workers.Usage(); u.Refused != 2 || u.Ended != 4 || u.Wait() != 2500*time.Microsecond {
		t.Errorf("usage %+v, wait %v", u, u.Wait())
	}
}

func TestSignalIsForAll(t *testing.T) {
	var l log
	check(t, run(func(s *sim.Sim) {
		pulled := s.Signal("pulled")
		reader := func(p *sim.Proc) {
			given := pulled.Given()
			pulled.Wait(p)
			l.add(p, fmt.Sprintf("reads, was given %v", given))
		}
		s.Go("reader", reader)
		s.Go("reader", reader)
		s.Go("puller", func(p *sim.Proc) {
			p.Sleep(ms)
			pulled.Give()
			p.Sleep(ms)
			reader(p)
		})
	}))
	l.want(t, "1ms reader#1 reads, was given false", "1ms reader#2 reads, was given false", "2ms puller#3 reads, was given true")
}

// What happens before the window isn't counted, and what spans its start is
// counted from there.
func TestWindow(t *testing.T) {
	s := sim.New(1)
	pool, f := s.Pool("pool", 1), s.Flow(one)
	s.Users(1, sim.Constant(10*ms), func(p *sim.Proc) {
		r := f.Begin()
		pool.Acquire(p)
		p.Sleep(30 * ms)
		pool.Release(p)
		r.Lap(whole)
		r.Done()
	})
	// Held 10 to 40 ms, 50 to 80 and so on; the window is 25 ms to 125 ms.
	check(t, s.Run(context.Background(), 25*ms, 100*ms))
	u, r := pool.Usage(), f.Result()
	if u.Window != 100*ms || u.Ended != 3 || u.Hold() != 25*ms || u.Utilisation() != 0.75 {
		t.Errorf("window %v, %d ended, hold %v, utilisation %v; want 100ms, 3, 25ms, 0.75", u.Window, u.Ended, u.Hold(), u.Utilisation())
	}
	if r.Window != 100*ms || r.Response.Count() != 3 || r.Response.Mean() != 30e6 || r.PerSec() != 30 || r.InFlight != 0.75 {
		t.Errorf("window %v, %d requests, mean %v, %v a second, %v in flight; want 100ms, 3, 30 ms, 30, 0.75",
			r.Window, r.Response.Count(), r.Response.Mean(), r.PerSec(), r.InFlight)
	}
}

func TestFlow(t *testing.T) {
	set := metrics.NewStageSet("fan", "read", "merge")
	var kept []metrics.Timeline
	s := sim.New(1)
	f := s.Flow(set).Timelines(func(tl metrics.Timeline) { kept = append(kept, tl) })
	s.Go("p", func(p *sim.Proc) {
		r := f.Begin()
		reads := s.Group("read")
		for i := range 3 {
			line := r.Fork()
			reads.Go(func(c *sim.Proc) {
				c.Sleep(time.Duration(1+i) * ms)
				line.Lap(0)
			})
		}
		reads.Wait(p)
		r.Skip()
		p.Sleep(2 * ms)
		r.Lap(1)
		p.Sleep(ms) // nobody says what this is
		r.Done()
		f.Begin().Fail()
	})
	check(t, s.Run(context.Background(), 0, time.Second))
	got := f.Result()
	if got.Response.Count() != 1 || got.Failed != 1 || len(kept) != 1 || len(kept[0].Intervals) != 4 {
		t.Fatalf("%d requests, %d failed, timelines %v", got.Response.Count(), got.Failed, kept)
	}
	path := got.Path
	if path.Total != int64(6*ms) || path.Stages[0] != int64(3*ms) || path.Stages[1] != int64(2*ms) || path.Unattributed != int64(ms) {
		t.Errorf("path %+v, want 3 ms of read, 2 of merge, 1 unattributed", path)
	}
	if n := got.Stages.Stages[0].Dist.Count(); n != 3 {
		t.Errorf("%d reads, want 3", n)
	}
}

// A model whose stages overlap on one line is told so.
func TestUnsoundTimeline(t *testing.T) {
	err := run(func(s *sim.Sim) {
		f := s.Flow(one)
		s.Go("p", func(p *sim.Proc) {
			r := f.Begin()
			p.Sleep(ms)
			r.Lap(7)
			r.Done()
		})
	})
	if !errors.Is(err, sim.ErrInvariant) || !errors.Is(err, metrics.ErrUndeclared) {
		t.Errorf("error %v, want one that wraps ErrInvariant and ErrUndeclared", err)
	}
}

// A request that ends twice breaks Little's law, which is reported.
func TestRequestThatEndsTwice(t *testing.T) {
	err := run(func(s *sim.Sim) {
		f := s.Flow(one)
		s.Go("p", func(p *sim.Proc) {
			r := f.Begin()
			p.Sleep(ms)
			r.Done()
			r.Done()
		})
	})
	if !errors.Is(err, sim.ErrInvariant) || !strings.Contains(err.Error(), "flow one") {
		t.Errorf("error %v, want one that wraps ErrInvariant and names the flow", err)
	}
}

// Two runs of one seed that differ in one resource have the same users.
func TestSameThoughts(t *testing.T) {
	thoughts := func(cores int) (all []time.Duration) {
		s := sim.New(7)
		cpu := s.SharedCPU("cpu", cores)
		s.Go("user", func(p *sim.Proc) {
			for range 100 {
				d := p.Draw(sim.Exponential(time.Second))
				all = append(all, d)
				cpu.Use(p, d)
			}
		})
		s.Users(3, sim.Exponential(time.Second), func(p *sim.Proc) { cpu.Use(p, time.Second) })
		check(t, s.Run(context.Background(), 0, 10*time.Minute))
		return all
	}
	a, b := thoughts(1), thoughts(4)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("thought %d is %v with one core and %v with four", i, a[i], b[i])
		}
	}
	if len(a) < 50 || len(b) < 100 {
		t.Errorf("%d and %d thoughts say little", len(a), len(b))
	}
}
