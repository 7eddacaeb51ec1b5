package exec

import (
	"context"
	"fmt"
	"time"
)

// SwitchInterval is how long a thread keeps the interpreter lock while another
// waits for it: the default of CPython.
const SwitchInterval = 5 * time.Millisecond

// Threads is how many threads CPython's default executor has on a host of two
// processors: four more than those.
const Threads = 6

// Offload takes handlers off the loop, to threads that share one interpreter
// lock. Light ones stay on the loop, which needs the lock as well. The lock
// passes in order of arrival, which CPython's doesn't promise.
type Offload struct {
	loop    *Loop
	threads chan struct{} // a token a thread that is busy
	lock    *giant
	closed  chan struct{}
}

// NewOffload starts a loop beside so many threads; zero is Threads.
func NewOffload(threads int) *Offload {
	if threads <= 0 {
		threads = Threads
	}
	o := &Offload{threads: make(chan struct{}, threads), lock: newGiant(), closed: make(chan struct{})}
	o.loop = newLoop(func(turn func(tick func())) {
		o.lock.acquire()
		defer o.lock.release()
		turn(o.lock.tick)
	})
	return o
}

// Light runs each step on the loop, which holds the lock for a turn.
func (o *Offload) Light(ctx context.Context, steps ...func(*Task)) error {
	return o.loop.Light(ctx, steps...)
}

// Handle runs f on a thread once one is free. It holds the lock wherever it
// doesn't wait.
func (o *Offload) Handle(ctx context.Context, f func(*Task)) error {
	select {
	case <-o.closed:
		return ErrClosed
	default:
	}
	select {
	case o.threads <- struct{}{}:
	case <-o.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-o.threads }()
	o.lock.acquire()
	defer o.lock.release()
	f(&Task{
		heavy: func(_ context.Context, f func(func())) error {
			f(o.lock.tick)
			return nil
		},
		wait: func(f func()) {
			o.lock.release()
			defer o.lock.acquire()
			f()
		},
	})
	return nil
}

// Turns are those of the loop that the light handlers are on.
func (o *Offload) Turns() Turns { return o.loop.Turns() }

// Close waits for the threads and ends the loop. What waits for a thread is
// refused.
func (o *Offload) Close() {
	close(o.closed)
	for range cap(o.threads) {
		o.threads <- struct{}{}
	}
	o.loop.Close()
}

func (o *Offload) String() string { return fmt.Sprintf("offload-gil(%d)", cap(o.threads)) }

// giant is a lock in the form of a channel, so that it may be held across a
// sleep in a bubble. Its waiters are served in order.
type giant struct {
	held  chan struct{} // holds a token while the lock is free
	since time.Time     // when it was taken; its holder's
	ask   chan struct{} // a token a waiter
}

// maxWaiters is more than there are threads and loops that could wait.
const maxWaiters = 1 << 12

func newGiant() *giant {
	g := &giant{held: make(chan struct{}, 1), ask: make(chan struct{}, maxWaiters)}
	g.held <- struct{}{}
	return g
}

func (g *giant) acquire() {
	g.ask <- struct{}{}
	<-g.held
	<-g.ask
	g.since = time.Now()
}

func (g *giant) release() { g.held <- struct{}{} }

// tick passes the lock on if its time is over and another waits.
func (g *giant) tick() {
	if len(g.ask) > 0 && time.Since(g.since) >= SwitchInterval {
		g.release()
		g.acquire()
	}
}
