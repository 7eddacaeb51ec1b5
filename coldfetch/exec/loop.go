package exec

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// SlowTurn is how long a turn of the loop lasts before it counts as a lag event.
// It is the default at which Python's asyncio reports a slow callback.
const SlowTurn = 100 * time.Millisecond

// Turns are what a loop's turns took.
type Turns struct {
	Count  int           // turns in which anything ran
	Events int           // those of SlowTurn and longer
	Max    time.Duration // of one turn
	Sum    time.Duration // of the lag events
}

// Loop is an event loop. In a turn it runs all callbacks that were ready when
// the turn began; what comes meanwhile waits for the next one.
type Loop struct {
	around func(turn func(tick func())) // runs each turn, as under a lock; tick is called between callbacks
	wake   chan struct{}                // holds a token if ready isn't empty or the loop shall end
	done   chan struct{}                // closed when the loop has ended

	mu     sync.Mutex
	ready  []*callback // guarded by mu
	closed bool        // guarded by mu
	turns  Turns       // guarded by mu
}

// callback is a handler on its way to the loop.
type callback struct {
	steps []func(*Task) // that are left
	state atomic.Int32  // waiting, then running or dropped
	done  chan struct{}
}

const (
	waiting = iota
	running
	dropped
)

// NewLoop starts a loop.
func NewLoop() *Loop { return newLoop(func(turn func(func())) { turn(func() {}) }) }

func newLoop(around func(turn func(tick func()))) *Loop {
	l := &Loop{around: around, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

func (l *Loop) run() {
	defer close(l.done)
	for range l.wake {
		for {
			l.mu.Lock()
			turn, closed := l.ready, l.closed
			l.ready = nil
			l.mu.Unlock()
			if len(turn) == 0 {
				if closed {
					return
				}
				break
			}
			began := time.Now()
			l.around(func(tick func()) {
				for i, c := range turn {
					if i > 0 {
						tick()
					}
					if c.state.Load() == running || c.state.CompareAndSwap(waiting, running) {
						c.steps[0](&Task{})
						l.next(c)
					}
				}
			})
			l.count(time.Since(began))
		}
	}
}

// next puts what is left of a callback among those of the next turn.
func (l *Loop) next(c *callback) {
	if c.steps = c.steps[1:]; len(c.steps) == 0 {
		close(c.done)
		return
	}
	l.mu.Lock()
	l.ready = append(l.ready, c)
	l.mu.Unlock()
}

func (l *Loop) count(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns.Count++
	l.turns.Max = max(l.turns.Max, d)
	if d >= SlowTurn {
		l.turns.Events++
		l.turns.Sum += d
	}
}

// Turns are the turns so far; the one that runs isn't among them.
func (l *Loop) Turns() Turns {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turns
}

// Light runs each step on the loop.
func (l *Loop) Light(ctx context.Context, steps ...func(*Task)) error {
	c := &callback{steps: steps, done: make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.ready = append(l.ready, c)
	l.mu.Unlock()
	l.token()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		if c.state.CompareAndSwap(waiting, dropped) {
			return ctx.Err()
		}
		<-c.done
		return nil
	}
}

func (l *Loop) token() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Handle runs f on the loop, with all that it waits for.
func (l *Loop) Handle(ctx context.Context, f func(*Task)) error { return l.Light(ctx, f) }

// Close ends the loop after what is ready has run.
func (l *Loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.token()
	<-l.done
}

func (l *Loop) String() string { return "loop" }
