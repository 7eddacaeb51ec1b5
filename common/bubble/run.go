package bubble

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// linger is how long, in virtual time, the clock goes on after the function
// has returned, so that goroutines that sleep before they end can do so. (An
// http.Server sleeps for half a second before it closes some connections.)
const linger = 10 * time.Second

// grace is how long, in wall-clock time, a bubble may go on after its context
// ended. Tests shorten it.
var grace = 5 * time.Second

// Run calls f in a new bubble, where time is virtual, and returns what f
// returns. The package's documentation says what f may do. Run may be called
// from any number of goroutines outside a bubble; each call has a clock of its
// own.
//
// The context that f gets has the values of ctx and a Done channel of the
// bubble; it ends when f returns, and soon after ctx ended, with the same
// cause. As ctx lives outside, its deadline is in wall-clock time: it limits
// what the run may cost. For a virtual deadline use context.WithTimeout in f.
// f must not use ctx itself: waiting for it stops the clock.
//
// The end of ctx is seen when the clock moves on. A goroutine that never
// blocks, or hangs at a mutex, keeps the clock from it, and Go can't stop a
// goroutine from outside. Run then gives up after five seconds with [ErrStuck]
// and says where they are; they stay, so that all the caller can do is to
// report that and exit. Without a context that ends, Run waits for ever.
//
// If goroutines remain, the error wraps [ErrDeadlock] or [ErrLeak] as well as
// what f returned.
func Run(ctx context.Context, f func(context.Context) error) error {
	if id := bubbleID(); id != "" {
		return fmt.Errorf("bubble: %w: call f itself, bubble %s is already there", ErrNested, id)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("bubble: not started: %w", context.Cause(ctx))
	}
	// A context makes its channel when it is first asked for it: ask outside.
	b := &bubble{outer: ctx, done: ctx.Done(), f: f, over: make(chan struct{})}
	go b.host()
	if b.done == nil {
		<-b.over
		return b.result()
	}
	return b.attend()
}

// bubble is one call of Run. Fields without a rule belong to the bubble's
// goroutines until over is closed, then to Run.
type bubble struct {
	outer context.Context
	done  <-chan struct{} // outer's; nil if outer never ends
	f     func(context.Context) error
	over  chan struct{} // closed outside, when the bubble is over

	err      error // what f returned, or how it ended otherwise
	returned bool  // f did, and the clock went on for linger
	ended    bool  // synctest.Test returned
	panicked any   // synctest.Test did so

	id    atomic.Pointer[string] // the runtime's name for the bubble
	gone  atomic.Bool            // outer has ended
	ticks atomic.Int64           // wall-clock time, in wallTick; only if outer can end
}

// host runs the bubble on a goroutine of its own, as synctest.Test ends the
// goroutine when a test fails.
func (b *bubble) host() {
	defer close(b.over)
	defer func() { b.panicked = recover() }()
	synctest.Test(new(testing.T), func(*testing.T) { b.inside() })
	b.ended = true
}

// inside is the bubble's first goroutine. f runs on another one, so that
// package testing never sees it panic or exit.
func (b *bubble) inside() {
	id := bubbleID()
	b.id.Store(&id)
	if now := time.Now(); !now.Equal(epoch) {
		b.err = broken("the clock starts at " + now.String())
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(b.outer))
	if b.done != nil {
		go b.watch(ctx, cancel)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.call(ctx)
	}()
	<-done
	cancel(nil)
	time.Sleep(linger)
	b.returned = true
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// call calls f and keeps how it ended.
func (b *bubble) call(ctx context.Context) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			b.err = &PanicError{v, debug.Stack()}
			return
		}
		b.err = fmt.Errorf("bubble: %w: return an error instead of calling FailNow, SkipNow or runtime.Goexit", ErrExit)
	}()
	b.err = b.f(ctx)
	returned = true
}

// result is Run's error, once the bubble is over.
func (b *bubble) result() error {
	switch {
	case b.ended && (b.returned || errors.Is(b.err, ErrBroken)):
		return b.err
	case b.ended:
		return broken("it came to an end without calling the function")
	case b.panicked == nil && b.returned && raceEnabled:
		return join(b.err, fmt.Errorf("bubble: %w: its report is on standard error", ErrRace))
	case b.panicked == nil:
		return broken("package testing says that the test failed")
	case b.id.Load() == nil:
		return broken(fmt.Sprint(b.panicked))
	case b.returned:
		return join(b.err, b.blocked(ErrLeak, "end every goroutine before returning: close servers, idle connections and pools, stop tickers"))
	default:
		return join(b.err, b.blocked(ErrDeadlock, "every goroutine waits for another one and no timer is set"))
	}
}

// join puts what f returned first.
func join(err, more error) error {
	if err == nil {
		return more
	}
	return fmt.Errorf("%w\n%w", err, more)
}
