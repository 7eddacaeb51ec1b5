package study

import (
	"context"
	"fmt"
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

// openFake opens a store on a fake with the medium. Engine posix has no batches.
func openFake(medium func(lab.Arm, *emu.Sampler) (fake.Medium, error)) lab.Open {
	return func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		m, err := medium(a, emu.NewSampler(emu.Constant(latency.Of(a)), 0))
		if err != nil {
			return nil, err
		}
		// Twice the keys, so that a PutMany doesn't write where the last one did.
		slot := slotSize(a, fakeBlock)
		dev, err := fake.New(fake.Config{Size: int64(2*keys.Of(a)) * slot, Block: fakeBlock, Medium: m, Waiter: emu.Spin})
		if err != nil {
			return nil, err
		}
		read := func() (usage, error) { return fakeUsage(dev.Use()), nil }
		if rawblock.EngineToggle.Of(a) == rawblock.Posix {
			return newSubject(dev, a, read)
		}
		return newSubject(fake.Batching{Device: dev}, a, read)
	}
}

const fakeBlock = 4096

// slotSize is the size of an arm's slots on a device with that block.
func slotSize(a lab.Arm, block int) int64 {
	return rawblock.SlotSize(int(payload.Of(a)), rawblock.LayoutToggle.Of(a), block)
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

// calibrations is how often a fake may try: a disturbance of the host passes.
const calibrations = 3

// calibrate lets as many callers wait as the arm will have.
func calibrate(ctx context.Context, a lab.Arm) (string, error) {
	callers := 1
	switch rawblock.StrategyToggle.Of(a) {
	case rawblock.FanOut:
		callers = keys.Of(a)
	case rawblock.Pool:
		callers = min(rawblock.DefaultWorkers, keys.Of(a))
	}
	for try := 1; ; try++ {
		c, err := fake.Calibrate(ctx, latency.Of(a), callers)
		if err == nil || try == calibrations || ctx.Err() != nil {
			return fmt.Sprintf("%v, try %d of %d", c, try, calibrations), err
		}
	}
}
