package fake

import (
	"context"
	"sync"
	"time"

	"latlab.example/common/emu"
)

// cores are a CPU in wall-clock time: jobs get the core that is free first, in
// order of arrival, and keep it. Without cores there is no queue.
type cores struct {
	waiter emu.Waiter

	mu   sync.Mutex
	free []time.Time // guarded by mu: when each core is free
}

func newCores(n int, w emu.Waiter) *cores { return &cores{waiter: w, free: make([]time.Time, n)} }

// Use books the work and waits for its end. What was booked stays so, though ctx
// ends before.
func (c *cores) Use(ctx context.Context, work time.Duration) error {
	if work <= 0 {
		return ctx.Err()
	}
	c.mu.Lock()
	end := c.waiter.Now()
	if len(c.free) > 0 {
		first := 0
		for i, at := range c.free {
			if at.Before(c.free[first]) {
				first = i
			}
		}
		if at := c.free[first]; at.After(end) {
			end = at
		}
		end = end.Add(work)
		c.free[first] = end
	} else {
		end = end.Add(work)
	}
	c.mu.Unlock()
	return c.waiter.Until(ctx, end)
}
