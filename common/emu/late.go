package emu

import (
	"fmt"
	"time"

	"latlab.example/common/metrics"
)

// Lateness tells how long after their deadlines [Spin] released waits, in
// nanoseconds, in the whole process, since the last call. From then on a waiter
// can run; when it does is a matter of free processors, as it is behind a real
// device.
func (s *spinner) Lateness() metrics.Dist {
	d := s.late.Snapshot()
	s.late.Reset()
	return d
}

// CalibrateLoad runs load, whose waits of asked each are passed with [Spin], and
// reports how late they were released: P50 and P99 are asked and that lateness.
// So a fake is judged under its callers' own load, whatever their number, and
// not blamed for the time that they wait for a processor. It must be the only
// user of Spin in the process meanwhile.
//
// The error is load's, or wraps [ErrOffTolerance] if the median is late by more
// than [Tolerance] of asked; the calibration is valid then.
func CalibrateLoad(asked time.Duration, waiters int, load func() error) (Calibration, error) {
	Spin.Lateness() // what was before isn't load's
	if err := load(); err != nil {
		return Calibration{}, err
	}
	late := Spin.Lateness()
	if late.Count() == 0 {
		return Calibration{}, fmt.Errorf("emu: calibrate: the load never waited with Spin; let it wait, or use CalibrateFunc")
	}
	c := Calibration{
		Asked: asked, Tolerance: Tolerance(asked), Waiters: waiters, Samples: int(late.Count()),
		P50: asked + time.Duration(late.Quantile(0.50)), P99: asked + time.Duration(late.Quantile(0.99)),
	}
	return c, c.Err()
}
