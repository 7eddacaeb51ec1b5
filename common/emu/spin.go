package emu

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/common/metrics"
)

// spinPart is left to watching the clock at the end of a wait. It is more than
// the millisecond by which a timer can be late.
const spinPart = 1200 * time.Microsecond

// A spinner is the Waiter for wall-clock time. One of its waiters leads: it
// yields the processor in a loop and looks at the clock, releases the others
// when they are due, and when its own time has come makes another one lead.
// The others are parked. If all of them looped there would be no idle
// processor, and the Go runtime polls the network from idle ones (or every
// 10 ms); their turns would also add up to a late look at the clock.
type spinner struct {
	epoch time.Time // deadlines count from here, in nanoseconds

	// first is the earliest deadline of parked, never if there is none. It is
	// written with mu held, and read by the leader without.
	first atomic.Int64

	late *metrics.Histogram // how long after their deadlines waits were released

	mu      sync.Mutex
	leading bool   // guarded by mu: a waiter leads or was told to
	parked  parked // guarded by mu
}

const never = math.MaxInt64

// A waiting is one parked wait.
type waiting struct {
	at   int64
	wake chan bool // one message: whether to lead, else it is due
	left bool      // guarded by spinner.mu: out of parked, or not wanted any more
}

var waitings = sync.Pool{New: func() any { return &waiting{wake: make(chan bool, 1)} }}

func newSpinner() *spinner {
	s := &spinner{epoch: time.Now(), late: metrics.NewHistogram()}
	s.first.Store(never)
	return s
}

func (*spinner) String() string { return "spin" }

func (*spinner) Now() time.Time { return time.Now() }

func (s *spinner) Until(ctx context.Context, t time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A bubble's clock begins in the year 2000, far from the epoch.
	const decade = 10 * 365 * 24 * time.Hour
	if time.Since(s.epoch).Abs() > decade {
		return fmt.Errorf("emu: wait: %w; use emu.Sleep there", ErrBubble)
	}
	if time.Until(t) > spinPart {
		if err := Sleep.Until(ctx, t.Add(-spinPart)); err != nil {
			return err
		}
	}
	at := int64(t.Sub(s.epoch))
	s.mu.Lock()
	if s.leading {
		return s.park(ctx, at)
	}
	s.leading = true
	s.mu.Unlock()
	return s.lead(ctx, at)
}

// park waits to be released or made leader. It is called with mu held.
func (s *spinner) park(ctx context.Context, at int64) error {
	w := waitings.Get().(*waiting)
	w.at, w.left = at, false
	heap.Push(&s.parked, w)
	s.first.Store(s.parked[0].at)
	s.mu.Unlock()

	var lead bool
	select {
	case lead = <-w.wake:
	case <-ctx.Done():
		s.mu.Lock()
		told := w.left
		w.left = true
		s.mu.Unlock()
		if !told {
			return ctx.Err() // the leader drops w when it meets it
		}
		lead = <-w.wake
	}
	waitings.Put(w)
	if lead {
		return s.lead(ctx, at)
	}
	return nil
}

// lead watches the clock up to its own deadline.
func (s *spinner) lead(ctx context.Context, at int64) error {
	done := ctx.Done()
	for {
		now := int64(time.Since(s.epoch))
		if s.first.Load() <= now {
			s.release(now)
		}
		if now >= at {
			s.late.Record(now - at)
			s.handOver()
			return nil
		}
		select {
		case <-done:
			s.handOver()
			return ctx.Err()
		default:
		}
		runtime.Gosched()
	}
}

// release wakes all that are due.
func (s *spinner) release(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.parked) > 0 && s.parked[0].at <= now {
		late := now - s.parked[0].at
		if s.wakeFirst(false) {
			s.late.Record(late)
		}
	}
	s.noteFirst()
}

// handOver makes the next waiter lead, if there is one.
func (s *spinner) handOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.leading = false; len(s.parked) > 0 && !s.leading; {
		s.leading = s.wakeFirst(true)
	}
	s.noteFirst()
}

// wakeFirst takes out the first waiter and tells it to lead or that it is due.
// It reports false if nobody waits there any more. It needs mu.
func (s *spinner) wakeFirst(lead bool) bool {
	w := heap.Pop(&s.parked).(*waiting)
	if w.left {
		return false
	}
	w.left = true
	w.wake <- lead // there is room for one
	return true
}

// noteFirst needs mu.
func (s *spinner) noteFirst() {
	if len(s.parked) == 0 {
		s.first.Store(never)
	} else {
		s.first.Store(s.parked[0].at)
	}
}

// parked is a heap for container/heap, the earliest deadline first.
type parked []*waiting

func (p parked) Len() int           { return len(p) }
func (p parked) Less(i, j int) bool { return p[i].at < p[j].at }
func (p parked) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *parked) Push(w any)        { *p = append(*p, w.(*waiting)) }
func (p *parked) Pop() any {
	last := len(*p) - 1
	w := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	return w
}
