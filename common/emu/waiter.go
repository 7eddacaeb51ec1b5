package emu

import (
	"context"
	"errors"
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
	// Spin waits in wall-clock time. Go's timers are up to a millisecond
	// late, so for the last 1.2 ms of a wait it watches the clock instead.
	// Whatever the number of waiters, one goroutine of the process watches
	// for all and keeps one core busy; the others are left to the code under
	// test and to the network, which the Go runtime neglects when all cores
	// spin. So with GOMAXPROCS=1 real sockets are slow beside it. Goroutines
	// that compute on every core make it late by their time slices of 10 ms,
	// and there is a limit of about a million waits a second: calibrate.
	//
	// Spin can't be used in a testing/synctest bubble, where the clock stands
	// still while a goroutine runs. It returns [ErrBubble] there.
	Spin = newSpinner()

	// Sleep waits with a plain timer. In a testing/synctest bubble it is
	// exact. In wall-clock time a short wait takes about a millisecond, so
	// it is no waiter for an emulated rig.
	Sleep Waiter = sleep{}
)

// ErrBubble is wrapped by the error of [Spin] in a testing/synctest bubble.
var ErrBubble = errors.New("spinning never ends in a testing/synctest bubble")

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
