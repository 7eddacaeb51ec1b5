package emu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// late is a waiter that is off by a fixed time.
type late struct {
	Waiter
	by time.Duration
}

func (l late) Until(ctx context.Context, t time.Time) error { return l.Waiter.Until(ctx, t.Add(l.by)) }

func TestCalibrate(t *testing.T) {
	const asked = 50 * time.Microsecond
	for _, tt := range []struct {
		name    string
		by      time.Duration
		waiters int
		advice  string // "" if in tolerance
	}{
		{"exact", 0, 1, ""},
		{"exact, many", 0, 1000, ""},
		{"at the tolerance", Tolerance(asked), 10, ""},
		{"late", Tolerance(asked) + 1, 10, "fewer callers"},
		{"early", -Tolerance(asked) - 1, 10, "before its time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c, err := Calibrate(t.Context(), late{Sleep, tt.by}, asked, tt.waiters)
				if took := time.Since(start); took > calibrateFor+3*(asked+tt.by) {
					t.Errorf("took %v", took)
				}
				if c.P50 != asked+tt.by || c.P99 != asked+tt.by || c.Asked != asked || c.Waiters != tt.waiters {
					t.Errorf("got %v", c)
				}
				if c.Samples < calibrateCalls*tt.waiters || c.Samples > calibrateSamples {
					t.Errorf("%d samples", c.Samples)
				}
				if tt.advice == "" {
					if err != nil {
						t.Errorf("refused: %v", err)
					}
					return
				}
				if !errors.Is(err, ErrOffTolerance) || !strings.Contains(err.Error(), tt.advice) {
					t.Errorf("error %v, want %v with %q", err, ErrOffTolerance, tt.advice)
				}
			})
		})
	}
}

func TestCalibrateLongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c, err := Calibrate(t.Context(), Sleep, time.Second, 2)
		if err != nil || c.Samples != 2*calibrateCalls {
			t.Errorf("got %v, %v", c, err)
		}
		if took := time.Since(start); took != (calibrateCalls+1)*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestCalibrateErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		waiters int
		work    int64 // calls before the first that doesn't
	}{"no waiters": {0, 0}, "warm-up fails": {3, 0}, "later call fails": {3, 5}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				c, err := CalibrateFunc(t.Context(), time.Millisecond, tt.waiters, 0, func(ctx context.Context) error {
					if calls.Add(1) > tt.work {
						return broken
					}
					return Wait(ctx, Sleep, time.Millisecond)
				})
				if err == nil || c.Samples != 0 {
					t.Errorf("got %v and no error", c)
				}
				if tt.waiters > 0 && !errors.Is(err, broken) {
					t.Errorf("error %v, want %v", err, broken)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Calibrate(ctx, Sleep, time.Hour, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// In wall-clock time only the bounds are sure on a machine that others use.
func TestCalibrateSpin(t *testing.T) {
	c, err := Calibrate(t.Context(), Spin, 50*time.Microsecond, 2)
	if err != nil && !errors.Is(err, ErrOffTolerance) {
		t.Fatal(err)
	}
	if c.P50 < c.Asked || c.P99 < c.P50 || c.Samples < 2*calibrateCalls {
		t.Errorf("got %v", c)
	}
	if (c.Err() == nil) != (err == nil) {
		t.Errorf("Err is %v, Calibrate said %v", c.Err(), err)
	}
}

func TestNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, tt := range []struct {
		of      []time.Duration
		percent int
		want    time.Duration
	}{{hundred, 50, 50}, {hundred, 99, 99}, {hundred[:1], 99, 1}, {hundred[:3], 50, 2}, {hundred[:4], 50, 2}, {hundred[:10], 99, 10}} {
		if got := nearestRank(tt.of, tt.percent); got != tt.want {
			t.Errorf("p%d of 1..%d is %d, want %d", tt.percent, len(tt.of), got, tt.want)
		}
	}
}

func ExampleCalibration() {
	c := Calibration{Asked: 50 * time.Microsecond, P50: 57500, P99: 78 * time.Microsecond, Tolerance: 2 * time.Microsecond, Waiters: 100, Samples: 170_000}
	fmt.Println(c)
	fmt.Println(c.Err())
	// Output:
	// asked 50us: p50 57.5us, p99 78us (100 waiters, 170000 samples, tolerance 2us)
	// emu: calibrate: asked 50us: p50 57.5us, p99 78us (100 waiters, 170000 samples, tolerance 2us): off by more than the tolerance by 5.5us; use fewer callers, quieten the machine, or take a virtual rig
}
