package load

import (
	"context"
	"fmt"
	"math"
	"time"

	"latlab.example/common/emu"
)

// Closed is a closed loop: virtual users who each make a request, wait for its
// answer, think, and make the next. A slow answer delays the user's next request,
// so load falls as the system slows down, as it does with a fixed number of real
// users. What such a loop can't show is how requests would fare that didn't get
// made meanwhile: see [Open].
type Closed struct {
	// Users is the number of active users over time. User i is active while it is
	// at i+1 or higher. A user who becomes active makes a request at once, so a
	// jump starts all users in step; a ramp or a drawn think time spreads them. A
	// user who is to leave finishes the request in flight.
	Users Schedule
	// Think is the time from an answer to the next request: [emu.Constant],
	// [emu.CappedExponential], or [emu.Empirical] with p0 and p100 for a uniform
	// one. nil is none; a request that takes no time either, as one in a bubble
	// may, then never lets the run end. In wall-clock time a think time is up to
	// a millisecond longer than drawn, as timers are; [Report.Users] times the
	// window, less the time in flight, is what it really was.
	Think emu.Latency
	// PerUser is how many requests a user makes at most; 0 is no limit. The run
	// ends when all have made theirs.
	PerUser int
	Options
}

func (c Closed) check() error {
	if err := c.Users.check(); err != nil {
		return err
	}
	if top := c.Users.Max(); top < 1 || top > maxUsers {
		return fmt.Errorf("load: schedule %q: %w: at most %v users; it must be from 1 to %d", c.Users, ErrConfig, top, maxUsers)
	}
	if c.PerUser < 0 {
		return fmt.Errorf("load: %d requests a user: %w: it must not be negative", c.PerUser, ErrConfig)
	}
	return c.Options.check()
}

// maxUsers guards against a slip of the pen: each user is a goroutine.
const maxUsers = 1_000_000

// String names the load.
func (c Closed) String() string {
	s := fmt.Sprintf("closed(%v)", c.Users)
	if c.Think != nil {
		s += fmt.Sprintf(" think %v", c.Think)
	}
	if c.PerUser > 0 {
		s += fmt.Sprintf(" x %d", c.PerUser)
	}
	return s
}

// Run makes requests until the schedule ends, all users made theirs, or ctx ends,
// and waits for those in flight. The end of ctx is a way to stop, not an error:
// the report has what completed before, and says so. The error wraps
// [ErrConfig] or, for a bug in this package, [ErrLittle].
//
// In a testing/synctest bubble a run takes virtual time, and the same seed gives
// the same report if do, too, depends on nothing but its arguments and the time.
func (c Closed) Run(ctx context.Context, do Func) (Report, error) {
	if err := c.check(); err != nil {
		return Report{}, err
	}
	r := start(ctx, c.Options, do)
	r.limit(c.Users.Length())
	users := int(math.Floor(c.Users.Max()))
	done := make([]bool, users)
	for i := range users {
		r.wg.Go(func() { done[i] = c.user(r, i) })
	}
	r.wg.Wait()
	stopped := "schedule"
	if c.PerUser > 0 && all(done) {
		stopped = "count"
	}
	rep, err := r.finish(stopped)
	rep.Load = c.String()
	return rep, err
}

func all(done []bool) bool {
	for _, d := range done {
		if !d {
			return false
		}
	}
	return true
}

// user is the life of one user. It tells whether all requests were made.
func (c Closed) user(r *run, i int) bool {
	n := 0
	for _, s := range c.Users.above(float64(i + 1)) {
		if !r.sleep(s.on) {
			return false
		}
		now := r.now()
		if now >= s.off {
			continue // the last request took longer than the break
		}
		r.userOn(now)
		for now < s.off && r.ctx.Err() == nil {
			now = r.request(i, n, now)
			n++
			if n == c.PerUser {
				break
			}
			if c.Think != nil && now < s.off {
				think := c.Think.Draw(mix(r.opts.Seed, streamThink, uint64(i)), uint64(n))
				if !r.sleep(now + min(think, s.off-now)) {
					now = r.now()
					break
				}
				now = r.now()
			}
		}
		r.userOff(now)
		if n == c.PerUser || r.ctx.Err() != nil {
			return n == c.PerUser
		}
	}
	return false
}

// sleep waits until at, and reports false if the run was stopped before.
func (r *run) sleep(at time.Duration) bool {
	return emu.Sleep.Until(r.ctx, r.zero.Add(at)) == nil
}
