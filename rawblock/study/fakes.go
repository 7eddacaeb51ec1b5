package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

func channelled(channels *metrics.Toggle[int]) medium {
	return func(a lab.Arm, l *emu.Sampler) (fake.Medium, error) { return fake.NewChannels(channels.Of(a), l, 0) }
}

func oneWait(_ lab.Arm, l *emu.Sampler) (fake.Medium, error) { return fake.OneWait{Latency: l}, nil }

func unbatchedHeaders(_ lab.Arm, l *emu.Sampler) (fake.Medium, error) {
	return fake.UnbatchedHeaders{Latency: l}, nil
}

// medium makes what lies behind an arm's fake device.
type medium func(lab.Arm, *emu.Sampler) (fake.Medium, error)

// emulated is the rig of a fake with the medium.
func emulated(name string, m medium, assume []string, b build) lab.Rig {
	return spinning(name, assume, m.open(b)).With(latency)
}

// spinning is a rig whose device waits with emu.Spin. The arm itself calibrates it.
func spinning(name string, assume []string, open func(lab.Arm) (*subject, error)) lab.Rig {
	return lab.Emulated(name, append(slices.Clip(assume), spun), calibrate(open),
		func(_ context.Context, a lab.Arm) (lab.Subject, error) { return open(a) })
}

const spun = "waits are spun on this host's cores, which the code under test shares"

// open makes a subject on a fake. Engine posix has no batches.
func (m medium) open(b build) func(lab.Arm) (*subject, error) {
	return func(a lab.Arm) (*subject, error) {
		behind, err := m(a, emu.NewSampler(emu.Constant(latency.Of(a)), 0))
		if err != nil {
			return nil, err
		}
		// Twice the keys, so that a PutMany doesn't write where the last one did.
		size := sizeFor(a, 2*keys.Of(a), fakeBlock)
		dev, err := fake.New(fake.Config{Size: size, Block: fakeBlock, Medium: behind, Waiter: emu.Spin})
		if err != nil {
			return nil, err
		}
		var under rawblock.Device = fake.Batching{Device: dev}
		if rawblock.EngineToggle.Of(a) == rawblock.Posix {
			under = dev
		}
		s, err := b(under, a)
		if err != nil {
			return nil, err
		}
		s.usage = func() (usage, error) { return fakeUsage(dev.Use()), nil }
		s.spun = latency.Of(a)
		return s, nil
	}
}

const (
	calibrateFor = 100 * time.Millisecond
	calibrations = 3 // how often a fake may try: a disturbance of the host passes
)

// calibrate runs the arm itself for a while, and looks how well its device kept
// time under that load.
func calibrate(open func(lab.Arm) (*subject, error)) lab.Calibrate {
	return func(ctx context.Context, a lab.Arm) (text string, err error) {
		s, err := open(a)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		for try := 1; ; try++ {
			c, err := s.run(ctx, &lab.Trial{Plan: lab.Plan{Min: calibrateFor}})
			if err == nil || try == calibrations || !errors.Is(err, emu.ErrOffTolerance) {
				return fmt.Sprintf("waits of %v ended %v late in the median (allowed: %v) and %v at p99; %d waits of %d callers, try %d of %d",
					c.Asked, c.P50-c.Asked, c.Tolerance, c.P99-c.Asked, c.Samples, c.Waiters, try, calibrations), err
			}
		}
	}
}

const fakeBlock = 4096

// slotSize is the size of an arm's slots on a device with that block.
func slotSize(a lab.Arm, block int) int64 {
	return rawblock.SlotSize(int(payload.Of(a)), rawblock.LayoutToggle.Of(a), block)
}

// sizeFor is the size of a device with that block for so many of an arm's slots.
func sizeFor(a lab.Arm, slots, block int) int64 {
	return rawblock.SizeFor(slots, int(payload.Of(a)), rawblock.LayoutToggle.Of(a), block)
}

type fakeUsage fake.Use

func (u fakeUsage) since(earlier usage, took time.Duration) deviceUse {
	e := earlier.(fakeUsage)
	use := deviceUse{depth: float64(u.Stay-e.Stay) / float64(took), writes: float64(u.Writes - e.Writes)}
	if use.writes > 0 {
		use.size = float64(u.Bytes-e.Bytes) / use.writes
	}
	return use
}
