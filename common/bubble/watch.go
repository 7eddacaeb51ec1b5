package bubble

import (
	"context"
	"time"
)

// A goroutine outside a bubble can't wake one inside: the runtime forbids it.
// So one inside looks from time to time whether the outer context has ended.
// In virtual time there is no good period for that: a second can pass in a
// microsecond or in a minute. The period follows the wall clock, which Run's
// own goroutine counts.

const (
	// wallTick is the unit of bubble.ticks, and about how often the bubble
	// looks at the outer context.
	wallTick = 5 * time.Millisecond

	firstLook = 1_000_003 * time.Nanosecond // seldom the same instant as a round timer of the user

	// lastLook ends the watch, so that it doesn't hide a deadlock. If all
	// others are blocked, the period doubles at each look, as no wall-clock
	// time passes in between, and after some 40 looks it is here.
	lastLook = 50 * 365 * 24 * time.Hour
)

// attend is Run's goroutine, while the bubble is there and has a context that
// can end.
func (b *bubble) attend() error {
	tick := time.NewTicker(wallTick)
	defer tick.Stop()
	done := b.done
	var late <-chan time.Time
	for {
		select {
		case <-b.over:
			return b.result()
		case <-tick.C:
			b.ticks.Add(1)
		case <-done:
			b.gone.Store(true)
			done = nil
			late = time.After(grace)
		case <-late:
			return b.blocked(ErrStuck, "f must return when its context ends; a goroutine that isn't marked durable stops the clock: look for a loop, a mutex held across a sleep, a socket or a channel from outside")
		}
	}
}

// watch runs in the bubble. It ends the inner context when the outer has ended.
func (b *bubble) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	period := firstLook
	timer := time.NewTimer(period)
	defer timer.Stop()
	for before := b.ticks.Load(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if b.gone.Load() {
			cancel(context.Cause(b.outer))
			return
		}
		switch now := b.ticks.Load(); {
		case now > before+1:
			period = max(period/2, time.Microsecond)
			before = now
		case now == before:
			period *= 2
		default:
			before = now
		}
		if period > lastLook {
			return
		}
		timer.Reset(period)
	}
}
