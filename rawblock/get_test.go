package rawblock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// reads counts batches and single reads.
type reads struct {
	rawblock.Batcher
	mu             sync.Mutex
	singles, calls int
}

func (c *reads) ReadAt(p []byte, off int64) (int, error) {
	c.mu.Lock()
	c.singles++
	c.mu.Unlock()
	return c.Batcher.ReadAt(p, off)
}

func (c *reads) ReadBatch(ctx context.Context, rs []rawblock.IO) error {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	return c.Batcher.ReadBatch(ctx, rs)
}

func TestGetMany(t *testing.T) {
	for _, layout := range rawblock.LayoutToggle.Levels() {
		for _, test := range []struct {
			batches        bool
			chunk          int
			singles, calls int
		}{{true, 0, 0, 1}, {true, 4, 0, 3}, {false, 0, 10, 0}} {
			t.Run(fmt.Sprintf("%s,batches=%v,chunk=%d", layout, test.batches, test.chunk), func(t *testing.T) {
				c := &reads{Batcher: device(t, 20, layout, true, "").(rawblock.Batcher)}
				var d rawblock.Device = c
				if !test.batches {
					d = struct{ rawblock.Device }{c}
				}
				s := open(t, d, rawblock.Options{Layout: layout, Chunk: test.chunk})
				keys, objects := some(0, 10)
				objects[3] = nil // an empty object is one
				put(t, s, keys, objects)
				asked := append([]rawblock.Key{rawblock.KeyOf("absent")}, keys...)
				dst := make([][]byte, 11)
				dst[1] = []byte("before")
				errs := s.GetMany(t.Context(), asked, dst)
				if !errors.Is(errs[0], rawblock.ErrNotFound) || dst[0] != nil {
					t.Errorf("absent key: %v", errs[0])
				}
				for i, object := range objects {
					if i == 0 {
						object = append([]byte("before"), object...)
					}
					if errs[i+1] != nil || !bytes.Equal(dst[i+1], object) {
						t.Errorf("key %d: %d bytes of %d, %v", i, len(dst[i+1]), len(object), errs[i+1])
					}
				}
				if c.singles != test.singles || c.calls != test.calls {
					t.Errorf("%d single reads and %d batches; want %d and %d", c.singles, c.calls, test.singles, test.calls)
				}
				// The same key twice; nothing stays pinned.
				twice := make([][]byte, 2)
				if err := errors.Join(s.GetMany(t.Context(), []rawblock.Key{keys[1], keys[1]}, twice)...); err != nil || !bytes.Equal(twice[0], twice[1]) {
					t.Errorf("a key twice: %v", err)
				}
				for _, k := range keys {
					if err := s.Delete(k); err != nil {
						t.Error(err)
					}
				}
				wantStats(t, s, 20, 0)
			})
		}
	}
}

// A read that fails takes no other key with it.
func TestOneFailedReadOfMany(t *testing.T) {
	for _, batches := range []bool{true, false} {
		s := open(t, device(t, 20, rawblock.Aligned, batches, "read:error@4"), rawblock.Options{Layout: rawblock.Aligned})
		keys, objects := some(0, 10)
		put(t, s, keys, objects)
		failed := 0
		dst := make([][]byte, 10)
		for i, err := range s.GetMany(t.Context(), keys, dst) {
			if errors.Is(err, emu.ErrInjected) {
				failed++
			} else if err != nil || !bytes.Equal(dst[i], objects[i]) {
				t.Errorf("key %d: %v", i, err)
			}
		}
		if failed != 1 {
			t.Errorf("batches=%v: %d reads failed, want one", batches, failed)
		}
	}
}

// stopping is a device that hands nothing more over after a failed transfer, as
// io_uring's engine does. Transfer at fails: that many have a number.
type stopping struct {
	rawblock.Batcher
	mu sync.Mutex
	n  int
	at map[int]bool
}

func (d *stopping) batch(ios []rawblock.IO, do func(rawblock.IO) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first error
	for i := range ios {
		if ios[i].Err = rawblock.ErrNotDone; first != nil {
			continue
		}
		if d.n++; d.at[d.n] {
			ios[i].Err = emu.ErrInjected
		} else {
			ios[i].Err = do(ios[i])
		}
		first = ios[i].Err
	}
	return first
}

func (d *stopping) WriteBatch(ctx context.Context, ws []rawblock.IO, _ func()) error {
	return d.batch(ws, func(w rawblock.IO) error { return d.Write(ctx, w) })
}

func (d *stopping) ReadBatch(_ context.Context, rs []rawblock.IO) error {
	return d.batch(rs, func(r rawblock.IO) error { _, err := d.ReadAt(r.Buf, r.Off); return err })
}

// What wasn't done after another transfer had failed is asked for again, where
// keys stand for themselves.
func TestRestOfABatchIsAskedForAgain(t *testing.T) {
	for _, layout := range rawblock.LayoutToggle.Levels() {
		per := 1 // writes a key
		if layout == rawblock.Split {
			per = 2
		}
		d := &stopping{Batcher: device(t, 20, layout, true, "").(rawblock.Batcher), at: map[int]bool{1 + 2*per: true, 1 + 5*per: true}}
		s := open(t, d, rawblock.Options{Strategy: rawblock.Batch, Layout: layout})
		keys, objects := some(0, 10)
		wantFailed := func(what string, errs []error, is error, which ...int) {
			t.Helper()
			for i, err := range errs {
				expected := false
				for _, w := range which {
					expected = expected || i == w
				}
				if expected != (err != nil) || expected && !errors.Is(err, is) {
					t.Errorf("%s, %s: key %d: %v", layout, what, i, err)
				}
			}
		}
		wantFailed("put", s.PutEach(t.Context(), keys, objects), emu.ErrInjected, 2, 5)
		wantStats(t, s, 12, 8)
		d.n, d.at = 0, map[int]bool{1: true, 4: true}
		dst := make([][]byte, 10)
		wantFailed("get", s.GetMany(t.Context(), keys[6:], dst[6:]), emu.ErrInjected, 0, 3)
		d.at = nil
		// All or nothing still is: nothing is tried again.
		d.n, d.at = 0, map[int]bool{1: true}
		if _, err := s.PutMany(t.Context(), keys[:6], objects[:6]); !errors.Is(err, emu.ErrInjected) {
			t.Error(err)
		}
		wantStats(t, s, 12, 8)
	}
}

func TestGetOfCancelledContext(t *testing.T) {
	for _, batches := range []bool{true, false} {
		s := open(t, device(t, 20, rawblock.Split, batches, ""), rawblock.Options{})
		keys, objects := some(0, 3)
		put(t, s, keys, objects)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Get(ctx, keys[0], nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for _, err := range s.GetMany(ctx, keys, make([][]byte, 3)) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("batches=%v: %v", batches, err)
			}
		}
		wantStored(t, s, keys, objects)
	}
}

func TestGetManyArguments(t *testing.T) {
	s := open(t, device(t, 20, rawblock.Split, true, ""), rawblock.Options{})
	keys, _ := some(0, 3)
	for _, err := range s.GetMany(t.Context(), keys, make([][]byte, 2)) {
		if !errors.Is(err, rawblock.ErrArguments) {
			t.Error(err)
		}
	}
	if errs := s.GetMany(t.Context(), nil, nil); len(errs) != 0 {
		t.Error(errs)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if errs := s.GetMany(t.Context(), keys, make([][]byte, 3)); !errors.Is(errs[2], rawblock.ErrClosed) {
		t.Error(errs)
	}
}

// twoReads holds every read until it is let through.
type twoReads struct {
	rawblock.Device
	arrived, let chan struct{}
}

func (d *twoReads) ReadAt(p []byte, off int64) (int, error) {
	d.arrived <- struct{}{}
	<-d.let
	return d.Device.ReadAt(p, off)
}

// A deleted slot that two Gets read is free after the second, not the first.
func TestSlotIsFreeAfterItsLastRead(t *testing.T) {
	d := &twoReads{device(t, 1, rawblock.Aligned, false, ""), make(chan struct{}), make(chan struct{})}
	s := open(t, d, rawblock.Options{Layout: rawblock.Aligned})
	keys, objects := some(0, 1)
	put(t, s, keys, objects)
	done := make(chan error, 2)
	for range 2 {
		go func() {
			b, err := s.Get(context.Background(), keys[0], nil)
			if err == nil && !bytes.Equal(b, objects[0]) {
				err = errors.New("another key's bytes")
			}
			done <- err
		}()
	}
	<-d.arrived
	<-d.arrived
	if err := s.Delete(keys[0]); err != nil {
		t.Fatal(err)
	}
	for free := range 2 {
		if got := s.Stats().Free; got != 0 {
			t.Errorf("%d slots free after %d of 2 reads", got, free)
		}
		d.let <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantStats(t, s, 1, 0)
}

// spoiled is a device that loses writes, or on which bits change.
type spoiled struct {
	rawblock.Device
	lose bool
}

func (d *spoiled) Write(ctx context.Context, w rawblock.IO) error {
	if d.lose {
		return nil
	}
	return d.Device.Write(ctx, w)
}

// flip changes a bit of the device.
func flip(t *testing.T, d rawblock.Device, at int64) {
	t.Helper()
	buf := make([]byte, block)
	off := at / block * block
	if _, err := d.ReadAt(buf, off); err != nil {
		t.Fatal(err)
	}
	buf[at-off] ^= 4
	if err := d.Write(t.Context(), rawblock.IO{Off: off, Buf: buf}); err != nil {
		t.Fatal(err)
	}
}

// A device that lost a write still holds what was there before: of the same key,
// of the same length, and whole. Only the generation tells.
func TestLostWriteIsFound(t *testing.T) {
	d := &spoiled{Device: device(t, 1, rawblock.Aligned, false, "")}
	s := open(t, d, rawblock.Options{Layout: rawblock.Aligned})
	keys, objects := some(0, 1)
	put(t, s, keys, objects)
	if err := s.Delete(keys[0]); err != nil {
		t.Fatal(err)
	}
	d.lose = true
	put(t, s, keys, [][]byte{bytes.Repeat([]byte{99}, len(objects[0]))})
	d.lose = false
	if b, err := s.Get(t.Context(), keys[0], nil); !errors.Is(err, rawblock.ErrHeader) {
		t.Errorf("%d bytes, %v; want ErrHeader", len(b), err)
	}
}

// A bit that changed, anywhere in header or payload, is found by each read.
func TestEveryChangedBitIsFound(t *testing.T) {
	for _, layout := range rawblock.LayoutToggle.Levels() {
		d := device(t, 1, layout, true, "")
		s := open(t, d, rawblock.Options{Layout: layout})
		keys, objects := some(0, 1)
		objects[0] = bytes.Repeat([]byte{7}, 5000)
		put(t, s, keys, objects)
		slot := d.Size() - rawblock.SlotSize(payload, layout, block)
		payloadAt := int64(64)
		if layout == rawblock.Split {
			payloadAt = block
		}
		spots := map[int64]error{payloadAt: rawblock.ErrChecksum, payloadAt + 2500: rawblock.ErrChecksum, payloadAt + 4999: rawblock.ErrChecksum}
		for i := range int64(64) {
			spots[i] = rawblock.ErrHeader
		}
		for at, want := range spots {
			flip(t, d, slot+at)
			if _, err := s.Get(t.Context(), keys[0], nil); !errors.Is(err, want) {
				t.Errorf("%s, byte %d: get: %v, want %v", layout, at, err, want)
			}
			if errs := s.GetMany(t.Context(), keys, make([][]byte, 1)); !errors.Is(errs[0], want) {
				t.Errorf("%s, byte %d: get many: %v, want %v", layout, at, errs[0], want)
			}
			flip(t, d, slot+at)
		}
		wantStored(t, s, keys, objects)
	}
}
