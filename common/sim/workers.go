package sim

import "fmt"

// Workers is a blocking pool: so many threads that run functions which would
// block somebody else, in the order in which they came.
type Workers struct{ Pool }

// Workers makes a pool of so many workers, at least one. Any number of functions
// may wait; see [Pool.Bound].
func (s *Sim) Workers(name string, size int) *Workers {
	if size < 1 {
		panic(fmt.Sprintf("sim: %d workers %s; it needs one", size, name))
	}
	w := &Workers{Pool{bound: -1}}
	w.open(s, "workers", name, size, w)
	return w
}

// Bound lets so many functions wait at most; others are refused. It returns w.
func (w *Workers) Bound(waiting int) *Workers {
	w.Pool.Bound(waiting)
	return w
}

// Run waits for a worker, runs f there and returns when it has ended. It is
// false, and f didn't run, if as many wait as may.
func (w *Workers) Run(p *Proc, f func()) bool {
	if !w.Acquire(p) {
		return false
	}
	f()
	w.Release(p)
	return true
}

// Submit has f run by a worker, as a process of its own, and doesn't wait. It
// is false, and f won't run, if as many wait as may.
func (w *Workers) Submit(f func(*Proc)) bool {
	free := len(w.taken) < w.servers
	if !free && w.waiters.n == w.bound {
		w.refused++
		return false
	}
	since := w.sim.now
	p := w.sim.spawn(w.name, func(p *Proc) {
		if !free {
			p.at = nil
			w.endWait(since)
		}
		f(p)
		w.Release(p)
	})
	if free {
		w.pass()
		w.take(p)
		return true
	}
	p.due = 0 // it starts when a worker is handed to it
	p.at, p.since = w, since
	w.startWait()
	w.waiters.push(p)
	return true
}
