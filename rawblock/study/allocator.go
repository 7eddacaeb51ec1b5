package study

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/rawblock"
)

var (
	allocKeys  = lab.NewFactor("keys", 100, 10, 1000, 10_000, 100_000)
	stored     = lab.NewFactor("stored", 0, 100_000)
	reserveKey = lab.Unit{Name: "reserve-ns/key", Better: lab.Down}
)

// Allocator asks what Phase A costs a key. There is no rule: the answer is the
// figure, in each row.
var Allocator = lab.Experiment{
	Name:     "rawblock/allocator",
	Question: "Does Phase A, one lock for all keys, cost the same for each key whatever their number?",
	Factors:  []lab.Factor{allocKeys, stored},
	Outcomes: []lab.Unit{reserveKey},
	Rigs: []lab.Rig{lab.Emulated("memory", []string{
		"the device is memory without latency; the lock, the index and the free list are the store's own",
	}, nil, openAllocator)},
}

type allocSubject struct {
	store   *rawblock.Store
	rec     *metrics.Recorder
	keys    []rawblock.Key
	objects [][]byte
}

// named makes n keys of a kind.
func named(kind string, n int) ([]rawblock.Key, [][]byte) {
	ks, objects := make([]rawblock.Key, n), make([][]byte, n)
	for i := range ks {
		ks[i] = rawblock.KeyOf(kind + strconv.Itoa(i))
		objects[i] = []byte("payload")
	}
	return ks, objects
}

func openAllocator(ctx context.Context, a lab.Arm) (lab.Subject, error) {
	s := &allocSubject{rec: metrics.NewRecorder(rawblock.Stages, metrics.WithSwitch(true))}
	s.keys, s.objects = named("a", allocKeys.Of(a))
	// One slot in a hundred is free beside those that are written.
	before := stored.Of(a)
	slots := len(s.keys) + before + (len(s.keys)+before)/100 + 1
	var err error
	s.store, err = memoryStore(slots, 512, rawblock.Options{
		Payload: 64, Strategy: rawblock.Batch, Layout: rawblock.Aligned, Recorder: s.rec,
	})
	if err != nil {
		return nil, err
	}
	ks, objects := named("before", before)
	if _, err := s.store.PutMany(ctx, ks, objects); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	return s, nil
}

func (s *allocSubject) Trial(ctx context.Context, t *lab.Trial) error {
	s.rec.Reset()
	clear := func(int) error {
		for _, k := range s.keys {
			if err := s.store.Delete(k); err != nil && !errors.Is(err, rawblock.ErrNotFound) {
				return err
			}
		}
		return nil
	}
	err := t.Repeat(ctx, clear, func(int) error {
		res, err := s.store.PutMany(ctx, s.keys, s.objects)
		if err == nil && res.Written != len(s.keys) {
			err = fmt.Errorf("wrote %d of %d keys", res.Written, len(s.keys))
		}
		return err
	})
	if err != nil {
		return err
	}
	snap := s.rec.Snapshot()
	t.Stages(snap)
	t.Observe(reserveKey, snap.Stages[rawblock.StageReserve].Dist.Mean()/float64(len(s.keys)))
	return nil
}

func (s *allocSubject) Close() error { return s.store.Close() }
