package fake

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// fewCallers is how many callers a host of two cores wakes in time. More of them
// whose waits end together are woken one after the other.
const fewCallers = 10

// crowd is the tolerance for more callers, as a share of the latency. Deadlines
// are set at arrival, so that being late adds up only where a caller's next
// write waits for its last.
const crowd = 0.10

// Calibrate makes a device of that latency, lets so many callers at once write
// to it in closed loops, and says what they got. It gives an error that wraps
// emu.ErrOffTolerance if the median is off by more than 1 us + 2 % for up to
// ten callers, or by more than 10 % for more.
func Calibrate(ctx context.Context, latency time.Duration, callers int) (emu.Calibration, error) {
	const block = 4096
	d, err := New(Config{
		Size: int64(callers) * block, Block: block, Waiter: emu.Spin,
		Medium: OneWait{emu.NewSampler(emu.Constant(latency), 0)},
	})
	if err != nil {
		return emu.Calibration{}, fmt.Errorf("fake: calibrate for %d callers: %w", callers, err)
	}
	tolerance := emu.Tolerance(latency)
	if callers > fewCallers {
		tolerance = time.Duration(crowd * float64(latency))
	}
	slots := make(chan int64, callers) // each caller in flight has a block of its own
	for i := range callers {
		slots <- int64(i) * block
	}
	buf := make([]byte, block)
	return emu.CalibrateFunc(ctx, latency, callers, tolerance, func(ctx context.Context) error {
		off := <-slots
		defer func() { slots <- off }()
		return d.Write(ctx, rawblock.Write{Off: off, Buf: buf})
	})
}
