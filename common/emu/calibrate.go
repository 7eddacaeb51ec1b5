package emu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// ErrOffTolerance is wrapped by the error of a calibration whose median is
// further from what was asked than its tolerance. A fake that gets it must not
// report a latency.
var ErrOffTolerance = errors.New("off by more than the tolerance")

const (
	calibrateFor     = 100 * time.Millisecond
	calibrateCalls   = 3       // at least, by each waiter
	calibrateSamples = 1 << 18 // at most, by all: 2 MB
)

// A Calibration compares what a waiter or a fake was asked with what it did.
type Calibration struct {
	Asked     time.Duration `json:"asked_ns"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	Tolerance time.Duration `json:"tolerance_ns"` // allowed distance of P50 from Asked
	Waiters   int           `json:"waiters"`      // concurrent callers, each in a closed loop
	Samples   int           `json:"samples"`      // calls measured
}

// Tolerance is the default allowed distance of the median from asked:
// 1 microsecond and 2 %.
func Tolerance(asked time.Duration) time.Duration {
	return time.Microsecond + asked/50
}

// String is one line, such as
// "asked 50us: p50 50.2us, p99 66us (10 waiters, 19880 samples, tolerance 2us)".
func (c Calibration) String() string {
	return fmt.Sprintf("asked %s: p50 %s, p99 %s (%d waiters, %d samples, tolerance %s)",
		formatDuration(c.Asked), formatDuration(c.P50), formatDuration(c.P99),
		c.Waiters, c.Samples, formatDuration(c.Tolerance))
}

// Err is nil if the median is within the tolerance. Else it wraps
// [ErrOffTolerance] and says what to do.
func (c Calibration) Err() error {
	off, what := c.P50-c.Asked, "use fewer callers, quieten the machine, or take a virtual rig"
	if off < 0 {
		off, what = -off, "the call returns before its time: let each call wait for its own latency"
	}
	if off <= c.Tolerance {
		return nil
	}
	return fmt.Errorf("emu: calibrate: %s: %w by %s; %s", c, ErrOffTolerance, formatDuration(off-c.Tolerance), what)
}

// Calibrate asks w to wait for d, with that many concurrent waiters, and
// reports what it achieved. See [CalibrateFunc]; the tolerance is
// [Tolerance] of d.
func Calibrate(ctx context.Context, w Waiter, d time.Duration, waiters int) (Calibration, error) {
	return CalibrateFunc(ctx, d, waiters, Tolerance(d), func(ctx context.Context) error {
		return Wait(ctx, w, d)
	})
}

// CalibrateFunc makes calls that should take asked each, from that many
// concurrent closed loops, and reports what they took. A fake passes one of
// its own operations, so that all of its path is calibrated, with a tolerance
// that allows for that path.
//
// It runs for about 100 ms, or three calls of each waiter if these take
// longer; the first call of each is a warm-up and isn't counted. Quantiles are
// by nearest rank. It uses the clock of its caller: wall-clock time, or
// virtual time in a bubble.
//
// The calibration is valid whenever there are samples, also beside an error
// that wraps [ErrOffTolerance]. Other errors are those of call and of ctx.
func CalibrateFunc(ctx context.Context, asked time.Duration, waiters int, tolerance time.Duration, call func(context.Context) error) (Calibration, error) {
	c := Calibration{Asked: asked, Tolerance: tolerance, Waiters: waiters}
	if asked < 0 || tolerance < 0 || waiters < 1 {
		return c, fmt.Errorf("emu: calibrate: asked %v, tolerance %v, %d waiters: times must not be negative and there must be a waiter", asked, tolerance, waiters)
	}
	most := max(calibrateCalls, calibrateSamples/waiters)
	took := make([][]time.Duration, waiters)
	start := make(chan struct{})
	g, ctx := errgroup.WithContext(ctx)
	for i := range took {
		g.Go(func() error {
			<-start
			if err := call(ctx); err != nil { // warm-up
				return err
			}
			began := time.Now()
			for now := began; len(took[i]) < most && (len(took[i]) < calibrateCalls || now.Sub(began) < calibrateFor); {
				if err := call(ctx); err != nil {
					return err
				}
				end := time.Now()
				took[i] = append(took[i], end.Sub(now))
				now = end
			}
			return nil
		})
	}
	close(start)
	if err := g.Wait(); err != nil {
		return c, fmt.Errorf("emu: calibrate: asked %s with %d waiters: %w", formatDuration(asked), waiters, err)
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	c.Samples = len(all)
	c.P50, c.P99 = nearestRank(all, 50), nearestRank(all, 99)
	return c, c.Err()
}

// nearestRank is the percentile of sorted, which must not be empty: the
// smallest value that at least percent % of the values don't exceed.
func nearestRank(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}
