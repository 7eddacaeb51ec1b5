package crash_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

// device is one of n blocks of zeros.
func device(t *testing.T, n int, faults string) *crash.Recorder {
	t.Helper()
	schedule, err := emu.ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	r, err := crash.NewRecorder(make([]byte, n*block), block, schedule)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write puts n blocks of a value at a block.
func write(at, n int, value byte) rawblock.IO {
	return rawblock.IO{Off: int64(at * block), Buf: bytes.Repeat([]byte{value}, n*block)}
}

// states are what a device of few blocks may hold, a digit a block.
func states(r *crash.Recorder, n int) (all []string) {
	for x := range r.After(n).All(1000, 0) {
		text := ""
		for at := 0; at < len(x.Image); at += block {
			text += string('0' + rune(x.Image[at]))
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func want(t *testing.T, r *crash.Recorder, n int, all ...string) {
	t.Helper()
	if got := states(r, n); !slices.Equal(got, all) {
		t.Errorf("after %d events: %v, want %v\n%s", n, got, all, r.History())
	}
}

// What may be left, worked out by hand.
func TestStates(t *testing.T) {
	ctx := t.Context()
	r := device(t, 3, "")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.Write(ctx, write(0, 2, 1))) // 0 1
	must(r.Write(ctx, write(1, 1, 2))) // 2 3
	want(t, r, 0, "000")
	want(t, r, 1, "000", "010", "100", "110") // torn in every way, while it is under way
	want(t, r, 2, "000", "010", "100", "110") // and when it is complete
	want(t, r, 4, "000", "010", "020", "100", "110", "120")
	must(r.Flush(ctx)) // 4 5
	want(t, r, 5, "000", "010", "020", "100", "110", "120")
	want(t, r, 6, "120")

	// What is under way when a flush begins isn't covered by it.
	r.Hook(func() { must(r.Flush(ctx)) })
	must(r.Write(ctx, write(2, 1, 3))) // 6, flush 7 8, 9
	want(t, r, 9, "120", "123")
	want(t, r, 10, "120", "123")
	must(r.Flush(ctx)) // 10 11
	want(t, r, 12, "123")

	// Writing the same again leaves no doubt.
	must(r.Write(ctx, write(2, 1, 3)))
	want(t, r, 14, "123")
	if !bytes.Equal(r.Image()[2*block:], bytes.Repeat([]byte{3}, block)) {
		t.Error("the image isn't what was written")
	}
}

// Where the device writes less than a block at once, a block may be torn.
func TestTearAt(t *testing.T) {
	r := device(t, 1, "")
	r.TearAt(block / 2)
	if err := r.Write(t.Context(), write(0, 1, 1)); err != nil {
		t.Fatal(err)
	}
	halves := map[[2]byte]bool{}
	for x := range r.After(2).All(10, 0) {
		halves[[2]byte{x.Image[block/2-1], x.Image[block/2]}] = true
	}
	if len(halves) != 4 {
		t.Errorf("%v, want all four", halves)
	}
}

// A write that failed is never certain, a failed flush makes nothing certain.
func TestStatesAfterFaults(t *testing.T) {
	r := device(t, 2, "write:error@2; flush:error@1; write:reset@4")
	ws := []rawblock.IO{write(0, 1, 1), write(1, 1, 2)}
	if err := r.WriteBatch(t.Context(), ws, nil); !errors.Is(err, emu.ErrInjected) || ws[0].Err != nil || ws[1].Err == nil {
		t.Errorf("%v, %v, %v", err, ws[0].Err, ws[1].Err)
	}
	if err := r.Flush(t.Context()); !errors.Is(err, emu.ErrInjected) {
		t.Error(err)
	}
	want(t, r, r.Len(), "00", "02", "10", "12")
	if err := r.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, r, r.Len(), "10", "12")
	if err := r.Write(t.Context(), write(1, 1, 3)); err != nil {
		t.Error(err)
	}
	want(t, r, r.Len(), "10", "12", "13")
	for range 2 {
		if err := r.Write(t.Context(), write(0, 1, 4)); !errors.Is(err, crash.ErrDead) {
			t.Errorf("after its death: %v", err)
		}
	}
	if _, err := r.ReadAt(make([]byte, block), 0); !errors.Is(err, crash.ErrDead) {
		t.Errorf("read after its death: %v", err)
	}
}

func TestSamples(t *testing.T) {
	r := device(t, 20, "")
	if err := r.Write(t.Context(), write(0, 20, 1)); err != nil {
		t.Fatal(err)
	}
	s := r.After(1)
	if s.Count() != 1<<20 {
		t.Errorf("%d states of 20 blocks", s.Count())
	}
	draw := func(seed uint64) (sums []int) {
		for x := range s.All(50, seed) {
			n := 0
			for _, c := range x.Choice {
				n += c
			}
			sums = append(sums, n)
		}
		return sums
	}
	one := draw(1)
	if len(one) != 50 || !slices.Equal(one, draw(1)) || slices.Equal(one, draw(2)) {
		t.Errorf("%v: want 50, the same for a seed and others for another", one)
	}
	for _, sum := range []int{0, 1, 19, 20} {
		if !slices.Contains(one, sum) {
			t.Errorf("no state with %d of 20 blocks: %v", sum, one)
		}
	}
}

// A store must never have two writes to a block under way; the device says so.
func TestOverlapIsFound(t *testing.T) {
	r := device(t, 3, "")
	r.Hook(func() {
		if err := r.Write(context.Background(), write(1, 2, 2)); !errors.Is(err, crash.ErrOverlap) {
			t.Errorf("got %v", err)
		}
	})
	if err := r.Write(t.Context(), write(0, 2, 1)); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(t.Context(), write(1, 1, 2)); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestBadRequests(t *testing.T) {
	r := device(t, 3, "")
	for _, w := range []rawblock.IO{{Off: 1, Buf: make([]byte, block)}, {Buf: make([]byte, 5)}, {}, write(2, 2, 1), {Off: -block, Buf: make([]byte, block)}} {
		if err := r.Write(t.Context(), w); err == nil {
			t.Errorf("write %d bytes at %d: no error", len(w.Buf), w.Off)
		}
		if _, err := r.ReadAt(w.Buf, w.Off); err == nil {
			t.Errorf("read %d bytes at %d: no error", len(w.Buf), w.Off)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Write(ctx, write(0, 1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled write: %v", err)
	}
	if err := r.Flush(ctx); !errors.Is(err, context.Canceled) || r.Len() != 0 {
		t.Errorf("cancelled flush: %v, %d events", err, r.Len())
	}
	misspelt, err := emu.ParseFaults("wirte:error@1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crash.NewRecorder(make([]byte, block), block, misspelt); err == nil {
		t.Error("misspelt faults: no error")
	}
	if _, err := crash.NewRecorder(make([]byte, block+1), block, nil); err == nil {
		t.Error("half a block: no error")
	}
}

// A submission that overlaps another leaves nothing of its own under way.
func TestOverlapIsRefusedAsAWhole(t *testing.T) {
	r := device(t, 4, "")
	r.Hook(func() {
		if err := r.WriteBatch(t.Context(), []rawblock.IO{write(2, 1, 1), write(1, 1, 1)}, nil); !errors.Is(err, crash.ErrOverlap) {
			t.Errorf("a write to a busy block: %v", err)
		}
	})
	if err := r.Write(t.Context(), write(1, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(t.Context(), write(2, 1, 1)); err != nil {
		t.Errorf("a write to a block that nobody writes: %v", err)
	}
	if err := r.Write(t.Context(), rawblock.IO{Off: 1<<63 - block, Buf: make([]byte, block)}); err == nil {
		t.Error("a write beyond the end is no error")
	}
}
