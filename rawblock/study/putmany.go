package study

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/lab"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
	"latlab.example/rawblock/uring"
)

// Factors of putmany that the store doesn't read.
var (
	keys    = lab.NewFactor("keys", 100, 10, 1000)
	payload = lab.NewFactor[lab.Bytes]("payload", 4<<10, 64, 64<<10, 256<<10)
)

// Device factors of the fakes. The study's latencies are 50 and 200 us.
var (
	latency  = lab.Latency(50*time.Microsecond, 200*time.Microsecond)
	channels = lab.Channels(32, 1, 2, 8)
	wide     = lab.Channels(1, 2, 4, 8, 16, 32, 64, 128, 256)

	breakEvenLatency = lab.Latency(200*time.Microsecond, 50*time.Microsecond)
)

var writeOutcomes = []lab.Unit{lab.Writes, flushes, queueDepth, lab.DeviceWrites, devSize, devMerges}

// PutMany is the study's main question. The rule is the study's own, for N=100.
var PutMany = lab.Experiment{
	Name:     "rawblock/putmany",
	Question: "When does one submission beat N writes?",
	Factors: []lab.Factor{
		rawblock.StrategyToggle, rawblock.EngineToggle, rawblock.LayoutToggle, rawblock.PlacementToggle,
		rawblock.DurabilityToggle, keys, payload,
	},
	Outcomes: writeOutcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(queueDepth, lab.Up),
	Stages:   rawblock.Stages,
	Rigs: []lab.Rig{
		putModel,
		emulated("channels", channelled(channels), fake.ChannelsAssumptions, putMany).With(channels),
		emulated("one-wait", oneWait, fake.OneWaitAssumptions, putMany),
		emulated("unbatched-headers", unbatchedHeaders, fake.UnbatchedHeadersAssumptions, putMany),
		slow("blockdev", putMany),
		onFile("file", putMany).With(uring.EntriesToggle, uring.RegisteredToggle, uring.SQPollToggle),
		onDevice("nvme", putMany).With(uring.EntriesToggle, uring.RegisteredToggle, uring.SQPollToggle),
	},
}

// BreakEven asks on how parallel a device the batch stops to pay. Its baseline is
// fan-out; --set strategy=pool,batch asks it of the pool.
var BreakEven = lab.Experiment{
	Name:     "rawblock/break-even",
	Question: "On how many channels does one submission stop to beat fan-out?",
	Factors: []lab.Factor{
		lab.NewFactor("strategy", rawblock.FanOut, rawblock.Pool, rawblock.Batch), rawblock.LayoutToggle, keys,
	},
	Cross:    []string{"strategy", "channels"},
	Outcomes: writeOutcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   rawblock.Stages,
	Rigs: []lab.Rig{
		breakEvenModel,
		spinning("channels", fake.ChannelsAssumptions, channelled(wide).open(putMany)).With(breakEvenLatency, wide),
	},
}

// putMany puts the same keys again and again, deleting them in between.
func putMany(dev rawblock.Device, a lab.Arm) (*subject, error) {
	s, err := newSubject(dev, a)
	if err != nil {
		return nil, err
	}
	s.outcomes, s.prepare = writeOutcomes, s.clear
	s.op = func(ctx context.Context) error {
		res, err := s.store.PutMany(ctx, s.keys, s.objects)
		if err == nil && res.Written != len(s.keys) {
			err = fmt.Errorf("wrote %d of %d keys", res.Written, len(s.keys))
		}
		return err
	}
	return s, nil
}
