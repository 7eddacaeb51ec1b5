package study

import (
	"context"
	"errors"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/rawblock/slowdisk"
)

// Factors of the block device with chosen latency. The kernel's path costs about
// 0.1 ms a request, so shorter ones aren't offered.
var (
	slowLatency  = lab.Latency(time.Millisecond, 5*time.Millisecond)
	slowChannels = lab.Channels(32, 1, 8)
)

// slow is the rig of a block device whose kernel path is real and whose medium
// is modelled.
func slow(name string, b build) lab.Rig {
	return spinning(name, slowdisk.Assumptions, func(a lab.Arm) (*subject, error) {
		size := sizeFor(a, 2*keys.Of(a), fakeBlock)
		disk, err := slowdisk.Open(context.Background(), slowdisk.Config{
			Size: (size + slowUnit - 1) / slowUnit * slowUnit, Latency: emu.Constant(slowLatency.Of(a)), Channels: slowChannels.Of(a),
		})
		if err != nil {
			return nil, unavailable(err)
		}
		f, err := disk.File()
		if err != nil {
			return nil, errors.Join(err, disk.Close())
		}
		s, err := onDisk(f, disk.Path(), a, b)
		if err != nil {
			return nil, errors.Join(err, disk.Close())
		}
		s.spun = slowLatency.Of(a)
		s.after = disk.Close
		return s, nil
	}).Requires(probeSlow).With(slowLatency, slowChannels)
}

const slowUnit = 1 << 20

// probeSlow says whether this process may make such a device.
func probeSlow(ctx context.Context) error {
	disk, err := slowdisk.Open(ctx, slowdisk.Config{Size: slowUnit, Latency: emu.Constant(0)})
	if err != nil {
		return unavailable(err)
	}
	return disk.Close()
}

func unavailable(err error) error {
	need := "fuse"
	if errors.Is(err, slowdisk.ErrLoop) {
		need = "loop"
	}
	return &lab.Unavailable{Need: need, Why: err.Error(), Do: "the other rigs run without"}
}
