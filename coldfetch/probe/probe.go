// Package probe has four ways to notice that a service is in trouble, each of
// which is blind to something that another sees:
//
//   - [StartLag]: how long the executor lets a callback wait;
//   - [StartScheduler]: how long goroutines waited for a processor;
//   - [StartTimer]: how late a sleep ends;
//   - [Health]: an open loop of requests to the health endpoint.
//
// All sample when they are due, whether or not the last sample has come back. A
// probe that waits for its answer takes fewest samples when things are worst.
package probe

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime/metrics"
	"sync"
	"time"

	"latlab.example/coldfetch/exec"
	"latlab.example/common/load"
	stages "latlab.example/common/metrics"
)

// Reading is what a probe saw.
type Reading struct {
	Name   string
	Dist   stages.Dist   // of lateness, or of waiting
	Events int           // samples of exec.SlowTurn and longer
	Sum    time.Duration // of those
	Blind  string        // to what the probe is blind
}

func (r Reading) String() string {
	d := func(q float64) time.Duration { return time.Duration(r.Dist.Quantile(q)) }
	return fmt.Sprintf("%s: %d samples, p50 %v, p95 %v, max %v, %d events of %v in all; blind to %s",
		r.Name, r.Dist.Count(), d(0.5), d(0.95), time.Duration(r.Dist.Max()), r.Events, r.Sum, r.Blind)
}

// What the probes are blind to.
const (
	BlindLag       = "most of a shortage of processors, where each handler has a goroutine of its own: its callback computes nothing, and begins as soon as its starter has run"
	BlindScheduler = "a loop that is busy: its goroutine runs, and what waits for it is asleep and not runnable"
	BlindTimer     = "a loop that is busy and queues of any kind: it waits for nobody but the scheduler and the timers"
	BlindHealth    = "the cause: it sees that somebody waits, not for what; and a route with its own limits may look well when others don't"
)

// sampler collects lateness.
type sampler struct {
	mu     sync.Mutex
	hist   stages.Histogram
	events int           // guarded by mu
	sum    time.Duration // guarded by mu
}

func (s *sampler) add(d time.Duration) {
	s.hist.Record(int64(d))
	if d < exec.SlowTurn {
		return
	}
	s.mu.Lock()
	s.events++
	s.sum += d
	s.mu.Unlock()
}

func (s *sampler) reading(name, blind string) Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Reading{Name: name, Dist: s.hist.Snapshot(), Events: s.events, Sum: s.sum, Blind: blind}
}

// Probe samples in the background.
type Probe struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	read   func() Reading
}

// Stop ends the sampling, waits for samples under way, and gives what was seen.
func (p *Probe) Stop() Reading {
	p.cancel()
	p.done.Wait()
	return p.read()
}

// start calls sample at each multiple of interval from now, on a goroutine of its
// own, with the time at which it was due.
func start(ctx context.Context, interval time.Duration, p *Probe, sample func(due time.Time)) {
	ctx, p.cancel = context.WithCancel(ctx)
	p.done.Go(func() {
		for due := time.Now().Add(interval); ; due = due.Add(interval) {
			timer := time.NewTimer(time.Until(due))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			sample(due)
		}
	})
}

// StartLag has e run a callback every interval, each on a goroutine of its own, and
// takes how long it was before the callback began: what asyncio calls loop lag.
// Its samples under way at Stop are waited for, so stop it before e closes.
func StartLag(ctx context.Context, e exec.Executor, interval time.Duration) *Probe {
	var s sampler
	p := &Probe{}
	p.read = func() Reading { return s.reading("loop lag", BlindLag) }
	start(ctx, interval, p, func(time.Time) {
		handed := time.Now() // and not when it was due: that a timer is late is StartTimer's to see
		p.done.Go(func() {
			// Its own context: a sample that was due counts although the probe stops.
			_ = e.Light(context.WithoutCancel(ctx), func(*exec.Task) { s.add(time.Since(handed)) }) // a closed executor has no lag
		})
	})
	return p
}

// StartTimer sleeps for interval again and again, and takes how late each sleep
// ended.
func StartTimer(ctx context.Context, interval time.Duration) *Probe {
	var s sampler
	p := &Probe{}
	p.read = func() Reading { return s.reading("timer overshoot", BlindTimer) }
	start(ctx, interval, p, func(due time.Time) { s.add(time.Since(due)) })
	return p
}

const schedLatencies = "/sched/latencies:seconds"

// StartScheduler takes the runtime's own count of how long goroutines were ready
// before they ran, as the difference from now to Stop. Its buckets are the
// runtime's, each counted at its upper bound. It is of the whole process.
func StartScheduler() *Probe {
	before := schedHistogram()
	p := &Probe{cancel: func() {}}
	p.read = func() Reading {
		var s sampler
		after := schedHistogram()
		if after == nil {
			return s.reading("scheduler", BlindScheduler)
		}
		for i, n := range after.Counts {
			if before != nil {
				n -= before.Counts[i]
			}
			at := after.Buckets[i+1]
			if math.IsInf(at, 1) {
				at = after.Buckets[i]
			}
			for range n {
				s.add(time.Duration(at * float64(time.Second)))
			}
		}
		return s.reading("scheduler", BlindScheduler)
	}
	return p
}

func schedHistogram() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: schedLatencies}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil // a release of Go without it
	}
	return sample[0].Value.Float64Histogram()
}

// Health asks url at an even rate until ctx ends or the time is over.
func Health(ctx context.Context, c *http.Client, url string, perSec float64, d time.Duration) (load.Report, error) {
	return load.Open{Arrivals: load.Even(load.Hold(perSec, d))}.Run(ctx, func(ctx context.Context, _ load.Request) error {
		return Get(ctx, c, url)
	})
}

// Get asks for a page and reads it to its end, so that its connection can be used
// again. An answer other than 200 is an error.
func Get(ctx context.Context, c *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if cerr := res.Body.Close(); err == nil {
		err = cerr
	}
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, res.Status)
	}
	return err
}
