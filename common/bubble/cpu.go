package bubble

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"
)

// CPU makes work cost virtual time. Its cores are shared by all jobs alike
// (processor sharing): of n jobs on c cores each progresses at min(1, c/n)
// times its speed alone. That is what a fair scheduler tends to as its time
// slice goes to zero; there is no cost for switching and no queue.
//
// The order of arrivals at one instant makes no difference. A job ends at the
// first whole nanosecond at which its work is done, and counts until then. The
// sums are exact to 2^-64 ns for each arrival or departure.
//
// Make it in the bubble. It is safe for concurrent use. On the wall clock
// timers are late by up to a millisecond, so it is of no use there.
type CPU struct {
	cores uint64
	made  time.Time

	mu       sync.Mutex  // never held across a wait
	at       time.Time   // guarded by mu: what follows is as of then
	attained progress    // guarded by mu: by each job that was there all the time
	jobs     jobs        // guarded by mu: those not done
	busy     uint64      // guarded by mu: nanoseconds of all cores
	timer    *time.Timer // guarded by mu: made by the first job
}

// NewCPU makes a CPU of so many cores. It panics if there is none.
func NewCPU(cores int) *CPU {
	if cores < 1 {
		panic(fmt.Sprintf("bubble: a CPU with %d cores; it needs one", cores))
	}
	now := time.Now()
	return &CPU{cores: uint64(cores), made: now, at: now}
}

// A job is one call of Use.
type job struct {
	end   progress // what CPU.attained will be when it is done
	index int      // in CPU.jobs, -1 when out of it
	done  chan struct{}
}

// Use takes so much time of one core and returns when it has got it. If ctx
// ends before, Use returns its error, and the time taken so far stays taken.
// Work that is done by the instant at which ctx ends is done.
func (c *CPU) Use(ctx context.Context, work time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if work <= 0 {
		return nil
	}
	j := &job{done: make(chan struct{})}
	c.mu.Lock()
	c.advance()
	j.end = c.attained.plus(progress{ns: uint64(work)})
	heap.Push(&c.jobs, j)
	c.setTimer()
	c.mu.Unlock()

	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	if j.index < 0 {
		return nil
	}
	heap.Remove(&c.jobs, j.index)
	c.setTimer()
	return ctx.Err()
}

// Busy is the time that the cores have worked, all together, up to now.
func (c *CPU) Busy() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return time.Duration(c.busy)
}

// Utilization is the part of all cores' time since NewCPU in which they
// worked, from 0 to 1. For a part of a run take the difference of two readings
// of Busy.
func (c *CPU) Utilization() float64 {
	busy, span := c.Busy(), time.Since(c.made)
	if span <= 0 {
		return 0
	}
	return float64(busy) / (float64(span) * float64(c.cores))
}

// advance brings the jobs up to now and lets go those that are done. It needs mu.
func (c *CPU) advance() {
	now := time.Now()
	// The timer runs at every instant at which a job ends, but at that instant
	// another goroutine may come first. So n holds for all of the span.
	span, n := uint64(max(now.Sub(c.at), 0)), uint64(len(c.jobs))
	c.at = now
	if n > 0 {
		c.attained = c.attained.plus(share(span, c.cores, n))
		c.busy += span * min(n, c.cores)
	}
	for len(c.jobs) > 0 && !c.attained.less(c.jobs[0].end) {
		close(heap.Pop(&c.jobs).(*job).done)
	}
	if len(c.jobs) == 0 {
		c.attained = progress{} // so that it doesn't grow for ever
	}
}

// setTimer sets the timer to the end of the next job. It needs mu.
func (c *CPU) setTimer() {
	if len(c.jobs) == 0 {
		if c.timer != nil {
			c.timer.Stop()
		}
		return
	}
	wait := time.Duration(span(c.jobs[0].end.minus(c.attained), c.cores, uint64(len(c.jobs))))
	if c.timer != nil {
		c.timer.Reset(wait)
		return
	}
	c.timer = time.AfterFunc(wait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.advance()
		c.setTimer()
	})
}

// jobs is a heap for container/heap, the first to be done first.
type jobs []*job

func (q jobs) Len() int           { return len(q) }
func (q jobs) Less(i, j int) bool { return q[i].end.less(q[j].end) }
func (q jobs) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *jobs) Push(x any) {
	j := x.(*job)
	j.index = len(*q)
	*q = append(*q, j)
}

func (q *jobs) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	j.index = -1
	return j
}
