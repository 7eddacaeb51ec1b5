package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"latlab.example/common/emu"
)

// Open is an open loop: requests come when they are due, whether or not the ones
// before were answered, as from a public that doesn't know of each other. Response
// times count from when a request was due, so what a stall does to those who came
// meanwhile isn't omitted, even if the generator itself was held up.
type Open struct {
	Arrivals Arrivals
	// Requests is how many arrivals there are at most; 0 is no limit.
	Requests int
	// MaxInFlight bounds the requests in flight. An arrival beyond it is dropped
	// and counted as such: it is neither a success nor an error. 0 is no bound.
	MaxInFlight int
	// Waiter waits for the next arrival. nil is [emu.Sleep]: in wall-clock time,
	// timers are up to a millisecond late, and all requests that became due
	// meanwhile are released together; the lag is in the report. [emu.Spin]
	// releases each to some microseconds and keeps a core busy: with few cores
	// and real sockets it slows down what it measures. In a bubble it must be
	// nil.
	Waiter emu.Waiter
	Options
}

func (o Open) check() error {
	switch {
	case o.Arrivals == nil:
		return fmt.Errorf("load: open loop without arrivals: %w: give load.Even or load.Poisson", ErrConfig)
	case o.Requests < 0 || o.MaxInFlight < 0:
		return fmt.Errorf("load: at most %d requests, %d in flight: %w: limits must not be negative", o.Requests, o.MaxInFlight, ErrConfig)
	}
	if err := o.Arrivals.Check(); err != nil {
		return err
	}
	return o.Options.check()
}

// String names the load.
func (o Open) String() string {
	s := fmt.Sprintf("open %v", o.Arrivals)
	if o.Requests > 0 {
		s += fmt.Sprintf(" x %d", o.Requests)
	}
	if o.MaxInFlight > 0 {
		s += fmt.Sprintf(" at most %d in flight", o.MaxInFlight)
	}
	return s
}

// Run makes requests until the arrivals or ctx end, and waits for those in flight.
// The end of ctx is a way to stop, not an error: the report has what completed
// before, and says so. The error wraps [ErrConfig], the error of the waiter, or,
// for a bug in this package, [ErrLittle].
//
// In a testing/synctest bubble a run takes virtual time, and the same seed gives
// the same report if do, too, depends on nothing but its arguments and the time.
func (o Open) Run(ctx context.Context, do Func) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	g := generator{Open: o, run: start(ctx, o.Options, do), jobs: make(chan job)}
	if g.Waiter == nil {
		g.Waiter = emu.Sleep
	}
	if g.MaxInFlight == 0 {
		g.MaxInFlight = math.MaxInt
	}
	stopped, err := g.generate()
	close(g.jobs)
	g.run.limit(0)
	rep, ferr := g.run.finish(stopped)
	rep.Load = o.String()
	return rep, errors.Join(err, ferr)
}

// job is one arrival.
type job struct {
	n        int
	intended time.Duration
}

// A generator is an open loop that runs. Workers make the requests; one that is
// free takes the next job, and if none is, a new one begins.
type generator struct {
	Open
	run  *run
	jobs chan job // unbuffered

	mu      sync.Mutex
	flying  int  // guarded by mu
	pending *job // guarded by mu: see admit
}

// generate releases each arrival when it is due. It tells what ended them.
func (g *generator) generate() (stopped string, err error) {
	n := 0
	for at := range g.Arrivals.Due(g.Seed) {
		if n == g.Requests && n > 0 {
			return "count", nil
		}
		if at > g.run.now() {
			err = g.Waiter.Until(g.run.ctx, g.run.zero.Add(at))
		}
		if g.run.ctx.Err() != nil {
			return "context", nil
		}
		if err != nil {
			return "its waiter", fmt.Errorf("load: wait for request %d: %w", n, err)
		}
		g.run.due(at, !g.admit(job{n, at}))
		n++
	}
	return "schedule", nil
}

// admit has a request made, unless too many are in flight.
//
// In virtual time, another request often ends at the very nanosecond that this
// one is due, and the order of goroutines would decide whether there is room. So
// the job is left pending for that nanosecond, and a request that ends in it takes
// it over, at no loss of time. In wall-clock time this hardly ever happens.
func (g *generator) admit(j job) bool {
	g.mu.Lock()
	switch {
	case g.flying < g.MaxInFlight:
		g.flying++
		g.mu.Unlock()
		g.release(j)
		return true
	case g.run.now() != j.intended:
		g.mu.Unlock()
		return false
	}
	g.pending = &j
	g.mu.Unlock()
	time.Sleep(time.Nanosecond)
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.pending == nil
	g.pending = nil
	return taken
}

func (g *generator) release(j job) {
	select {
	case g.jobs <- j:
	default:
		g.run.wg.Go(func() {
			g.serve(j)
			for j := range g.jobs {
				g.serve(j)
			}
		})
	}
}

// serve makes a request, and those that it takes over when it ends.
func (g *generator) serve(j job) {
	for next := &j; next != nil; {
		end := g.run.request(0, next.n, next.intended)
		g.mu.Lock()
		if next = g.pending; next != nil && next.intended == end {
			g.pending = nil
		} else {
			next = nil
			g.flying--
		}
		g.mu.Unlock()
	}
}
