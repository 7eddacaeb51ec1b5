package sim

import (
	"fmt"
	"time"
)

// Pool is a number of equal things, each held by one process at a time: the
// connections of a client, the permits of a limiter. Those who wait get one in
// the order in which they came; nobody overtakes.
type Pool struct {
	station
	bound   int // how many may wait, -1 for any number
	taken   []holding
	waiters fifo[*Proc]
}

// holding is a process that holds one of a pool since some time.
type holding struct {
	p     *Proc
	since int64
}

// Pool makes a pool of so many, at least one. Any number may wait.
func (s *Sim) Pool(name string, size int) *Pool {
	if size < 1 {
		panic(fmt.Sprintf("sim: pool %s of %d; it needs one", name, size))
	}
	l := &Pool{bound: -1, taken: make([]holding, 0, size)}
	l.open(s, "pool", name, size, l)
	return l
}

// Bound lets so many wait at most; others are refused. It returns l.
func (l *Pool) Bound(waiting int) *Pool {
	l.bound = max(waiting, 0)
	return l
}

// Acquire waits for one. It is false, at once, if as many wait as may.
func (l *Pool) Acquire(p *Proc) bool { return l.acquire(p, -1) }

// AcquireFor is [Pool.Acquire] for those who give up: it is false as well if
// there was none for so long. With a patience of 0 it doesn't wait.
func (l *Pool) AcquireFor(p *Proc, patience time.Duration) bool {
	return l.acquire(p, max(int64(patience), 0))
}

func (l *Pool) acquire(p *Proc, patience int64) bool {
	switch {
	case len(l.taken) < l.servers: // so nobody waits
		l.pass()
		l.take(p)
		return true
	case patience == 0 || l.waiters.n == l.bound:
		l.refused++
		return false
	case patience > 0:
		l.sim.after(&p.task, patience)
	}
	since := l.sim.now
	l.startWait()
	l.waiters.push(p)
	p.waitAt(l)
	l.endWait(since)
	return patience < 0 || !l.giveUp(p)
}

// giveUp takes p out of the queue, and is false if it isn't there any more.
func (l *Pool) giveUp(p *Proc) bool {
	for i := range l.waiters.n {
		if l.waiters.at(i) == p {
			l.waiters.drop(i)
			l.gaveUp++
			return true
		}
	}
	return false
}

func (l *Pool) take(p *Proc) { l.taken = append(l.taken, holding{p, l.startHold()}) }

// Release gives back one that p holds. It may be called by another process, to
// which p handed it. It panics if p holds none.
func (l *Pool) Release(p *Proc) {
	for i, h := range l.taken {
		if h.p != p {
			continue
		}
		l.taken = append(l.taken[:i], l.taken[i+1:]...)
		l.endHold(h.since)
		if l.waiters.n > 0 {
			next := l.waiters.pop()
			l.take(next)
			l.sim.wake(next)
		}
		return
	}
	panic(fmt.Sprintf("sim: %v releases one of pool %s and holds none", p, l.name))
}

// Waiting is how many wait now.
func (l *Pool) Waiting() int { return l.waiters.n }

// Taken is how many are held now.
func (l *Pool) Taken() int { return len(l.taken) }

// String names the pool, with its state.
func (l *Pool) String() string {
	return fmt.Sprintf("%s %s (%d of %d taken)", l.kind, l.name, len(l.taken), l.servers)
}

func (l *Pool) holders() (procs []*Proc, all bool) {
	for _, h := range l.taken {
		procs = append(procs, h.p)
	}
	return procs, false
}
