package sim

import (
	"iter"
	"runtime/debug"
	"strconv"
	"time"
)

// Proc is a process: a function that runs as plain sequential Go, whose waits
// take virtual time. It belongs to its Sim. Only the process itself may call what
// waits, and only while it runs.
type Proc struct {
	task
	sim  *Sim
	name string
	id   int
	body func(*Proc)
	coro *coro // nil before it starts
	rand Rand

	at    place // where it waits, nil while it doesn't wait for anybody
	since int64 // when it began to wait there
	job   job   // its work at a CPU
	group *Group
}

// String is the name and the number of the process: "user#17".
func (p *Proc) String() string { return p.name + "#" + strconv.Itoa(p.id) }

// Now is the virtual time since the start of the run.
func (p *Proc) Now() time.Duration { return time.Duration(p.sim.now) }

// Sim is the simulation that the process belongs to.
func (p *Proc) Sim() *Sim { return p.sim }

// Rand is the process's own random stream. It depends on the seed and on the
// number of the process: what others draw doesn't change it.
func (p *Proc) Rand() *Rand { return &p.rand }

// Draw draws from d with the process's own stream.
func (p *Proc) Draw(d Dist) time.Duration { return d.Draw(&p.rand) }

// Sleep lets d pass. With a d of 0 or less, all that is ready at this instant
// goes first.
func (p *Proc) Sleep(d time.Duration) {
	p.sim.after(&p.task, int64(d))
	p.park()
}

// waitAt waits at a place until somebody wakes p.
func (p *Proc) waitAt(at place) {
	p.at, p.since = at, p.sim.now
	p.park()
	p.at = nil
}

// park gives control away until the event of p comes up. If p's own event is the
// next one, nothing is switched.
func (p *Proc) park() {
	s := p.sim
	if s.ended {
		panic(stopped{}) // a deferred function of a stopped process waits
	}
	q := s.next()
	if q == p {
		return
	}
	s.handoff = q
	if !p.coro.yield(struct{}{}) {
		panic(stopped{})
	}
}

// stopped unwinds a process that still waits when the run ends.
type stopped struct{}

// coro is a coroutine that runs processes, one after another: so a process that
// starts and ends costs no new coroutine.
type coro struct {
	sim   *Sim
	proc  *Proc
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
}

func newCoro(s *Sim) *coro {
	c := &coro{sim: s}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for c.run() {
			q := s.next()
			if q != nil && q.coro == nil {
				q.coro, c.proc = c, q // starts right here
				continue
			}
			s.idle = append(s.idle, c)
			s.handoff = q
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}

// run runs the process to its end and reports whether the simulation goes on.
func (c *coro) run() (ok bool) {
	p := c.proc
	defer func() {
		switch r := recover().(type) {
		case nil: // ended, or runtime.Goexit, which iter.Pull hands on
		case stopped:
			ok = false
		default:
			if c.sim.crash == nil {
				c.sim.crash = &crash{p, c.sim.now, r, debug.Stack()}
			}
			c.sim.handoff = nil
			ok = false
		}
		c.sim.live--
		c.proc, p.coro, p.body = nil, nil, nil
	}()
	p.body(p)
	return !c.sim.ended
}

// crash is a panic in a process.
type crash struct {
	proc  *Proc
	at    int64
	value any
	stack []byte
}
