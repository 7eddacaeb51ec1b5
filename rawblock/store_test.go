package rawblock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/quick"
	"unsafe"

	"go.uber.org/goleak"

	"latlab.example/common/emu"
	"latlab.example/common/metrics"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	block   = 4096
	payload = 6000
)

// device is a fast fake of that many slots, with or without batches.
func device(t testing.TB, slots int, l rawblock.Layout, batches bool, faults string) rawblock.Device {
	t.Helper()
	schedule, err := emu.ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	d, err := fake.New(fake.Config{
		Size: rawblock.SizeFor(slots, payload, l, block), Block: block, Waiter: emu.Spin, Faults: schedule,
		Medium: fake.OneWait{Latency: emu.NewSampler(emu.Constant(0), 0)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if batches {
		return fake.Batching{Device: d}
	}
	return d
}

func open(t testing.TB, d rawblock.Device, o rawblock.Options) *rawblock.Store {
	t.Helper()
	o.Payload = payload
	s, err := rawblock.New(aside(d), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Close writes a checkpoint, which a test's schedule of faults may hit.
		if err := s.Close(); err != nil && !errors.Is(err, rawblock.ErrClosed) && !errors.Is(err, emu.ErrInjected) {
			t.Error(err)
		}
	})
	return s
}

// aside keeps the superblock, which these tests never read, away from a device,
// so that its faults, gates and counts are of puts only.
func aside(d rawblock.Device) rawblock.Device {
	if b, ok := d.(rawblock.Batcher); ok {
		return asideBatcher{b}
	}
	return asideDevice{d}
}

type asideDevice struct{ rawblock.Device }

func (d asideDevice) Write(ctx context.Context, w rawblock.IO) error {
	if w.Off == 0 {
		return nil
	}
	return d.Device.Write(ctx, w)
}

type asideBatcher struct{ rawblock.Batcher }

func (d asideBatcher) Write(ctx context.Context, w rawblock.IO) error {
	return asideDevice{d.Batcher}.Write(ctx, w)
}

// some makes n keys with objects of various lengths, first numbered from.
func some(from, n int) (keys []rawblock.Key, objects [][]byte) {
	for i := from; i < from+n; i++ {
		keys = append(keys, rawblock.KeyOf(fmt.Sprint("key ", i)))
		objects = append(objects, bytes.Repeat([]byte{byte(i), byte(i >> 8), 7}, 1+i*97%(payload/3)))
	}
	return keys, objects
}

// every runs a test on each combination of strategy, layout and device.
func every(t *testing.T, faults string, f func(t *testing.T, s *rawblock.Store)) {
	for _, strategy := range rawblock.StrategyToggle.Levels() {
		for _, layout := range rawblock.LayoutToggle.Levels() {
			for _, batches := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s,%s,batches=%v", strategy, layout, batches), func(t *testing.T) {
					f(t, open(t, device(t, 20, layout, batches, faults), rawblock.Options{Strategy: strategy, Layout: layout}))
				})
			}
		}
	}
}

func put(t *testing.T, s *rawblock.Store, keys []rawblock.Key, objects [][]byte) rawblock.PutResult {
	t.Helper()
	res, err := s.PutMany(t.Context(), keys, objects)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func wantStored(t *testing.T, s *rawblock.Store, keys []rawblock.Key, objects [][]byte) {
	t.Helper()
	for i, k := range keys {
		got, err := s.Get(t.Context(), k, nil)
		if err != nil || !bytes.Equal(got, objects[i]) {
			t.Errorf("get key %d: %d bytes, %v; want its %d bytes", i, len(got), err, len(objects[i]))
		}
	}
}

func wantStats(t *testing.T, s *rawblock.Store, free, stored int) {
	t.Helper()
	got := s.Stats()
	if got.Free != free || got.Stored != stored || got.InFlight != 0 || got.Free+got.Stored != got.Slots {
		t.Errorf("%+v; want %d free, %d stored, none in flight", got, free, stored)
	}
}

// The study's three required cases, the first: a round trip of ten keys.
func TestRoundTripOfTen(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 10)
		if res := put(t, s, keys, objects); res.Written != 10 {
			t.Errorf("%+v, want 10 written", res)
		}
		wantStored(t, s, keys, objects)
		wantStats(t, s, 10, 10)
	})
}

// The second: of five stored and five new keys, only the five new are written.
func TestStoredKeysAreNotWrittenAgain(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 10)
		put(t, s, keys[:5], objects[:5])
		before := s.Stats().Writes
		other := make([][]byte, 10)
		for i := range other {
			other[i] = objects[i]
			if i < 5 {
				other[i] = []byte("must not be written")
			}
		}
		if res := put(t, s, keys, other); res != (rawblock.PutResult{Written: 5, Present: 5}) {
			t.Errorf("%+v, want 5 written and 5 present", res)
		}
		again := s.Stats().Writes - before
		if again != before {
			t.Errorf("%d writes for five new keys, %d for the first five", again, before)
		}
		wantStored(t, s, keys, objects)
		wantStats(t, s, 10, 10)
	})
}

// The third: a failing write gives every slot back and leaves nothing in flight.
func TestFailingWriteGivesSlotsBack(t *testing.T) {
	for _, kind := range []string{"error", "short", "reset"} {
		t.Run(kind, func(t *testing.T) {
			every(t, "write:"+kind+"@every(1)", func(t *testing.T, s *rawblock.Store) {
				keys, objects := some(0, 10)
				res, err := s.PutMany(t.Context(), keys, objects)
				if !errors.Is(err, emu.ErrInjected) || res != (rawblock.PutResult{}) {
					t.Errorf("%+v, %v; want the injected error and nothing written", res, err)
				}
				if kind == "short" && !errors.Is(err, rawblock.ErrShortWrite) {
					t.Errorf("%v; want ErrShortWrite", err)
				}
				wantStats(t, s, 20, 0)
				for _, k := range keys {
					if _, err := s.Get(t.Context(), k, nil); !errors.Is(err, rawblock.ErrNotFound) {
						t.Errorf("get after a failed write: %v", err)
					}
				}
			})
		})
	}
}

// One bad write of many: the batch is all or nothing, the loops lose one key.
func TestOneFailedWrite(t *testing.T) {
	every(t, "write:error@7", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 10)
		res, err := s.PutMany(t.Context(), keys, objects)
		if !errors.Is(err, emu.ErrInjected) {
			t.Fatalf("got %v", err)
		}
		if res.Written != 0 && res.Written != 9 {
			t.Errorf("%+v; want none or nine written", res)
		}
		wantStats(t, s, 20-res.Written, res.Written)
		// The same call again stores what is missing.
		if res = put(t, s, keys, objects); res.Written+res.Present != 10 {
			t.Errorf("again: %+v", res)
		}
		wantStored(t, s, keys, objects)
	})
}

// onlyBatches counts calls, to see which way a PutMany went.
type counting struct {
	rawblock.Batcher
	mu             sync.Mutex
	singles, calls int
}

func (c *counting) Write(ctx context.Context, w rawblock.IO) error {
	c.mu.Lock()
	c.singles++
	c.mu.Unlock()
	return c.Batcher.Write(ctx, w)
}

func (c *counting) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	return c.Batcher.WriteBatch(ctx, ws, submitted)
}

// Phases A to D are for many keys on a device that takes batches. A single key,
// a device without batches (engine posix) and the other strategies keep the
// old loop, two writes a key in the study's layout.
func TestWhoKeepsTheOldLoop(t *testing.T) {
	for _, test := range []struct {
		strategy       rawblock.Strategy
		keys           int
		batches, split bool
		singles, calls int
	}{
		{rawblock.Batch, 10, true, true, 0, 1},
		{rawblock.Batch, 10, true, false, 0, 1},
		{rawblock.Batch, 1, true, true, 2, 0},
		{rawblock.Batch, 1, true, false, 1, 0},
		{rawblock.Batch, 10, false, true, 20, 0},
		{rawblock.Sequential, 10, true, true, 20, 0},
		{rawblock.FanOut, 10, true, true, 20, 0},
		{rawblock.Pool, 10, true, false, 10, 0},
	} {
		layout := rawblock.Aligned
		if test.split {
			layout = rawblock.Split
		}
		c := &counting{Batcher: device(t, 20, layout, true, "").(rawblock.Batcher)}
		var d rawblock.Device = c
		if !test.batches {
			d = struct{ rawblock.Device }{c} // hides WriteBatch
		}
		s := open(t, d, rawblock.Options{Strategy: test.strategy, Layout: layout})
		keys, objects := some(0, test.keys)
		put(t, s, keys, objects)
		if c.singles != test.singles || c.calls != test.calls {
			t.Errorf("%+v: %d single writes, %d batches", test, c.singles, c.calls)
		}
		wantStored(t, s, keys, objects)
	}
}

func TestBadArguments(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 10)
		if _, err := s.PutMany(t.Context(), keys, objects[:9]); !errors.Is(err, rawblock.ErrArguments) {
			t.Errorf("ten keys, nine objects: %v", err)
		}
		objects[9] = make([]byte, payload+1)
		if res, err := s.PutMany(t.Context(), keys, objects); !errors.Is(err, rawblock.ErrTooBig) || res.Written != 0 {
			t.Errorf("too big: %+v, %v", res, err)
		}
		if res := put(t, s, nil, nil); res != (rawblock.PutResult{}) {
			t.Errorf("no keys: %+v", res)
		}
		wantStats(t, s, 20, 0)
		if err := s.Delete(keys[0]); !errors.Is(err, rawblock.ErrNotFound) {
			t.Errorf("delete of nothing: %v", err)
		}
	})
}

func TestDuplicateInOneCallIsWrittenOnce(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 3)
		res := put(t, s, append(keys, keys[1]), append(objects, objects[1]))
		if res != (rawblock.PutResult{Written: 3, Present: 1}) {
			t.Errorf("%+v; want three written, the fourth present", res)
		}
		wantStored(t, s, keys, objects)
		wantStats(t, s, 17, 3)
	})
}

func TestFull(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 21)
		res, err := s.PutMany(t.Context(), keys, objects)
		if !errors.Is(err, rawblock.ErrFull) || res.Written != 0 && res.Written != 20 {
			t.Fatalf("21 keys in 20 slots: %+v, %v; want none or 20 written", res, err)
		}
		wantStats(t, s, 20-res.Written, res.Written)
	})
}

// gated is a device whose writes wait until they are let through.
type gated struct {
	rawblock.Batcher
	arrived, let chan struct{}
}

func (g *gated) Write(ctx context.Context, w rawblock.IO) error {
	g.arrived <- struct{}{}
	<-g.let
	return g.Batcher.Write(ctx, w)
}

func (g *gated) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	g.arrived <- struct{}{}
	<-g.let
	return g.Batcher.WriteBatch(ctx, ws, submitted)
}

// A key that another call is writing is neither written twice nor deleted.
// Close waits for that call.
func TestKeysInFlight(t *testing.T) {
	g := &gated{device(t, 20, rawblock.Aligned, true, "").(rawblock.Batcher), make(chan struct{}, 9), make(chan struct{})}
	s := open(t, g, rawblock.Options{Strategy: rawblock.Batch, Layout: rawblock.Aligned})
	keys, objects := some(0, 10)
	first := make(chan error, 1)
	go func() {
		_, err := s.PutMany(context.Background(), keys, objects)
		first <- err
	}()
	<-g.arrived
	if res := put(t, s, keys, objects); res != (rawblock.PutResult{InFlight: 10}) {
		t.Errorf("while in flight: %+v, want ten in flight", res)
	}
	if errs := s.PutEach(t.Context(), keys[:1], objects[:1]); !errors.Is(errs[0], rawblock.ErrInFlight) {
		t.Errorf("put each while in flight: %v", errs[0])
	}
	if s.Has(keys[0]) {
		t.Error("has a key in flight")
	}
	if _, err := s.Get(t.Context(), keys[0], nil); !errors.Is(err, rawblock.ErrNotFound) {
		t.Errorf("get while in flight: %v", err)
	}
	if got := s.Stats(); got.InFlight != 10 || got.Free != 10 {
		t.Errorf("%+v, want ten in flight", got)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	close(g.let)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := s.PutMany(t.Context(), keys, objects); !errors.Is(err, rawblock.ErrClosed) {
		t.Errorf("put after close: %v", err)
	}
	if _, err := s.Get(t.Context(), keys[0], nil); !errors.Is(err, rawblock.ErrClosed) {
		t.Errorf("get after close: %v", err)
	}
	if err := s.Close(); !errors.Is(err, rawblock.ErrClosed) {
		t.Errorf("close after close: %v", err)
	}
}

// slowRead waits in the middle of a read.
type slowRead struct {
	rawblock.Device
	arrived, let chan struct{}
}

func (d *slowRead) ReadAt(p []byte, off int64) (int, error) {
	close(d.arrived)
	<-d.let
	return d.Device.ReadAt(p, off)
}

// A slot that is deleted while it is read isn't given to another key before the
// read is done.
func TestDeletedSlotIsNotReusedWhileRead(t *testing.T) {
	d := &slowRead{device(t, 1, rawblock.Aligned, false, ""), make(chan struct{}), make(chan struct{})}
	s := open(t, d, rawblock.Options{Layout: rawblock.Aligned})
	keys, objects := some(0, 2)
	put(t, s, keys[:1], objects[:1])
	got := make(chan []byte, 1)
	go func() {
		b, err := s.Get(context.Background(), keys[0], nil)
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	<-d.arrived
	if err := s.Delete(keys[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutMany(t.Context(), keys[1:], objects[1:]); !errors.Is(err, rawblock.ErrFull) {
		t.Errorf("put while the only slot is read: %v, want ErrFull", err)
	}
	close(d.let)
	if b := <-got; !bytes.Equal(b, objects[0]) {
		t.Errorf("the read got %d bytes, not its own", len(b))
	}
	wantStats(t, s, 1, 0)
	put(t, s, keys[1:], objects[1:])
}

func TestReadFaults(t *testing.T) {
	for _, kind := range []string{"error", "short"} {
		s := open(t, device(t, 20, rawblock.Aligned, true, "read:"+kind+"@1"), rawblock.Options{Layout: rawblock.Aligned})
		keys, objects := some(0, 1)
		put(t, s, keys, objects)
		if _, err := s.Get(t.Context(), keys[0], nil); !errors.Is(err, emu.ErrInjected) {
			t.Errorf("%s: %v", kind, err)
		}
		wantStored(t, s, keys, objects)
	}
}

// A header that isn't the key's own is found: here the write was torn away.
func TestTornHeaderIsFound(t *testing.T) {
	s := open(t, device(t, 20, rawblock.Split, true, "write:torn@1"), rawblock.Options{})
	keys, objects := some(0, 1)
	put(t, s, keys, objects)
	if _, err := s.Get(t.Context(), keys[0], nil); !errors.Is(err, rawblock.ErrHeader) {
		t.Errorf("got %v, want ErrHeader", err)
	}
}

// Many goroutines put, get and delete the same keys; what is read is the key's
// own, and at the end no slot is lost.
func TestConcurrentUse(t *testing.T) {
	every(t, "write:error@p(0.05,seed=3)", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 8)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 50 {
					from := (g + i) % 6
					if _, err := s.PutMany(t.Context(), keys[from:from+3], objects[from:from+3]); err != nil && !errors.Is(err, emu.ErrInjected) {
						t.Error(err)
					}
					b, err := s.Get(t.Context(), keys[from], nil)
					if err == nil && !bytes.Equal(b, objects[from]) {
						t.Errorf("key %d: another key's bytes", from)
					} else if err != nil && !errors.Is(err, rawblock.ErrNotFound) {
						t.Error(err)
					}
					if err := s.Delete(keys[from]); err != nil && !errors.Is(err, rawblock.ErrNotFound) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		stored := s.Stats().Stored
		wantStats(t, s, 20-stored, stored)
	})
}

// Whatever is put, failed and deleted: free + stored = all, and what is stored
// reads back.
func TestSlotsAreNeverLost(t *testing.T) {
	property := func(ops []uint16, layout bool, seed uint64) bool {
		l := rawblock.Split
		if layout {
			l = rawblock.Aligned
		}
		s, err := rawblock.New(aside(device(t, 12, l, true, "write:error@p(0.1,seed=9)")),
			rawblock.Options{Payload: payload, Strategy: rawblock.Batch, Layout: l, Seed: seed})
		if err != nil {
			return false
		}
		defer s.Close()
		keys, objects := some(0, 20)
		stored := map[int]bool{}
		for _, op := range ops {
			from, n := int(op%16), int(op>>8%4)+1
			if op>>4%3 == 0 {
				if (s.Delete(keys[from]) == nil) != stored[from] {
					return false
				}
				delete(stored, from)
			} else if _, err := s.PutMany(t.Context(), keys[from:from+n], objects[from:from+n]); err == nil {
				for i := from; i < from+n; i++ {
					stored[i] = true
				}
			}
			if st := s.Stats(); st.Free+st.Stored != 12 || st.Stored != len(stored) || st.InFlight != 0 {
				return false
			}
		}
		for i := range stored {
			if b, err := s.Get(t.Context(), keys[i], nil); err != nil || !bytes.Equal(b, objects[i]) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		o    rawblock.Options
		is   error
	}{
		{"smaller than a slot", rawblock.Options{Payload: 1 << 20}, rawblock.ErrTooSmall},
		{"fewer than asked", rawblock.Options{Slots: 1000}, rawblock.ErrTooSmall},
		{"unknown strategy", rawblock.Options{Strategy: "magic"}, metrics.ErrLevel},
		{"unknown layout", rawblock.Options{Layout: "magic"}, metrics.ErrLevel},
		{"negative", rawblock.Options{Workers: -1}, nil},
	} {
		_, err := rawblock.New(device(t, 4, rawblock.Split, true, ""), test.o)
		if err == nil || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %v", test.name, err, test.is)
		}
	}
	t.Setenv("LATLAB_STRATEGY", "sideways")
	if _, err := rawblock.New(device(t, 4, rawblock.Split, true, ""), rawblock.Options{}); !errors.Is(err, metrics.ErrLevel) {
		t.Errorf("bad environment: %v", err)
	}
}

// Each strategy's operation is a sound timeline, most of it with a name.
func TestTimelines(t *testing.T) {
	for _, strategy := range rawblock.StrategyToggle.Levels() {
		var got []metrics.Timeline
		rec := metrics.NewRecorder(rawblock.Stages, metrics.WithSwitch(true), metrics.WithTimelines(func(tl metrics.Timeline) { got = append(got, tl) }))
		s := open(t, device(t, 20, rawblock.Split, true, ""), rawblock.Options{Strategy: strategy, Recorder: rec})
		keys, objects := some(0, 10)
		put(t, s, keys, objects)
		if len(got) != 1 {
			t.Fatalf("%s: %d timelines, want one", strategy, len(got))
		}
		if err := got[0].Check(); err != nil {
			t.Errorf("%s: %v", strategy, err)
		}
		seen := map[metrics.Stage]int{}
		for _, iv := range got[0].Intervals {
			seen[iv.Stage]++
		}
		want := map[metrics.Stage]int{rawblock.StageReserve: 10, rawblock.StagePrepare: 10, rawblock.StageWait: 10, rawblock.StageCommit: 10}
		switch strategy {
		case rawblock.Batch:
			want = map[metrics.Stage]int{rawblock.StageReserve: 1, rawblock.StagePrepare: 1, rawblock.StageSubmit: 1, rawblock.StageWait: 1, rawblock.StageCommit: 1}
		case rawblock.FanOut, rawblock.Pool:
			want[rawblock.StageDispatch] = 10
		}
		if fmt.Sprint(seen) != fmt.Sprint(want) {
			t.Errorf("%s: stages %v, want %v", strategy, seen, want)
		}
	}
}

// registrar notes what memory it was told of, and that none is used otherwise.
type registrar struct {
	rawblock.Batcher
	mu      sync.Mutex
	regions [][]byte
	strange int
	closed  bool
	sum     byte
}

func (r *registrar) Register(mem []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.regions = append(r.regions, mem)
	return nil
}

func (r *registrar) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	r.mu.Lock()
	for _, w := range ws {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(w.Buf)))
		if !slices.ContainsFunc(r.regions, func(m []byte) bool {
			from := uintptr(unsafe.Pointer(unsafe.SliceData(m)))
			return from <= at && at+uintptr(len(w.Buf)) <= from+uintptr(len(m))
		}) {
			r.strange++
		}
	}
	r.mu.Unlock()
	return r.Batcher.WriteBatch(ctx, ws, submitted)
}

// Close still reads the memory: it must not be unmapped before.
func (r *registrar) Close() error {
	for _, m := range r.regions {
		r.sum += m[0]
	}
	r.closed = true
	return r.Batcher.Close()
}

// A device that wants to know the store's memory is told of all of it, while the
// memory is mapped.
func TestDeviceIsToldOfMemory(t *testing.T) {
	r := &registrar{Batcher: device(t, 20, rawblock.Aligned, true, "").(rawblock.Batcher)}
	s, err := rawblock.New(r, rawblock.Options{Payload: payload, Strategy: rawblock.Batch, Layout: rawblock.Aligned})
	if err != nil {
		t.Fatal(err)
	}
	keys, objects := some(0, 10)
	put(t, s, keys, objects)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(r.regions) == 0 || r.strange > 0 || !r.closed {
		t.Errorf("%d regions, %d writes from elsewhere, closed %v", len(r.regions), r.strange, r.closed)
	}
}

// Format refuses what Open would, before it writes.
func TestFormatRefuses(t *testing.T) {
	for _, o := range []rawblock.Options{{Payload: -1}, {Payload: -5000}, {Slots: -1}, {Layout: "magic"}} {
		d := &counting{Batcher: device(t, 4, rawblock.Split, true, "").(rawblock.Batcher)}
		if err := rawblock.Format(t.Context(), d, o); err == nil || d.singles+d.calls != 0 {
			t.Errorf("%+v: %v, %d writes", o, err, d.singles+d.calls)
		}
	}
}
