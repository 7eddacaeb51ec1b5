package rawblock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"latlab.example/rawblock"
)

var errPlug = errors.New("unplugged")

// flushing fails flushes when it is told to, and counts them.
type flushing struct {
	rawblock.Batcher
	mu   sync.Mutex
	n    int
	fail bool
}

func (d *flushing) Flush(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.fail {
		return errPlug
	}
	return d.Batcher.Flush(ctx)
}

// The price of each mode: flushes and writes for ten keys of one to three blocks.
func TestFlushesOfEachMode(t *testing.T) {
	for _, test := range []struct {
		mode     rawblock.Durability
		strategy rawblock.Strategy
		layout   rawblock.Layout
		chunk    int
		flushes  int
		writes   int64
	}{
		{rawblock.NoFlush, rawblock.Batch, rawblock.Split, 0, 0, 20},
		{rawblock.NoFlush, rawblock.Sequential, rawblock.Aligned, 0, 0, 10},
		{rawblock.Ordered, rawblock.Batch, rawblock.Split, 0, 1, 20},
		{rawblock.Ordered, rawblock.Batch, rawblock.Split, 4, 3, 20},
		{rawblock.Ordered, rawblock.Sequential, rawblock.Split, 0, 10, 20},
		{rawblock.Ordered, rawblock.Pool, rawblock.Split, 0, 10, 20},
		// Of a slot of one block there is nothing to order: five keys take two.
		{rawblock.Ordered, rawblock.Batch, rawblock.Aligned, 0, 1, 15},
		{rawblock.Ordered, rawblock.Sequential, rawblock.Aligned, 0, 5, 15},
		{rawblock.Flushed, rawblock.Batch, rawblock.Split, 0, 1, 20},
		{rawblock.Flushed, rawblock.Batch, rawblock.Aligned, 5, 2, 10},
		{rawblock.Flushed, rawblock.FanOut, rawblock.Aligned, 0, 10, 10},
	} {
		d := &flushing{Batcher: device(t, 20, test.layout, true, "").(rawblock.Batcher)}
		s := open(t, d, rawblock.Options{Durability: test.mode, Strategy: test.strategy, Layout: test.layout, Chunk: test.chunk})
		d.n = 0
		keys, objects := some(0, 10)
		for i := range objects {
			objects[i] = make([]byte, 100+i%2*5000)
		}
		put(t, s, keys, objects)
		if st := s.Stats(); d.n != test.flushes || st.Flushes != int64(d.n) || st.Writes != test.writes {
			t.Errorf("%+v: %d flushes, %+v", test, d.n, st)
		}
		wantStored(t, s, keys, objects)
		before := d.n
		if err := s.Sync(t.Context()); err != nil || d.n != before+2 {
			t.Errorf("%+v: sync: %d flushes, %v", test, d.n-before, err)
		}
		if err := s.Sync(t.Context()); err != nil || d.n != before+2 {
			t.Errorf("%+v: sync of nothing new: %d flushes, %v", test, d.n-before-2, err)
		}
	}
}

// A flush that fails takes the keys that it was for with it, and all promises
// from then on, even if the device flushes again.
func TestFailedFlush(t *testing.T) {
	for _, mode := range []rawblock.Durability{rawblock.Ordered, rawblock.Flushed} {
		for _, strategy := range rawblock.StrategyToggle.Levels() {
			t.Run(fmt.Sprint(mode, ",", strategy), func(t *testing.T) {
				d := &flushing{Batcher: device(t, 20, rawblock.Split, true, "").(rawblock.Batcher)}
				s := open(t, d, rawblock.Options{Durability: mode, Strategy: strategy})
				keys, objects := some(0, 15)
				put(t, s, keys[:5], objects[:5])
				d.fail = true
				res, err := s.PutMany(t.Context(), keys[5:10], objects[5:10])
				if !errors.Is(err, rawblock.ErrFlush) || !errors.Is(err, errPlug) || res != (rawblock.PutResult{}) {
					t.Errorf("%+v, %v", res, err)
				}
				d.fail = false
				for _, err := range s.PutEach(t.Context(), keys[10:], objects[10:]) {
					if !errors.Is(err, rawblock.ErrFlush) {
						t.Errorf("put after a failed flush: %v", err)
					}
				}
				if err := s.Sync(t.Context()); !errors.Is(err, rawblock.ErrFlush) {
					t.Errorf("sync after a failed flush: %v", err)
				}
				wantStats(t, s, 15, 5)
				wantStored(t, s, keys[:5], objects[:5])
				if err := s.Close(); !errors.Is(err, rawblock.ErrFlush) {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
}

// A cancelled put is no failure of the device.
func TestCancelledFlush(t *testing.T) {
	d := &flushing{Batcher: device(t, 20, rawblock.Split, true, "").(rawblock.Batcher)}
	s := open(t, d, rawblock.Options{Durability: rawblock.Flushed, Strategy: rawblock.Batch})
	keys, objects := some(0, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.PutMany(ctx, keys, objects); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if err := s.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("sync: %v", err)
	}
	wantStats(t, s, 20, 0)
	put(t, s, keys, objects)
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}

// interrupted fails its flush, and its caller gives up at the same moment.
type interrupted struct {
	rawblock.Batcher
	giveUp func()
}

func (d *interrupted) Flush(ctx context.Context) error {
	if d.giveUp == nil {
		return d.Batcher.Flush(ctx)
	}
	d.giveUp()
	d.giveUp = nil
	return errPlug
}

// A flush that failed counts as failed, whatever became of its caller's context.
func TestFailedFlushOfACallerThatLeft(t *testing.T) {
	d := &interrupted{Batcher: device(t, 20, rawblock.Split, true, "").(rawblock.Batcher)}
	s := open(t, d, rawblock.Options{Durability: rawblock.Flushed, Strategy: rawblock.Batch})
	keys, objects := some(0, 2)
	ctx, cancel := context.WithCancel(t.Context())
	d.giveUp = cancel
	if _, err := s.PutMany(ctx, keys[:1], objects[:1]); !errors.Is(err, rawblock.ErrFlush) || !errors.Is(err, errPlug) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.PutMany(t.Context(), keys[1:], objects[1:]); !errors.Is(err, rawblock.ErrFlush) {
		t.Errorf("put after a failed flush: %v", err)
	}
	if err := s.Close(); !errors.Is(err, rawblock.ErrFlush) {
		t.Errorf("close: %v", err)
	}
}
