package emu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// A Waiter passes time for a fake. The rig picks it: [Spin] in wall-clock
// time, [Sleep] in virtual time. A Waiter is safe for concurrent use.
type Waiter interface {
	// Now is the waiter's present. Deadlines for Until are made from it.
	Now() time.Time

	// Until returns nil once Now is at or after t, and at once if it is
	// already. It returns ctx.Err() if ctx ended before.
	Until(ctx context.Context, t time.Time) error

	// String names the way of waiting, for provenance.
	String() string
}

// Wait passes d on w, from now on. Calls that must follow each other without
// drift add to their last deadline and use [Waiter.Until] instead.
func Wait(ctx context.Context, w Waiter, d time.Duration) error {
	return w.Until(ctx, w.Now().Add(d))
}

var (
	// Spin waits in wall-clock time. It yields the processor in a loop up to
	// the deadline, as Go's timers are up to a millisecond late; it sleeps
	// only for the part of a wait beyond 1.2 ms. Each waiter keeps a core
	// busy when there is nothing else to run. Past about 50 waiters a core
	// the deadlines slip: calibrate.
	//
	// Spin can't be used in a testing/synctest bubble, where the clock stands
	// still while a goroutine runs. It returns [ErrFrozen] there.
	Spin spin

	// Sleep waits with a plain timer. In a testing/synctest bubble it is
	// exact. In wall-clock time a short wait takes about a millisecond, so
	// it is no waiter for an emulated rig.
	Sleep sleep
)

var (
	_ Waiter = Spin
	_ Waiter = Sleep
)

// ErrFrozen is returned by [Spin] when the clock doesn't move while it spins.
var ErrFrozen = errors.New("the clock stands still")

const (
	// spinPart is left to spinning at the end of a longer wait. It is more
	// than the millisecond by which a timer can be late.
	spinPart = 1200 * time.Microsecond

	// frozenAfter is the number of loops on one clock reading after which
	// the clock is taken to be stopped. It takes seconds, where the coarsest
	// clock (Windows) stands still for 16 ms.
	frozenAfter = 10_000_000
)

type spin struct{}

func (spin) String() string { return "spin" }

func (spin) Now() time.Time { return time.Now() }

func (spin) Until(ctx context.Context, t time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	left := time.Until(t)
	if left > spinPart {
		if err := Sleep.Until(ctx, t.Add(-spinPart)); err != nil {
			return err
		}
		left = time.Until(t)
	}
	done := ctx.Done()
	for still := 0; left > 0; {
		select {
		case <-done:
			return ctx.Err()
		default:
		}
		runtime.Gosched()
		before := left
		if left = time.Until(t); left != before {
			still = 0
		} else if still++; still == frozenAfter {
			return fmt.Errorf("emu: spinning for the last %v of a wait: %w; in a testing/synctest bubble wait with emu.Sleep", left, ErrFrozen)
		}
	}
	return nil
}

type sleep struct{}

func (sleep) String() string { return "sleep" }

func (sleep) Now() time.Time { return time.Now() }

func (sleep) Until(ctx context.Context, t time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := time.Until(t)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		// When both happen at one instant of virtual time, select would
		// toss a coin: being there in time always wins.
		if time.Until(t) <= 0 {
			return nil
		}
		return ctx.Err()
	}
}
