package bubble

import (
	"errors"
	"fmt"
	"runtime"
)

// Errors that Run wraps. What the function itself returns is returned as it is.
var (
	// ErrDeadlock occurs when every goroutine is blocked, no timer is set, and
	// the function hasn't returned. The error is a *BlockedError.
	ErrDeadlock = errors.New("deadlock")
	// ErrLeak occurs when the function has returned and goroutines that it
	// started are still there ten virtual seconds later. They stay until the
	// process ends. The error is a *BlockedError.
	ErrLeak = errors.New("goroutines are left")
	// ErrStuck occurs when the bubble is still there five seconds after its
	// context ended. Its goroutines stay, and may go on. The error is a
	// *BlockedError.
	ErrStuck = errors.New("stuck")
	// ErrPanic occurs when the function panics. The error is a *PanicError.
	ErrPanic = errors.New("panic")
	// ErrExit occurs when the function ends its goroutine, as FailNow and
	// SkipNow of testing do.
	ErrExit = errors.New("the function ended its goroutine")
	// ErrRace occurs when the race detector found a race during the run.
	ErrRace = errors.New("the race detector found a race")
	// ErrNested occurs when Run is called in a bubble.
	ErrNested = errors.New("a bubble can't run in a bubble")
	// ErrBroken occurs when this Go release no longer runs bubbles in the way
	// that the package knows.
	ErrBroken = errors.New("bubbles don't work with this release of Go")
)

// PanicError is a panic of the function that Run called.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine, as debug.Stack gives it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("bubble: %v: %v\n%s", ErrPanic, e.Value, e.Stack)
}

// Unwrap makes errors.Is work for ErrPanic and for a panic with an error.
func (e *PanicError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{ErrPanic, err}
	}
	return []error{ErrPanic}
}

func broken(why string) error {
	return fmt.Errorf("bubble: %w (%s): %s; build with Go 1.26", ErrBroken, runtime.Version(), why)
}
