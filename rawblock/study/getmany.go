package study

import (
	"context"
	"errors"
	"fmt"

	"latlab.example/common/lab"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

// reading is how the keys are read back.
type reading string

const (
	loop reading = "loop" // Get, key by key
	many reading = "many" // GetMany, one submission
)

var readToggle = lab.NewFactor("read", loop, many)

// GetMany asks of reads what PutMany asks of writes.
var GetMany = lab.Experiment{
	Name:     "rawblock/getmany",
	Question: "What does one submission of N reads save?",
	Factors:  []lab.Factor{readToggle, rawblock.EngineToggle, rawblock.PlacementToggle, keys, payload},
	Outcomes: []lab.Unit{lab.Reads, queueDepth},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(queueDepth, lab.Up),
	Rigs: []lab.Rig{
		getModel,
		emulated("channels", channelled(channels), fake.ChannelsAssumptions, getMany).With(channels),
		onFile("file", getMany),
	},
}

// getMany puts the keys once and reads them again and again.
func getMany(dev rawblock.Device, a lab.Arm) (*subject, error) {
	s, err := newSubject(dev, a)
	if err != nil {
		return nil, err
	}
	res, err := s.store.PutMany(context.Background(), s.keys, s.objects)
	if err == nil && res.Written != len(s.keys) {
		err = fmt.Errorf("wrote %d of %d keys", res.Written, len(s.keys))
	}
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.outcomes = []lab.Unit{lab.Reads, queueDepth}
	s.reads = float64(len(s.keys))
	got := make([][]byte, len(s.keys))
	s.prepare = func() error {
		for i := range got {
			got[i] = got[i][:0]
		}
		return nil
	}
	s.op = func(ctx context.Context) error {
		if readToggle.Of(a) == many {
			return errors.Join(s.store.GetMany(ctx, s.keys, got)...)
		}
		var err error
		for i, k := range s.keys {
			if got[i], err = s.store.Get(ctx, k, got[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return s, nil
}
