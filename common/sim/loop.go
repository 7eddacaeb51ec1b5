package sim

import "time"

// Loop is an event loop: one line of execution that runs callbacks in turn. It
// works in rounds, as asyncio and libuv do. A round begins with a poll, at which
// it notices what has become ready by input, output, timers and other threads
// since the last poll. Then it runs all that is ready, one after another, each to
// its end. Only then it breathes, which is to say polls again: whoever became
// ready in between has waited for the whole round.
type Loop struct {
	station
	poll    int64
	busy    bool // a round goes on, or is about to
	now     *Proc
	left    int // of this round, the one that runs included
	ready   fifo[waiter]
	unseen  fifo[waiter] // until the next poll
	timer   task
	began   int64
	rounds  uint64
	longest int64
}

// Loop makes an event loop whose poll takes so long.
func (s *Sim) Loop(name string, poll time.Duration) *Loop {
	l := &Loop{poll: max(int64(poll), 0)}
	l.open(s, "loop", name, 1, l)
	l.timer.run = l.round
	return l
}

// Run has p, which has become ready by input, a timer or another thread, wait
// for its turn on the loop, and runs f there: whatever time f takes, nobody else
// has a turn.
func (l *Loop) Run(p *Proc, f func()) { l.run(p, &l.unseen, f) }

// Soon is [Loop.Run] for what the loop itself made ready (call_soon in asyncio):
// it needs no poll, and has its turn in the next round before what is noticed
// there.
func (l *Loop) Soon(p *Proc, f func()) { l.run(p, &l.ready, f) }

func (l *Loop) run(p *Proc, queue *fifo[waiter], f func()) {
	if l.now == p {
		panic("sim: " + p.String() + " waits for a turn on loop " + l.name + " while it has one; that would never end")
	}
	l.startWait()
	queue.push(waiter{p, l.sim.now})
	if !l.busy {
		l.busy = true
		l.sim.after(&l.timer, l.poll)
	}
	p.waitAt(l)
	since := l.startHold()
	f()
	l.endHold(since)
	l.now = nil
	if l.left--; l.left > 0 {
		l.turn()
		return
	}
	l.longest = max(l.longest, l.sim.now-l.began)
	l.busy = l.ready.n+l.unseen.n > 0
	if l.busy {
		l.sim.after(&l.timer, l.poll)
	}
}

// round is what a poll ends with.
func (l *Loop) round() {
	l.rounds++
	l.began = l.sim.now
	for l.unseen.n > 0 {
		l.ready.push(l.unseen.pop())
	}
	l.left = l.ready.n
	l.turn()
}

func (l *Loop) turn() {
	next := l.ready.pop()
	l.now = next.p
	l.endWait(next.since)
	l.sim.wake(next.p)
}

func (l *Loop) forget() {
	l.station.forget()
	l.rounds, l.longest = 0, 0
}

// Rounds is the number of rounds.
func (l *Loop) Rounds() uint64 { return l.rounds }

// Longest is the longest time between two polls, in a round that has ended.
func (l *Loop) Longest() time.Duration { return time.Duration(l.longest) }

func (l *Loop) holders() ([]*Proc, bool) {
	if l.now == nil {
		return nil, false
	}
	return []*Proc{l.now}, false
}
