// Package exec has the ways in which a service may run its handlers.
//
//   - [NewLoop]: one goroutine runs all ready callbacks in turn, as an event
//     loop does. Whoever blocks or computes there holds up everybody.
//   - [NewOffload]: handlers leave the loop for a few threads, under a modelled
//     interpreter lock: one of them computes at a time, and passes the lock on
//     every 5 ms if another wants it.
//   - [NewGoroutines]: a goroutine a handler, as net/http has it anyway.
//   - [NewBounded]: the same, but only so many compute heavily at once.
//
// An [Executor] is told of two kinds of handler, since an event loop keeps the
// light ones when the others leave it; and a handler says through its [Task]
// where it computes and where it waits for something that isn't the processor.
// In Go none of this changes what the code does, only who waits for whom.
//
// All of it waits on channels, so that it also runs in a testing/synctest bubble.
package exec

import (
	"context"
	"errors"
)

// ErrClosed occurs when a handler comes after Close.
var ErrClosed = errors.New("the executor is closed")

// Executor runs handlers. It may be used by any number of goroutines.
type Executor interface {
	// Light runs the steps of a handler that neither blocks nor computes, one after
	// the other, and returns when the last has ended. On a loop each step waits for
	// its turn, as what follows an await does. If ctx ends before the first has begun
	// none runs, and the error is the context's. Other errors wrap ErrClosed.
	Light(ctx context.Context, steps ...func(*Task)) error
	// Handle does the same with a handler that may block and compute.
	Handle(ctx context.Context, f func(*Task)) error
	// Close waits for the handlers that run, and refuses new ones.
	Close()
	String() string
}

// Task is what a running handler tells its executor. It belongs to the handler's
// goroutine.
type Task struct {
	heavy func(ctx context.Context, f func(tick func())) error
	wait  func(f func())
}

// Heavy runs a part that computes for long. f calls tick every millisecond or
// so, where the computation may be interrupted. The error is the context's, if it
// ended before f could begin.
func (t *Task) Heavy(ctx context.Context, f func(tick func())) error {
	if t.heavy == nil {
		f(func() {})
		return nil
	}
	return t.heavy(ctx, f)
}

// Wait runs a part that waits for a file or a network. On a loop, everybody
// waits with it.
func (t *Task) Wait(f func()) {
	if t.wait == nil {
		f()
		return
	}
	t.wait(f)
}
