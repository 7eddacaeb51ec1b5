package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"latlab.example/common/sim"
)

func TestStuck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model func(s *sim.Sim)
		is    error
		want  []string // in the message
		waits int
	}{
		{
			name: "two locks, while others go on",
			model: func(s *sim.Sim) {
				a, b := s.Lock("a"), s.Lock("b")
				take := func(first, second *sim.Lock) func(p *sim.Proc) {
					return func(p *sim.Proc) {
						first.Acquire(p)
						p.Sleep(ms)
						second.Acquire(p)
					}
				}
				s.Go("one", take(a, b))
				s.Go("two", take(b, a))
				s.Go("bystander", func(p *sim.Proc) { a.Acquire(p) })
				s.Users(1, sim.Constant(ms), func(*sim.Proc) {})
			},
			is: sim.ErrDeadlock,
			want: []string{
				"deadlock at 10s: 3 processes wait for each other",
				"one#1 waits for lock b, held by two#2, since 1ms",
				"two#2 waits for lock a, held by one#1, since 1ms",
				"bystander#3 waits for lock a, held by one#1, since 0s",
			},
			waits: 3,
		},
		{
			name: "a second connection while holding one",
			model: func(s *sim.Sim) {
				conns := s.Pool("conns", 10)
				s.Users(30, sim.Constant(ms), func(p *sim.Proc) {
					conns.Acquire(p)
					p.Sleep(ms)
					conns.Acquire(p)
				})
				s.Every(time.Second, func() {})
			},
			is: sim.ErrDeadlock,
			want: []string{
				"nothing can happen any more, and 30 processes wait",
				"user#1 waits for pool conns (10 of 10 taken), held by user#1, user#2, user#3, user#4, user#5, user#6, user#7, user#8 and 2 more, since 2ms",
				"and 22 more",
			},
			waits: 30,
		},
		{
			name: "a group of those who need what its waiter holds",
			model: func(s *sim.Sim) {
				lock, both := s.Lock("lock"), s.Group("child")
				s.Go("parent", func(p *sim.Proc) {
					lock.Acquire(p)
					both.Go(func(c *sim.Proc) { c.Sleep(ms) })
					both.Go(func(c *sim.Proc) { lock.Acquire(c) })
					both.Wait(p)
				})
				s.Users(1, sim.Constant(ms), func(*sim.Proc) {})
			},
			is:    sim.ErrDeadlock,
			want:  []string{"parent#1 waits for group child (1 left), held by child#4, since 0s", "child#4 waits for lock lock, held by parent#1"},
			waits: 2,
		},
		{
			name: "a loop that waits for its own worker",
			model: func(s *sim.Sim) {
				loop, workers := s.Loop("loop", 0), s.Workers("workers", 1)
				s.Go("handler", func(p *sim.Proc) {
					loop.Run(p, func() { workers.Run(p, func() { p.Sleep(time.Second) }) })
				})
				s.Go("worker", func(p *sim.Proc) {
					workers.Run(p, func() { loop.Run(p, func() {}) })
				})
			},
			is:    sim.ErrDeadlock,
			want:  []string{"handler#1 waits for workers workers (1 of 1 taken), held by worker#2", "worker#2 waits for loop loop, held by handler#1"},
			waits: 2,
		},
		{
			name: "a signal that nobody gives",
			model: func(s *sim.Sim) {
				pulled := s.Signal("pulled")
				s.Go("reader", pulled.Wait)
			},
			is:    sim.ErrDeadlock,
			want:  []string{"reader#1 waits for signal pulled, since 0s"},
			waits: 1,
		},
		{
			name: "no time passes",
			model: func(s *sim.Sim) {
				s.MaxInstant = 5000
				s.Go("spinner", func(p *sim.Proc) {
					for {
						p.Sleep(0)
					}
				})
			},
			is:   sim.ErrRunaway,
			want: []string{"runaway at 0s: more than 5000 events at one instant: a loop in which no time passes; processes: 1 spinner"},
		},
		{
			name: "more arrive than leave",
			model: func(s *sim.Sim) {
				s.MaxProcs = 2000
				cpu := s.QueuedCPU("cores", 1)
				s.Arrivals("request", sim.Constant(ms), func(p *sim.Proc) { cpu.Use(p, 10*ms) })
			},
			is:    sim.ErrRunaway,
			want:  []string{"processes live, more than 2000: they arrive faster than they leave; processes: 1 request arrivals", "waits for cpu cores, since"},
			waits: -1,
		},
		{
			name: "too many events",
			model: func(s *sim.Sim) {
				s.MaxEvents = 3000
				s.Users(1, sim.Constant(time.Microsecond), func(*sim.Proc) {})
			},
			is:   sim.ErrRunaway,
			want: []string{"more than 3000 events; processes: 1 user"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sim.New(1)
			tt.model(s)
			err := s.Run(context.Background(), 0, 10*time.Second)
			var stuck *sim.StuckError
			if !errors.Is(err, tt.is) || !errors.As(err, &stuck) {
				t.Fatalf("error %v, want a StuckError that wraps %q", err, tt.is)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
			if n := len(stuck.Waits); n != tt.waits && tt.waits >= 0 {
				t.Errorf("%d processes wait, want %d:\n%v", n, tt.waits, err)
			}
		})
	}
}

// What looks stuck and isn't.
func TestNotStuck(t *testing.T) {
	for name, model := range map[string]func(s *sim.Sim){
		"patience ends": func(s *sim.Sim) {
			conns := s.Pool("conns", 1)
			s.Users(2, sim.Constant(ms), func(p *sim.Proc) {
				conns.Acquire(p)
				if conns.AcquireFor(p, time.Minute) {
					panic("a second connection")
				}
				conns.Release(p)
			})
		},
		"long work under a lock": func(s *sim.Sim) {
			lock, cpu := s.Lock("lock"), s.SharedCPU("cpu", 1)
			for range 3 {
				s.Go("p", func(p *sim.Proc) {
					lock.Acquire(p)
					cpu.Use(p, time.Minute)
				})
			}
		},
		"all done": func(s *sim.Sim) { s.Go("p", func(p *sim.Proc) { p.Sleep(ms) }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.New(1)
			model(s)
			check(t, s.Run(context.Background(), 0, 10*time.Second))
		})
	}
}
