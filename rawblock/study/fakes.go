package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

func channelled(a lab.Arm, l *emu.Sampler) (fake.Medium, error) {
	return fake.NewChannels(channels.Of(a), l, 0)
}

func oneWait(_ lab.Arm, l *emu.Sampler) (fake.Medium, error) { return fake.OneWait{Latency: l}, nil }

func unbatchedHeaders(_ lab.Arm, l *emu.Sampler) (fake.Medium, error) {
	return fake.UnbatchedHeaders{Latency: l}, nil
}

// medium makes what lies behind an arm's fake device.
type medium func(lab.Arm, *emu.Sampler) (fake.Medium, error)

// emulated is the rig of a fake with the medium.
func emulated(name string, m medium, assume []string) lab.Rig {
	return lab.Emulated(name, append(slices.Clip(assume), spun), m.calibrate, m.open).With(latency)
}

const spun = "waits are spun on this host's cores, which the code under test shares"

// open makes a store on a fake. Engine posix has no batches.
func (m medium) open(_ context.Context, a lab.Arm) (lab.Subject, error) {
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
	return newSubject(under, a, func() (usage, error) { return fakeUsage(dev.Use()), nil })
}

const (
	calibrateFor = 100 * time.Millisecond
	calibrations = 3 // how often a fake may try: a disturbance of the host passes
)

// calibrate runs the arm itself for a while, and looks how well its device kept
// time under that load.
func (m medium) calibrate(ctx context.Context, a lab.Arm) (text string, err error) {
	s, err := m.open(ctx, a)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for try := 1; ; try++ {
		c, err := emu.CalibrateLoad(latency.Of(a), callers(a), func() error {
			return s.Trial(ctx, &lab.Trial{Plan: lab.Plan{Min: calibrateFor}})
		})
		if err == nil || try == calibrations || !errors.Is(err, emu.ErrOffTolerance) {
			return fmt.Sprintf("waits of %v ended %v late in the median (allowed: %v) and %v at p99; %d waits of %d callers, try %d of %d",
				c.Asked, c.P50-c.Asked, c.Tolerance, c.P99-c.Asked, c.Samples, c.Waiters, try, calibrations), err
		}
	}
}

// callers is how many goroutines of an arm use its device at once.
func callers(a lab.Arm) int {
	switch rawblock.StrategyToggle.Of(a) {
	case rawblock.FanOut:
		return keys.Of(a)
	case rawblock.Pool:
		return min(rawblock.DefaultWorkers, keys.Of(a))
	}
	return 1
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

func (u fakeUsage) since(earlier usage, took time.Duration) (deviceUse, error) {
	e := earlier.(fakeUsage)
	writes := float64(u.Writes - e.Writes)
	return deviceUse{
		depth:  float64(u.Stay-e.Stay) / float64(took),
		writes: writes,
		size:   float64(u.Bytes-e.Bytes) / writes,
	}, nil
}
