package sim

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sim is one simulation. Make it with [New], add resources and processes, and run
// it once. It belongs to one goroutine; any number of Sims may run side by side.
type Sim struct {
	// MaxProcs bounds the processes that live at once, MaxEvents the events of the
	// run, MaxInstant those of one instant. Beyond, the run ends with
	// [ErrRunaway]. New sets them to a hundred thousand, a thousand million and a
	// million.
	MaxProcs   int
	MaxEvents  uint64
	MaxInstant uint64

	seed    uint64
	now     int64 // nanoseconds since the start
	from    int64 // start of the window that is measured
	warm    int64 // when the window is to start
	until   int64
	seq     uint64 // number of the last event
	events  uint64
	instant uint64 // what events was when the clock last moved
	agenda  agenda
	ready   fifo[event] // events of this instant, behind those of the agenda

	handoff *Proc   // who goes on after a coroutine yielded
	idle    []*coro // without a process
	coros   []*coro
	procs   []*Proc // those that live, and some that ended; see spawned
	live    int
	spawned int

	stations []stationed
	flows    []*Flow
	ctx      context.Context
	ran      bool
	ended    bool
	err      error
	crash    *crash
}

// New makes a simulation. All that is random in it follows from seed.
func New(seed uint64) *Sim {
	return &Sim{seed: seed, MaxProcs: 100_000, MaxEvents: 1_000_000_000, MaxInstant: 1_000_000}
}

// Now is the virtual time since the start of the run.
func (s *Sim) Now() time.Duration { return time.Duration(s.now) }

// Events is the number of events so far. An event lets a process go on, or is a
// timer of a resource.
func (s *Sim) Events() uint64 { return s.events }

// Go starts a process at this instant, behind all that is ready. Processes of
// one name are told apart by their number.
func (s *Sim) Go(name string, body func(*Proc)) { s.spawn(name, body) }

func (s *Sim) spawn(name string, body func(*Proc)) *Proc {
	s.spawned++
	s.live++
	p := &Proc{sim: s, name: name, id: s.spawned, body: body}
	p.proc = p
	p.rand = Rand{mix(mix(s.seed) + uint64(p.id)*golden)}
	s.remember(p)
	s.wake(p)
	return p
}

// remember keeps p for reports and now and then forgets those that ended.
func (s *Sim) remember(p *Proc) {
	if len(s.procs) >= 64 && len(s.procs) >= 2*s.live {
		kept := s.procs[:0]
		for _, q := range s.procs {
			if q.body != nil {
				kept = append(kept, q)
			}
		}
		clear(s.procs[len(kept):])
		s.procs = kept
	}
	s.procs = append(s.procs, p)
}

// Rand is a random stream of that name. It depends on the seed and the name
// only; keep it, since a second call begins the same stream again.
func (s *Sim) Rand(name string) *Rand { return &Rand{mix(s.seed ^ key(name))} }

// At runs f once, at a time since the start of the run or at once if that is
// over. f can't wait; it may start processes and read what others did.
func (s *Sim) At(at time.Duration, f func()) {
	s.after(&task{run: f}, int64(at)-s.now)
}

// Every runs f after each period: a gauge that samples. It ends when nothing but
// samples is left to come. The period must be positive. f can't wait, and must
// not start anything.
func (s *Sim) Every(period time.Duration, f func()) {
	if period <= 0 {
		panic(fmt.Sprintf("sim: Every with a period of %v; it must be positive", period))
	}
	t := &task{sample: true}
	t.run = func() {
		f()
		if !s.quiet() {
			s.after(t, int64(period))
		}
	}
	s.after(t, int64(period))
}

// after makes t due in d nanoseconds, and at no other time.
func (s *Sim) after(t *task, d int64) {
	s.seq++
	t.due = s.seq
	if d <= 0 {
		s.ready.push(event{s.now, s.seq, t})
		return
	}
	at := s.now + d
	if at < 0 {
		at = 1<<63 - 1 // never, as far as a run goes
	}
	s.agenda.push(event{at, s.seq, t})
}

func (s *Sim) wake(p *Proc) { s.after(&p.task, 0) }

// next moves the clock to the next event of a process and returns the process.
// On the way it runs the timers. It is nil when the run is over.
func (s *Sim) next() *Proc {
	for {
		if s.agenda.hole {
			s.agenda.settle()
		}
		var e event
		switch top := s.agenda.events; {
		case s.ready.n > 0 && (len(top) == 0 || top[0].at > s.now):
			e = s.ready.pop()
		case len(top) == 0 || top[0].at > s.until:
			return nil
		default:
			e = top[0]
			s.agenda.hole = true
		}
		if e.t.due != e.seq {
			continue // stale
		}
		if e.at > s.now {
			s.now = e.at
			s.instant = s.events
		}
		e.t.due = 0
		s.events++
		if s.events&1023 == 0 && s.over() {
			return nil
		}
		if e.t.run == nil {
			return e.t.proc
		}
		e.t.run()
	}
}

// over looks for what ends a run early.
func (s *Sim) over() bool {
	if s.err == nil {
		switch {
		case s.ctx.Err() != nil:
			s.err = fmt.Errorf("sim: stopped at %v: %w", s.Now(), context.Cause(s.ctx))
		case s.events-s.instant > s.MaxInstant:
			s.err = s.runaway("more than %d events at one instant: a loop in which no time passes", s.MaxInstant)
		case s.live > s.MaxProcs:
			s.err = s.runaway("%d processes live, more than %d: they arrive faster than they leave", s.live, s.MaxProcs)
		case s.events > s.MaxEvents:
			s.err = s.runaway("more than %d events", s.MaxEvents)
		}
	}
	return s.err != nil
}

// Run runs the simulation: for warm, after which all that was measured so far is
// forgotten, and then for length, or until nothing is left to do. Processes that still wait at the end are
// unwound, their deferred functions included. It wraps
//
//   - [ErrDeadlock], in a [StuckError], when processes wait for each other at the
//     end, or when all wait and nothing can happen any more;
//   - [ErrRunaway], in a [StuckError], when a limit of s is passed;
//   - [ErrInvariant] when a count is wrong: an error of this package, or a
//     timeline that doesn't pass its check;
//   - the cause of ctx when that ends.
//
// What was measured up to then can be read after an error, too. A panic in a
// process goes on in Run, with the name of the process. Run may be called once.
func (s *Sim) Run(ctx context.Context, warm, length time.Duration) error {
	if s.ran {
		panic("sim: Run was called twice; make a new Sim for each run")
	}
	s.ran = true
	defer s.unwind()
	s.ctx = ctx
	s.warm, s.until = int64(warm), int64(warm)+int64(length)
	if warm > 0 {
		s.At(warm, s.forget)
	}
	for p := s.next(); p != nil; p = s.handoff {
		c := p.coro
		if c == nil {
			c = s.coroutine()
			p.coro, c.proc = c, p
		}
		c.next()
	}
	if c := s.crash; c != nil {
		panic(fmt.Sprintf("sim: process %v at %v: %v\n\n%s", c.proc, time.Duration(c.at), c.value, c.stack))
	}
	if s.err == nil {
		if !s.quiet() {
			s.now = s.until
		}
		s.err = s.deadlock()
	}
	return s.finish()
}

// forget begins the window.
func (s *Sim) forget() {
	s.from = s.now
	for _, st := range s.stations {
		st.forget()
	}
	for _, f := range s.flows {
		f.forget()
	}
}

// finish checks the counts and keeps the results from what the unwinding of
// processes would do to them.
func (s *Sim) finish() error {
	err := s.err
	for _, st := range s.stations {
		err = errors.Join(err, st.little())
		st.base().final = st.base().Usage()
	}
	for _, f := range s.flows {
		if bad := f.gauge.little(s.now); bad != nil {
			err = errors.Join(err, fmt.Errorf("sim: requests of flow %s at %v: %w: Little's law fails: %w", f.rec.Set().Name(), s.Now(), ErrInvariant, bad))
		}
		f.result = f.Result()
	}
	return err
}

func (s *Sim) coroutine() *coro {
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return c
	}
	c := newCoro(s)
	s.coros = append(s.coros, c)
	return c
}

// unwind ends all coroutines, in the order in which they were made.
func (s *Sim) unwind() {
	s.ended = true
	for _, c := range s.coros {
		c.stop()
	}
}
