package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"latlab.example/rawblock"
	"latlab.example/rawblock/blockdev"
	"latlab.example/rawblock/uring"
)

// errWrong occurs when the store or device isn't as it must be.
var errWrong = errors.New("wrong")

// errInjected is the failure of a device that fails on purpose.
var errInjected = errors.New("failed on purpose")

const payload = 6000 // a header and it fill two blocks of 4096, not by much

// one is a check on a new store.
type one struct {
	name string
	run  func(ctx context.Context, s *rawblock.Store, b bench) error
}

// bench is what a check may use beside its store.
type bench struct {
	dev  rawblock.Device // the store's
	fail *bool           // while true, writes of dev fail; changed only when no call is under way
	// again opens the same device once more, by the same engine.
	again   func() (rawblock.Device, error)
	options rawblock.Options // of the store
}

// The first three are those that the study asks for.
var suite = []one{
	{"a round trip of ten keys", roundTrip},
	{"five stored and five new keys write the five new", fiveAndFive},
	{"a failing write returns every slot", failure},
	{"a thousand keys, half of them deleted and put anew", thousand},
	{"eight callers at once", eight},
	{"a store that is not closed is found again", recovered},
	{"nothing goes outside the range", outside},
}

// everywhere runs a check with each strategy and layout on an engine, and counts
// them.
func everywhere(ctx context.Context, d *blockdev.Device, e rawblock.Engine, o one) (n int, err error) {
	for _, strategy := range rawblock.StrategyToggle.Levels() {
		for _, layout := range rawblock.LayoutToggle.Levels() {
			if err := once(ctx, d, e, o, rawblock.Options{Payload: payload, Strategy: strategy, Layout: layout}); err != nil {
				return n, fmt.Errorf("strategy %s, layout %s: %w", strategy, layout, err)
			}
			n++
		}
	}
	return n, nil
}

func once(ctx context.Context, d *blockdev.Device, e rawblock.Engine, o one, options rawblock.Options) (err error) {
	b := bench{fail: new(bool), options: options}
	b.again = func() (rawblock.Device, error) {
		if e == rawblock.Posix {
			return failing{blockdev.Kept{Device: d}, b.fail}, nil
		}
		ring, err := uring.New(blockdev.Kept{Device: d}, uring.Options{})
		if err != nil {
			return nil, err
		}
		return batching{ring, b.fail}, nil
	}
	if b.dev, err = b.again(); err != nil {
		return err
	}
	s, err := rawblock.New(b.dev, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return o.run(ctx, s, b)
}

// failing fails writes while the switch is on.
type failing struct {
	rawblock.Device
	on *bool
}

func (f failing) Write(ctx context.Context, w rawblock.IO) error {
	if *f.on {
		return errInjected
	}
	return f.Device.Write(ctx, w)
}

// batching is failing for a device that takes batches.
type batching struct {
	rawblock.Batcher
	on *bool
}

func (b batching) Write(ctx context.Context, w rawblock.IO) error {
	return failing{b.Batcher, b.on}.Write(ctx, w)
}

// WriteBatch lets half of a batch arrive before it fails.
func (b batching) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	if !*b.on {
		return b.Batcher.WriteBatch(ctx, ws, submitted)
	}
	half := len(ws) / 2
	if err := b.Batcher.WriteBatch(ctx, ws[:half], submitted); err != nil {
		return err
	}
	for i := half; i < len(ws); i++ {
		ws[i].Err = rawblock.ErrNotDone
	}
	ws[half].Err = errInjected
	return errInjected
}

// some makes n keys with objects of various lengths, first numbered from.
func some(from, n int) (keys []rawblock.Key, objects [][]byte) {
	for i := from; i < from+n; i++ {
		keys = append(keys, rawblock.KeyOf(fmt.Sprint("key ", i)))
		objects = append(objects, bytes.Repeat([]byte{byte(i), byte(i >> 8), 7}, 1+i*97%(payload/3)))
	}
	return keys, objects
}

func put(ctx context.Context, s *rawblock.Store, keys []rawblock.Key, objects [][]byte, written, present int) error {
	res, err := s.PutMany(ctx, keys, objects)
	if err == nil && (res.Written != written || res.Present != present) {
		err = fmt.Errorf("%w: %d keys written and %d present, not %d and %d", errWrong, res.Written, res.Present, written, present)
	}
	return err
}

func wantStored(ctx context.Context, s *rawblock.Store, keys []rawblock.Key, objects [][]byte) error {
	for i, k := range keys {
		got, err := s.Get(ctx, k, nil)
		if err == nil && !bytes.Equal(got, objects[i]) {
			err = fmt.Errorf("%w: key %d reads other bytes than were put", errWrong, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wantAll reads them in one call.
func wantAll(ctx context.Context, s *rawblock.Store, keys []rawblock.Key, objects [][]byte) error {
	got := make([][]byte, len(keys))
	errs := s.GetMany(ctx, keys, got)
	for i := range got {
		if errs[i] == nil && !bytes.Equal(got[i], objects[i]) {
			errs[i] = fmt.Errorf("%w: key %d reads other bytes than were put", errWrong, i)
		}
	}
	return errors.Join(errs...)
}

// wantStats: no slot is lost, none in flight.
func wantStats(s *rawblock.Store, stored int) error {
	if got := s.Stats(); got.Stored != stored || got.InFlight != 0 || got.Free+got.Stored != got.Slots {
		return fmt.Errorf("%w: %+v, not %d stored, none in flight and the rest free", errWrong, got, stored)
	}
	return nil
}

func roundTrip(ctx context.Context, s *rawblock.Store, _ bench) error {
	keys, objects := some(0, 10)
	return errors.Join(put(ctx, s, keys, objects, 10, 0), wantStored(ctx, s, keys, objects), wantStats(s, 10))
}

func fiveAndFive(ctx context.Context, s *rawblock.Store, _ bench) error {
	keys, objects := some(0, 10)
	err := put(ctx, s, keys[:5], objects[:5], 5, 0)
	other := make([][]byte, 10)
	for i := range other {
		if other[i] = objects[i]; i < 5 {
			other[i] = []byte("must not be written")
		}
	}
	return errors.Join(err, put(ctx, s, keys, other, 5, 5), wantStored(ctx, s, keys, objects), wantStats(s, 10))
}

func failure(ctx context.Context, s *rawblock.Store, b bench) error {
	keys, objects := some(0, 10)
	*b.fail = true
	_, err := s.PutMany(ctx, keys, objects)
	*b.fail = false
	if !errors.Is(err, errInjected) {
		return fmt.Errorf("%w: a failing device gave %s", errWrong, fmt.Sprint(err))
	}
	if err := wantStats(s, 0); err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := s.Get(ctx, k, nil); !errors.Is(err, rawblock.ErrNotFound) {
			return fmt.Errorf("%w: a key whose write failed reads %s", errWrong, fmt.Sprint(err))
		}
	}
	return roundTrip(ctx, s, b)
}

func thousand(ctx context.Context, s *rawblock.Store, _ bench) error {
	keys, objects := some(0, 1000)
	if err := errors.Join(put(ctx, s, keys, objects, 1000, 0), wantStored(ctx, s, keys, objects)); err != nil {
		return err
	}
	for _, k := range keys[:500] {
		if err := s.Delete(k); err != nil {
			return err
		}
	}
	more, others := some(2000, 700)
	return errors.Join(put(ctx, s, more, others, 700, 0), wantAll(ctx, s, more, others),
		wantStored(ctx, s, keys[500:], objects[500:]), wantStats(s, 1200))
}

func eight(ctx context.Context, s *rawblock.Store, _ bench) error {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for caller := range errs {
		wg.Go(func() {
			keys, objects := some(caller*100, 50)
			for range 3 {
				if errs[caller] = errors.Join(put(ctx, s, keys, objects, 50, 0), wantStored(ctx, s, keys, objects)); errs[caller] != nil {
					return
				}
				for _, k := range keys {
					if err := s.Delete(k); err != nil {
						errs[caller] = err
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, wantStats(s, 0))...)
}

// recovered opens the device a second time beside a store that was not closed, as
// after a crash of the program: all that was put is there.
func recovered(ctx context.Context, s *rawblock.Store, b bench) error {
	keys, objects := some(0, 40)
	if err := errors.Join(put(ctx, s, keys[:20], objects[:20], 20, 0), s.Sync(ctx), put(ctx, s, keys[20:], objects[20:], 20, 0)); err != nil {
		return err
	}
	dev, err := b.again()
	if err != nil {
		return err
	}
	found, err := rawblock.Open(ctx, dev, rawblock.Options{Strategy: b.options.Strategy, Verify: true})
	if err != nil {
		return err
	}
	r := found.Recovery()
	if r.Listed != 20 || r.Newer != 20 || r.Damaged != 0 || r.Torn != 0 {
		err = fmt.Errorf("%w: found %+v, not 20 keys listed and 20 newer", errWrong, r)
	}
	return errors.Join(err, wantStored(ctx, found, keys, objects), wantStats(found, 40), found.Close())
}

func outside(ctx context.Context, _ *rawblock.Store, b bench) error {
	dev, block := b.dev, b.dev.BlockSize()
	for _, off := range []int64{dev.Size(), -int64(block), dev.Size() - int64(block)/2} {
		if err := dev.Write(ctx, rawblock.IO{Off: off, Buf: make([]byte, block)}); !errors.Is(err, rawblock.ErrRange) {
			return fmt.Errorf("%w: a write at %d gave %s", errWrong, off, fmt.Sprint(err))
		}
	}
	return nil
}
