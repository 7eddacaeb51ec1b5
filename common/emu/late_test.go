package emu_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"latlab.example/common/emu"
)

// spinAll lets so many waiters pass 50 us each, again and again.
func spinAll(tb testing.TB, waiters, times int) func() error {
	return func() error {
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				for range times {
					if err := emu.Wait(tb.Context(), emu.Spin, 50*time.Microsecond); err != nil {
						tb.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return nil
	}
}

func TestCalibrateLoadCountsItsOwnWaits(t *testing.T) {
	if err := spinAll(t, 3, 7)(); err != nil { // before the load: not its waits
		t.Fatal(err)
	}
	for _, waiters := range []int{1, 10} {
		c, err := emu.CalibrateLoad(50*time.Microsecond, waiters, spinAll(t, waiters, 20))
		if err != nil && !errors.Is(err, emu.ErrOffTolerance) { // the host may be busy
			t.Fatal(err)
		}
		if c.Samples != 20*waiters || c.Waiters != waiters || c.P50 < c.Asked || c.P99 < c.P50 {
			t.Errorf("%d waiters: %v; want each of their 20 waits, none early", waiters, c)
		}
	}
}

func TestCalibrateLoadFails(t *testing.T) {
	broken := errors.New("broken")
	if _, err := emu.CalibrateLoad(time.Microsecond, 1, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a load that fails: %v", err)
	}
	if c, err := emu.CalibrateLoad(time.Microsecond, 1, func() error { return nil }); err == nil {
		t.Errorf("a load that never waits: %v, want an error", c)
	}
}

// BenchmarkCalibrateLoad shows the fakes' own error, without their callers' wait
// for a processor, which BenchmarkWaiter includes.
func BenchmarkCalibrateLoad(b *testing.B) {
	for _, waiters := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("waiters=", waiters), func(b *testing.B) {
			var c emu.Calibration
			for b.Loop() {
				c, _ = emu.CalibrateLoad(50*time.Microsecond, waiters, spinAll(b, waiters, 1000)) // off or not, it is reported
			}
			b.ReportMetric(float64(c.P50)/1e3, "p50-us")
			b.ReportMetric(float64(c.P99)/1e3, "p99-us")
		})
	}
}
