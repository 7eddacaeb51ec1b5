package rawblock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

const small = 512 // the block of devices that are opened again

// memory is a device of that many slots that keeps its content when it is closed.
func memory(t *testing.T, slots int, o rawblock.Options) *crash.Recorder {
	t.Helper()
	d, err := crash.NewRecorder(make([]byte, rawblock.SizeFor(slots, o.Payload, o.Layout, small)), small, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func reopen(t *testing.T, d rawblock.Device, o rawblock.Options) *rawblock.Store {
	t.Helper()
	s, err := rawblock.Open(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, s *rawblock.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A store that is closed and opened again is the same, in every layout and with
// slots that are read whole or by their headers only.
func TestOpenAgain(t *testing.T) {
	for _, layout := range rawblock.LayoutToggle.Levels() {
		for _, room := range []int{300, 40_000} {
			for _, batches := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s,payload=%d,batches=%v", layout, room, batches), func(t *testing.T) {
					o := rawblock.Options{Payload: room, Layout: layout, Strategy: rawblock.Batch}
					var d rawblock.Device = memory(t, 300, o)
					if !batches {
						d = struct{ rawblock.Device }{d}
					}
					s, err := rawblock.New(d, o)
					if err != nil {
						t.Fatal(err)
					}
					keys, objects := some(0, 250)
					for i := range objects {
						objects[i] = objects[i][:min(room, len(objects[i]))]
					}
					put(t, s, keys, objects)
					for _, k := range keys[200:] {
						if err := s.Delete(k); err != nil {
							t.Fatal(err)
						}
					}
					if got := s.Stats().Slots; got != 300 {
						t.Errorf("%d slots on a device for 300", got)
					}
					closed(t, s)
					s = reopen(t, d, rawblock.Options{}) // Payload and layout come from the device
					if r := s.Recovery(); r != (rawblock.Recovery{Sequence: 1, Listed: 200}) {
						t.Errorf("%+v, want 200 keys listed", r)
					}
					wantStats(t, s, 100, 200)
					wantStored(t, s, keys[:200], objects[:200])
					put(t, s, keys[200:], objects[200:])
					wantStored(t, s, keys, objects)
					closed(t, s)
					s = reopen(t, d, rawblock.Options{Verify: true})
					wantStats(t, s, 50, 250)
					wantStored(t, s, keys, objects)
					closed(t, s)
				})
			}
		}
	}
}

// Without a Sync the headers tell: everything written is found, and so is what
// was deleted.
func TestOpenWithoutACheckpoint(t *testing.T) {
	o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned}
	d := memory(t, 20, o)
	s, err := rawblock.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	keys, objects := some(0, 10)
	put(t, s, keys, objects)
	if err := s.Delete(keys[0]); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, d, o)
	if r := again.Recovery(); r != (rawblock.Recovery{Newer: 10}) {
		t.Errorf("%+v, want ten newer keys", r)
	}
	wantStored(t, again, keys, objects)
	closed(t, again)
	closed(t, s)
}

// Format empties a device, whatever it held: neither headers nor checkpoints of
// before are taken for the new store's.
func TestFormatForgets(t *testing.T) {
	o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned}
	d := memory(t, 20, o)
	s, err := rawblock.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	keys, objects := some(0, 10)
	put(t, s, keys, objects)
	closed(t, s)
	first := make([]byte, small)
	if _, err := d.ReadAt(first, 0); err != nil || !rawblock.IsStore(first) || rawblock.IsStore(first[1:]) {
		t.Errorf("is a store: %v, %v", rawblock.IsStore(first), err)
	}
	if err := rawblock.Format(t.Context(), d, o); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, d, o)
	if r := s.Recovery(); r != (rawblock.Recovery{}) {
		t.Errorf("%+v in an empty store", r)
	}
	wantStats(t, s, 20, 0)
	closed(t, s)
}

func TestOpenRefuses(t *testing.T) {
	o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned}
	formatted := memory(t, 20, o)
	if err := rawblock.Format(t.Context(), formatted, o); err != nil {
		t.Fatal(err)
	}
	image := formatted.Image()
	for _, test := range []struct {
		name  string
		image []byte
		block int
		o     rawblock.Options
		is    error
	}{
		{"nothing", make([]byte, len(image)), small, o, rawblock.ErrNotFormatted},
		{"less than a block", image[:64], 64, o, rawblock.ErrNotFormatted},
		{"another block size", image, 1024, o, rawblock.ErrGeometry},
		{"a smaller device", image[:len(image)-small], small, o, rawblock.ErrGeometry},
		{"another payload", image, small, rawblock.Options{Payload: 1}, rawblock.ErrGeometry},
		{"another layout", image, small, rawblock.Options{Layout: rawblock.Split}, rawblock.ErrGeometry},
		{"other slots", image, small, rawblock.Options{Slots: 19}, rawblock.ErrGeometry},
		{"bad options", image, small, rawblock.Options{Chunk: -1}, nil},
	} {
		if test.block == 1024 {
			test.image = append(bytes.Clone(test.image), make([]byte, 1024-len(test.image)%1024)...)
		}
		d, err := crash.NewRecorder(test.image, test.block, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rawblock.Open(t.Context(), d, test.o); err == nil || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %v", test.name, err, test.is)
		}
	}
	tiny, err := crash.NewRecorder(make([]byte, 64), 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rawblock.Format(t.Context(), tiny, o); !errors.Is(err, rawblock.ErrGeometry) {
		t.Errorf("format in blocks of 64 bytes: %v", err)
	}
}

// A key whose header is gone is not in the index, and is counted.
func TestDamagedHeader(t *testing.T) {
	o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned, Placement: rawblock.Contiguous}
	d := memory(t, 20, o)
	s, err := rawblock.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	keys, objects := some(0, 3)
	put(t, s, keys, objects)
	closed(t, s)
	image := d.Image()
	slot := len(image) - 20*int(rawblock.SlotSize(payload, o.Layout, small))
	image[slot+30] ^= 1       // header of key 0
	image[slot+64+small] ^= 1 // payload of key 0, which isn't looked at any more
	second := slot + int(rawblock.SlotSize(payload, o.Layout, small))
	image[second+70] ^= 1 // payload of key 1
	for verify, want := range map[bool]rawblock.Recovery{
		false: {Sequence: 1, Listed: 2, Damaged: 1},
		true:  {Sequence: 1, Listed: 1, Damaged: 1, Torn: 1},
	} {
		d, err := crash.NewRecorder(image, small, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Verify = verify
		s := reopen(t, d, o)
		if r := s.Recovery(); r != want {
			t.Errorf("verify=%v: %+v, want %+v", verify, r, want)
		}
		_, err = s.Get(t.Context(), keys[1], nil)
		if verify && !errors.Is(err, rawblock.ErrNotFound) || !verify && !errors.Is(err, rawblock.ErrChecksum) {
			t.Errorf("verify=%v: get of the damaged payload: %v", verify, err)
		}
		wantStats(t, s, 20-want.Listed, want.Listed)
		wantStored(t, s, keys[2:], objects[2:])
		closed(t, s)
	}
}

// A device that can't read its headers can't be opened, and says where.
func TestOpenOfAFailingDevice(t *testing.T) {
	o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned}
	d := memory(t, 20, o)
	s, err := rawblock.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	keys, objects := some(0, 3)
	put(t, s, keys, objects)
	for n := range 4 + 3 { // superblock, two containers, a run of slots, three payloads
		f := &failingReads{Batcher: d, after: n}
		if _, err := rawblock.Open(t.Context(), f, o); !errors.Is(err, errPlug) {
			t.Errorf("read %d fails: %v", n+1, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rawblock.Open(ctx, d, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	closed(t, s)
}

// failingReads fails all reads after so many.
type failingReads struct {
	rawblock.Batcher
	after int
}

func (d *failingReads) ReadAt(p []byte, off int64) (int, error) {
	if d.after--; d.after < 0 {
		return 0, errPlug
	}
	return d.Batcher.ReadAt(p, off)
}

func (d *failingReads) ReadBatch(_ context.Context, rs []rawblock.IO) (first error) {
	for i := range rs {
		_, rs[i].Err = d.ReadAt(rs[i].Buf, rs[i].Off)
		if first == nil {
			first = rs[i].Err
		}
	}
	return first
}

// Puts, gets, deletes and syncs at once; afterwards the store opens with exactly
// what it had.
func TestSyncAmongOthers(t *testing.T) {
	for _, mode := range rawblock.DurabilityToggle.Levels() {
		o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned, Strategy: rawblock.Batch, Durability: mode}
		d := memory(t, 20, o)
		s, err := rawblock.New(d, o)
		if err != nil {
			t.Fatal(err)
		}
		keys, objects := some(0, 16)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				mine, theirs := keys[4*g:4*g+4], objects[4*g:4*g+4]
				for i := range 20 {
					if _, err := s.PutMany(t.Context(), mine, theirs); err != nil {
						t.Error(err)
					}
					if err := s.Sync(t.Context()); err != nil {
						t.Error(err)
					}
					if err := errors.Join(s.GetMany(t.Context(), mine, make([][]byte, 4))...); err != nil {
						t.Error(err)
					}
					if err := s.Delete(mine[i%4]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		closed(t, s)
		s = reopen(t, d, o)
		wantStats(t, s, 8, 12)
		for g := range 4 {
			wantStored(t, s, keys[4*g:4*g+3], objects[4*g:4*g+3])
		}
		closed(t, s)
	}
}

// noticing says whether it was closed.
type noticing struct {
	*crash.Recorder
	closed atomic.Bool
}

func (d *noticing) Close() error {
	d.closed.Store(true)
	return d.Recorder.Close()
}

// Close waits for a put that is under way, and keeps what it stores.
func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned}
		d := &noticing{Recorder: memory(t, 20, o)}
		s, err := rawblock.New(d, o)
		if err != nil {
			t.Fatal(err)
		}
		keys, objects := some(0, 1)
		done := make(chan error, 1)
		d.Hook(func() {
			go func() { done <- s.Close() }()
			synctest.Wait()
			if d.closed.Load() {
				t.Error("the device was closed while it was written to")
			}
			if err := s.Put(t.Context(), keys[0], nil); !errors.Is(err, rawblock.ErrClosed) {
				t.Errorf("put while it closes: %v", err)
			}
		})
		put(t, s, keys, objects)
		if err := <-done; err != nil || !d.closed.Load() {
			t.Errorf("close: %v, device closed: %v", err, d.closed.Load())
		}
		s = reopen(t, d.Recorder, o)
		wantStored(t, s, keys, objects)
		closed(t, s)
	})
}
