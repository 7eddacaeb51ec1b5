package sim

import (
	"fmt"
	"time"
)

// Lock is held by one process at a time and handed over in the order of arrival.
//
// With a switch interval it is an interpreter lock such as CPython's: who has
// waited that long since it came, or since the lock last changed hands, asks for
// the lock, and the holder gives it up at its next check and waits for it anew,
// behind the others. Code that has checks runs by [Lock.Work]; whatever else a
// holder does (a call into a library that keeps the lock) can't be interrupted,
// however long it takes.
//
// Unlike CPython's lock it is fair: one that is released with others waiting
// goes to the first of them at once, where in CPython the releaser may be back
// before the first has woken up.
type Lock struct {
	station
	interval int64 // 0: nobody asks
	wakeUp   int64

	holder   *Proc // nil when free
	since    int64 // the holder has it
	waiters  fifo[waiter]
	asked    bool // the holder was asked to give it up
	switched int64
	timer    task
	cpu      *CPU // where the holder works with checks, or nil
}

// Lock makes a lock that is held until it is given up. See [Lock.Switch].
func (s *Sim) Lock(name string) *Lock {
	l := &Lock{}
	l.open(s, "lock", name, 1, l)
	l.timer.run = l.ask
	return l
}

// Switch gives the lock a switch interval (CPython's is 5 ms by default), and
// says how long a waiter takes to wake up when the lock is handed to it, during
// which nobody works under the lock. It returns l.
func (l *Lock) Switch(interval, wakeUp time.Duration) *Lock {
	l.interval, l.wakeUp = max(int64(interval), 0), max(int64(wakeUp), 0)
	return l
}

// Acquire waits for the lock. It panics if p has it already: that would never
// end.
func (l *Lock) Acquire(p *Proc) {
	if l.holder == p {
		panic(fmt.Sprintf("sim: %v acquires lock %s and has it already", p, l.name))
	}
	if l.holder == nil {
		l.pass()
		l.give(p)
		return
	}
	l.wait(p)
}

func (l *Lock) wait(p *Proc) {
	l.startWait()
	l.waiters.push(waiter{p, l.sim.now})
	l.expect()
	p.waitAt(l)
}

// Release gives the lock up. It panics if p doesn't hold it.
func (l *Lock) Release(p *Proc) {
	l.mustHold(p, "releases")
	l.endHold(l.since)
	l.holder, l.asked, l.timer.due = nil, false, 0
	if l.waiters.n == 0 {
		return
	}
	next := l.waiters.pop()
	l.endWait(next.since)
	l.switched = l.sim.now
	l.give(next.p)
	l.expect()
	l.sim.after(&next.p.task, l.wakeUp)
}

func (l *Lock) give(p *Proc) { l.holder, l.since = p, l.startHold() }

// expect sets the timer for the first waiter's patience, unless it is set.
func (l *Lock) expect() {
	if l.interval > 0 && l.waiters.n > 0 && !l.asked && l.timer.due == 0 {
		from := max(l.waiters.at(0).since, l.switched)
		l.sim.after(&l.timer, from+l.interval-l.sim.now)
	}
}

func (l *Lock) ask() {
	l.asked = true
	if l.cpu != nil {
		l.cpu.cut(l.holder)
	}
}

// Check is a point at which the holder looks whether it was asked, and if so
// gives the lock up. It returns when p has the lock again.
func (l *Lock) Check(p *Proc) {
	l.mustHold(p, "checks")
	if l.asked {
		l.Release(p)
		l.wait(p)
	}
}

// Work does so much work on a core under the lock, which p holds before and
// after. It checks before the work and after each so much of it as check says,
// which must be positive.
func (l *Lock) Work(p *Proc, cpu *CPU, work, check time.Duration) {
	l.mustHold(p, "works under")
	if check <= 0 {
		panic(fmt.Sprintf("sim: %v works under lock %s with a check after each %v; it must be positive", p, l.name, check))
	}
	for rest := int64(work); rest > 0; {
		l.Check(p)
		l.cpu = cpu
		rest -= cpu.use(p, rest, int64(check))
		l.cpu = nil
	}
}

func (l *Lock) mustHold(p *Proc, does string) {
	if l.holder != p {
		panic(fmt.Sprintf("sim: %v %s lock %s and doesn't hold it", p, does, l.name))
	}
}

func (l *Lock) holders() ([]*Proc, bool) {
	if l.holder == nil {
		return nil, false
	}
	return []*Proc{l.holder}, false
}
