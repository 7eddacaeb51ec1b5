package study

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
	"latlab.example/rawblock/submit"
)

// The two faults of the caller, the study's old behaviour being the baseline.
var (
	dedup      = lab.NewFactor("dedup", submit.Racy, submit.Locked)
	dispatch   = lab.NewFactor("dispatch", submit.Leaky, submit.Undo)
	duplicates = lab.Unit{Name: "duplicates/op", Better: lab.Down, Exact: true}
	leaked     = lab.Unit{Name: "leaked-refs/op", Better: lab.Down, Exact: true}
)

// DedupRace asks what the look-up outside the lock costs, when the race is lost.
var DedupRace = lab.Experiment{
	Name:     "rawblock/dedup-race",
	Question: "Does looking a key up and registering it in one critical section end double stores?",
	Note:     "an operation is two submissions of 100 keys, the second in the window of the first",
	Factors:  []lab.Factor{dedup},
	Outcomes: []lab.Unit{duplicates},
	Rule:     lab.Better(duplicates, 1),
	Rigs: []lab.Rig{lab.Emulated("memory", []string{
		"another submission of the same keys arrives between look-up and registration, every time",
		"the device is memory without latency",
	}, nil, openRace)},
}

// DispatchLeak asks what a failed dispatch leaves behind.
var DispatchLeak = lab.Experiment{
	Name:     "rawblock/dispatch-leak",
	Question: "Are exactly the references given back that were taken, when the background task can't start?",
	Note:     "an operation is a submission of 100 keys whose background task can't be started",
	Factors:  []lab.Factor{dispatch},
	Outcomes: []lab.Unit{leaked},
	Rule:     lab.Better(leaked, 1),
	Rigs: []lab.Rig{lab.Emulated("memory", []string{
		"every start of a background task fails",
		"the device is memory without latency",
	}, nil, openLeak)},
}

// memoryStore is a store on memory without latency, for so many slots.
func memoryStore(slots, block int, o rawblock.Options) (*rawblock.Store, error) {
	dev, err := fake.New(fake.Config{
		Size: rawblock.SizeFor(slots, o.Payload, o.Layout, block), Block: block, Waiter: emu.Spin,
		Medium: fake.OneWait{Latency: emu.NewSampler(emu.Constant(0), 0)},
	})
	if err != nil {
		return nil, err
	}
	return rawblock.New(fake.Batching{Device: dev}, o)
}

// batchOf makes n keys from a number on, with an object each.
func batchOf(from, n int) ([]rawblock.Key, []*submit.Object) {
	ks, objects := make([]rawblock.Key, n), make([]*submit.Object, n)
	for i := range ks {
		ks[i] = rawblock.KeyOf(strconv.Itoa(from + i))
		objects[i] = submit.NewObject([]byte("payload"), nil)
	}
	return ks, objects
}

const callerKeys = 100

// caller repeats an operation on a submitter.
type caller struct {
	store  *rawblock.Store
	s      *submit.Submitter
	before func() error
	op     func(ctx context.Context, i int) error
	report func(t *lab.Trial, before, after submit.Stats)
}

func (c *caller) Trial(ctx context.Context, t *lab.Trial) error {
	before := c.s.Stats()
	prepare := func(int) error {
		if c.before == nil {
			return nil
		}
		return c.before()
	}
	if err := t.Repeat(ctx, prepare, func(i int) error { return c.op(ctx, i) }); err != nil {
		return err
	}
	c.report(t, before, c.s.Stats())
	return nil
}

func (c *caller) Close() error { return errors.Join(c.s.Close(), c.store.Close()) }

func openRace(_ context.Context, a lab.Arm) (lab.Subject, error) {
	store, err := memoryStore(2*callerKeys, 512, rawblock.Options{Payload: 64, Strategy: rawblock.Batch, Layout: rawblock.Aligned})
	if err != nil {
		return nil, err
	}
	c := &caller{store: store}
	ks, objects := batchOf(0, callerKeys)
	done := make(chan submit.Outcome, 2)
	var window func() // the second submission, while the first is in its window
	c.s, err = submit.New(store, submit.Options{
		Dedup: dedup.Of(a), Done: func(o submit.Outcome) { done <- o },
		BeforeLock: func([]rawblock.Key) {
			if f := window; f != nil {
				window = nil
				f()
			}
		},
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	c.before = func() error {
		for _, k := range ks {
			if err := store.Delete(k); err != nil && !errors.Is(err, rawblock.ErrNotFound) {
				return err
			}
		}
		return nil
	}
	c.op = func(ctx context.Context, _ int) error {
		var inner error
		tasks := 0
		window = func() {
			res, err := c.s.Submit(ctx, ks, objects)
			if inner = err; res.Accepted > 0 {
				tasks++
				inner = errors.Join(err, (<-done).Err)
			}
		}
		res, err := c.s.Submit(ctx, ks, objects)
		if res.Accepted > 0 {
			err = errors.Join(err, (<-done).Err)
			tasks++
		}
		if tasks == 0 {
			err = errors.Join(err, errors.New("neither submission was accepted"))
		}
		return errors.Join(err, inner)
	}
	c.report = func(t *lab.Trial, before, after submit.Stats) {
		t.Observe(duplicates, float64(after.Duplicates-before.Duplicates)/float64(t.Ops))
	}
	return c, nil
}

// broken starts nothing.
type broken struct{}

func (broken) Start(func()) error { return submit.ErrStopped }

func openLeak(_ context.Context, a lab.Arm) (lab.Subject, error) {
	store, err := memoryStore(callerKeys, 512, rawblock.Options{Payload: 64, Strategy: rawblock.Batch, Layout: rawblock.Aligned})
	if err != nil {
		return nil, err
	}
	c := &caller{store: store}
	c.s, err = submit.New(store, submit.Options{Dispatch: dispatch.Of(a), Starter: broken{}})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	// What leaks stays registered, so each operation has keys of its own.
	var ks []rawblock.Key
	var objects []*submit.Object
	next := 0
	c.before = func() error {
		ks, objects = batchOf(next, callerKeys)
		next += callerKeys
		return nil
	}
	c.op = func(ctx context.Context, _ int) error {
		if res, err := c.s.Submit(ctx, ks, objects); !errors.Is(err, submit.ErrDispatch) {
			return fmt.Errorf("%+v, %w; want a failed dispatch", res, err)
		}
		return nil
	}
	c.report = func(t *lab.Trial, before, after submit.Stats) {
		t.Observe(leaked, float64(after.Leaked-before.Leaked)/float64(t.Ops))
	}
	return c, nil
}
