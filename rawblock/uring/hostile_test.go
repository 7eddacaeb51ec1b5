//go:build giouring && linux

package uring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
)

// hostile is a real ring with the bad habits of all kernels and of its library.
// Its zero value has none.
type hostile struct {
	*giouring.Ring
	entered []*giouring.SubmissionQueueEntry // since the last submission

	atEntry  func(sqe *giouring.SubmissionQueueEntry) // just before the kernel sees it
	atResult func(cqe *giouring.CompletionQueueEvent) // just before the engine sees it
	submit   func() error                             // instead of a submission, unless nil
	wait     func() error                             // instead of a wait, unless nil
	most     func() int                               // completions shown at once
	register func() error                             // instead of registering memory, unless nil
	freed    int
}

func (h *hostile) GetSQE() *giouring.SubmissionQueueEntry {
	sqe := h.Ring.GetSQE()
	if sqe != nil { // all that an earlier user could have left
		sqe.OpcodeFlags, sqe.Flags, sqe.IoPrio, sqe.BufIG, sqe.Personality, sqe.SpliceFdIn = ^uint32(0), 0xff, 0xffff, 0xffff, 0xffff, -1
		h.entered = append(h.entered, sqe)
	}
	return sqe
}

func (h *hostile) before() error {
	if h.submit != nil {
		if err := h.submit(); err != nil {
			return err
		}
	}
	if h.atEntry != nil {
		for _, sqe := range h.entered {
			h.atEntry(sqe)
		}
	}
	h.entered = nil
	return nil
}

func (h *hostile) Submit() (uint, error) {
	if err := h.before(); err != nil {
		return 0, err
	}
	return h.Ring.Submit()
}

func (h *hostile) SubmitAndWait(n uint32) (uint, error) {
	if err := h.before(); err != nil {
		return 0, err
	}
	if h.wait != nil {
		if n, err := h.Ring.Submit(); n > 0 || err != nil {
			return n, err
		}
		if err := h.wait(); err != nil {
			return 0, err
		}
	}
	return h.Ring.SubmitAndWait(n)
}

func (h *hostile) Enter(submitted, wait, flags uint32, sig unsafe.Pointer) (uint, error) {
	if h.wait != nil {
		if err := h.wait(); err != nil {
			return 0, err
		}
	}
	return h.Ring.Enter(submitted, wait, flags, sig)
}

func (h *hostile) PeekBatchCQE(cqes []*giouring.CompletionQueueEvent) uint32 {
	if h.most != nil {
		cqes = cqes[:min(len(cqes), h.most())]
	}
	n := h.Ring.PeekBatchCQE(cqes)
	if h.atResult != nil {
		for _, cqe := range cqes[:n] {
			h.atResult(cqe)
		}
	}
	return n
}

func (h *hostile) RegisterBuffersUpdateTag(at uint32, iovecs []syscall.Iovec, tags *uint64, n uint32) (uint, error) {
	if h.register != nil {
		if err := h.register(); err != nil {
			return 0, err
		}
	}
	return h.Ring.RegisterBuffersUpdateTag(at, iovecs, tags, n)
}

func (h *hostile) QueueExit() { h.freed++; h.Ring.QueueExit() }

// hostileDevice is a device of size bytes in blocks of 512 bytes, whose batches
// all go through one ring with the given habits.
func hostileDevice(t testing.TB, size int64, entries int, h *hostile) *Device {
	t.Helper()
	f, err := rawblock.TempFile(t.TempDir(), size)
	if errors.Is(err, rawblock.ErrFileSystem) {
		labtest.Require(t, "file", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	d, err := New(f, Options{})
	if errors.Is(err, rawblock.ErrBlocked) {
		labtest.Require(t, "iouring", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	d.batches.close()
	d.batches = newPool(entries, 0, 1)
	d.batches.open = func() (*ring, error) {
		r, err := newRing(entries, 0)
		if err == nil {
			h.Ring = r.q.(*giouring.Ring)
			h.entered = nil
			r.q = h
		}
		return r, err
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// pages is aligned memory.
func pages(t testing.TB, n int) []byte {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem
}

// writes are n writes of one block each, of its number.
func writes(t testing.TB, d *Device, n int) []rawblock.IO {
	size := d.BlockSize()
	mem := pages(t, n*size)
	ws := make([]rawblock.IO, n)
	for i := range ws {
		ws[i] = rawblock.IO{Off: int64(i * size), Buf: mem[i*size : (i+1)*size]}
		for j := range ws[i].Buf {
			ws[i].Buf[j] = byte(i + 1)
		}
	}
	return ws
}

// wantOnDisk reads with pread: written blocks hold their bytes.
func wantOnDisk(t *testing.T, d *Device, ws []rawblock.IO) {
	t.Helper()
	got := pages(t, d.BlockSize())
	for i, w := range ws {
		if w.Err != nil {
			continue
		}
		if _, err := d.ReadAt(got, w.Off); err != nil || !bytes.Equal(got, w.Buf) {
			t.Fatalf("block %d holds %d (%v), want %d", i, got[0], err, w.Buf[0])
		}
	}
}

// Short transfers go on from where they ended, however short.
func TestShortTransfersGoOn(t *testing.T) {
	const unit = 512
	short := 0
	h := &hostile{atEntry: func(sqe *giouring.SubmissionQueueEntry) {
		if sqe.Len > unit {
			sqe.Len = unit
			short++
		}
	}}
	d := hostileDevice(t, 1<<20, 8, h)
	if d.BlockSize() <= unit {
		t.Skipf("blocks of %d bytes can't be cut", d.BlockSize())
	}
	ws := writes(t, d, 50)
	if err := d.WriteBatch(t.Context(), ws, nil); errors.Is(err, unix.EINVAL) {
		t.Skip("the disk takes whole blocks only")
	} else if err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, d, ws)
	rs := writes(t, d, 50)
	for i := range rs {
		clear(rs[i].Buf)
	}
	if err := d.ReadBatch(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	for i := range rs {
		if !bytes.Equal(rs[i].Buf, ws[i].Buf) {
			t.Fatalf("block %d reads other bytes", i)
		}
	}
	if want := 2 * 50 * (d.BlockSize()/unit - 1); short != want {
		t.Errorf("%d transfers were cut, want %d", short, want)
	}
}

// A transfer that moves nothing is an error and isn't tried again: neither at
// once nor after a part.
func TestNothingMoved(t *testing.T) {
	for _, first := range []uint32{0, 512} {
		entries := 0
		h := &hostile{atEntry: func(sqe *giouring.SubmissionQueueEntry) {
			if sqe.UserData == 3 {
				if entries++; entries == 1 {
					sqe.Len = first
				} else {
					sqe.Len = 0
				}
			}
		}}
		d := hostileDevice(t, 1<<20, 8, h)
		if d.BlockSize() <= 512 {
			t.Skipf("blocks of %d bytes can't be cut", d.BlockSize())
		}
		tries := 1
		if first > 0 {
			tries = 2
		}
		ws := writes(t, d, 8)
		if err := d.WriteBatch(t.Context(), ws, nil); !errors.Is(err, rawblock.ErrShortWrite) || !errors.Is(ws[3].Err, rawblock.ErrShortWrite) || entries != tries {
			t.Errorf("write of nothing after %d bytes: %v, its own %v, %d tries", first, err, ws[3].Err, entries)
		}
		wantOnDisk(t, d, ws)
		entries = 0
		if err := d.ReadBatch(t.Context(), ws); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(ws[3].Err, io.ErrUnexpectedEOF) || entries != tries {
			t.Errorf("read of nothing after %d bytes: %v, its own %v, %d tries", first, err, ws[3].Err, entries)
		}
	}
}

// What a failed batch leaves half done doesn't reach the ring's next caller.
func TestFailedBatchLeavesNothingBehind(t *testing.T) {
	h := &hostile{}
	d := hostileDevice(t, 1<<20, 8, h)
	if d.BlockSize() <= 512 {
		t.Skipf("blocks of %d bytes can't be cut", d.BlockSize())
	}
	ws := writes(t, d, 8)
	h.atEntry = func(sqe *giouring.SubmissionQueueEntry) {
		sqe.Len = 512
		if sqe.UserData == 0 {
			sqe.Len = 0
		}
	}
	if err := d.WriteBatch(t.Context(), ws, nil); !errors.Is(err, rawblock.ErrShortWrite) {
		t.Errorf("%v, want ErrShortWrite", err)
	}
	h.atEntry = nil
	for i := range ws {
		for j := range ws[i].Buf {
			ws[i].Buf[j] = byte(100 + i)
		}
	}
	if err := d.WriteBatch(t.Context(), ws[:4], nil); err != nil {
		t.Error(err)
	}
	wantOnDisk(t, d, ws[:4])
}

// Signals without end are no error.
func TestManySignals(t *testing.T) {
	signals := 0
	h := &hostile{submit: func() error {
		if signals++; signals%500 != 0 {
			return unix.EINTR
		}
		return nil
	}}
	d := hostileDevice(t, 1<<20, 4, h)
	ws := writes(t, d, 12)
	if err := d.WriteBatch(t.Context(), ws, nil); err != nil {
		t.Error(err)
	}
	wantOnDisk(t, d, ws)
}

// An entry that the kernel refuses ends its submission early. What came after it
// in the ring still arrives, what wasn't in the ring isn't handed over.
func TestBadEntryEndsASubmissionEarly(t *testing.T) {
	for _, bad := range []uint64{0, 5, 15} {
		h := &hostile{atEntry: func(sqe *giouring.SubmissionQueueEntry) {
			if sqe.UserData == bad {
				sqe.OpCode = 255
			}
		}}
		d := hostileDevice(t, 1<<20, 16, h)
		ws := writes(t, d, 40)
		calls := 0
		if err := d.WriteBatch(t.Context(), ws, func() { calls++ }); !errors.Is(err, unix.EINVAL) || calls != 1 {
			t.Errorf("entry %d: %v, submitted called %d times", bad, err, calls)
		}
		for i, w := range ws {
			switch {
			case i == int(bad) && !errors.Is(w.Err, unix.EINVAL):
				t.Errorf("entry %d: its own error is %v", bad, w.Err)
			case i < 16 && i != int(bad) && w.Err != nil, i >= 32 && !errors.Is(w.Err, rawblock.ErrNotDone):
				t.Errorf("entry %d: write %d: %v", bad, i, w.Err)
			}
		}
		wantOnDisk(t, d, ws)
	}
}

// A submission that fails for good hands nothing over: the ring is freed, its
// entries with it, and the next caller gets another.
func TestSubmissionFailsForGood(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EBADF, unix.EAGAIN, unix.EBUSY} { // the latter two: for ever
		h := &hostile{}
		d := hostileDevice(t, 1<<20, 8, h)
		ws := writes(t, d, 20)
		for i := range ws {
			ws[i].Buf[0] = 0xee
		}
		h.submit = func() error { return errno }
		calls := 0
		if err := d.WriteBatch(t.Context(), ws, func() { calls++ }); !errors.Is(err, errno) || calls != 1 || h.freed != 1 {
			t.Errorf("%v: %v, submitted called %d times, %d rings freed", errno, err, calls, h.freed)
		}
		for i := range ws {
			if !errors.Is(ws[i].Err, rawblock.ErrNotDone) {
				t.Errorf("%v: write %d: %v", errno, i, ws[i].Err)
			}
		}
		h.submit = nil
		got := pages(t, d.BlockSize())
		if _, err := d.ReadAt(got, 0); err != nil || got[0] != 0 {
			t.Errorf("%v: block 0 holds %d (%v), want nothing written", errno, got[0], err)
		}
		if err := d.WriteBatch(t.Context(), ws, nil); err != nil {
			t.Errorf("after %v: %v", errno, err)
		}
		wantOnDisk(t, d, ws)
	}
}

// A wait that fails for good still doesn't return before what is under way is
// complete.
func TestWaitFailsForGood(t *testing.T) {
	h := &hostile{wait: func() error { return unix.EBADF }, most: func() int { return 1 }}
	d := hostileDevice(t, 1<<20, 8, h)
	ws := writes(t, d, 20)
	if err := d.WriteBatch(t.Context(), ws, nil); !errors.Is(err, unix.EBADF) || h.freed != 1 {
		t.Errorf("%v, %d rings freed", err, h.freed)
	}
	done := 0
	for i := range ws {
		if ws[i].Err == nil {
			done++
		} else if !errors.Is(ws[i].Err, rawblock.ErrNotDone) {
			t.Errorf("write %d: %v", i, ws[i].Err)
		}
	}
	if done < 8 {
		t.Errorf("%d writes are complete, want all 8 that were handed over at least", done)
	}
	wantOnDisk(t, d, ws)
}

// The property: whatever a ring does, batches and streams through it and preads
// and pwrites beside it see the same bytes. The seed is the test's name.
func TestRingAgreesWithPread(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { agree(t, seed) })
	}
}

func agree(t *testing.T, seed uint64) {
	const size = 64 << 10
	r := rand.New(rand.NewPCG(seed, 0))
	sometimes := func(n int) bool { return r.IntN(n) == 0 }
	obstacle := func() error {
		if sometimes(4) {
			return []error{unix.EINTR, unix.EAGAIN, unix.EBUSY}[r.IntN(3)]
		}
		return nil
	}
	unit := 512 // transfers are cut to multiples of it
	h := &hostile{
		submit: obstacle, wait: obstacle,
		atEntry: func(sqe *giouring.SubmissionQueueEntry) {
			switch {
			case sometimes(8):
				sqe.OpCode = 255 // ends the submission early with EINVAL, see atResult
			case sometimes(4) && sqe.Len > uint32(unit):
				sqe.Len = uint32(unit * (1 + r.IntN(int(sqe.Len)/unit)))
			}
		},
		atResult: func(cqe *giouring.CompletionQueueEvent) {
			if cqe.Res == -int32(unix.EINVAL) || sometimes(16) {
				cqe.Res = -int32(unix.EINTR) // such a transfer is asked for again
			}
		},
		most: func() int { return 1 + r.IntN(4) },
	}
	d := hostileDevice(t, size, 1+r.IntN(12), h)
	probe := pages(t, 4096)
	if _, err := unix.Pread(d.Fd(), probe[:512], 512); err != nil {
		unit = d.BlockSize()
	}
	block := d.BlockSize()
	model := make([]byte, size)
	mem := pages(t, size)
	for range 12 {
		// Pieces of the device that don't overlap, in random order.
		var ios []rawblock.IO
		for off := 0; off < size; {
			n := block * (1 + r.IntN(3))
			if n = min(n, size-off); !sometimes(3) {
				ios = append(ios, rawblock.IO{Off: int64(off), Buf: mem[off : off+n]})
			}
			off += n
		}
		r.Shuffle(len(ios), func(i, j int) { ios[i], ios[j] = ios[j], ios[i] })
		what := r.IntN(4)
		fill := func(w *rawblock.IO) {
			for i := range w.Buf {
				w.Buf[i] = byte(r.Uint32())
			}
			copy(model[w.Off:], w.Buf)
		}
		var err error
		switch what {
		case 0:
			for i := range ios {
				fill(&ios[i])
			}
			err = d.WriteBatch(t.Context(), ios, nil)
		case 1:
			calls := 0
			for i := range ios {
				fill(&ios[i])
			}
			if err = d.WriteBatch(t.Context(), ios, func() { calls++ }); calls != 1 {
				t.Errorf("submitted called %d times", calls)
			}
		case 2:
			depth := min(len(ios), 1+r.IntN(10))
			slots, rest := slices.Clone(ios[:depth]), ios[depth:]
			for i := range slots {
				fill(&slots[i])
			}
			done := 0
			err = d.WriteStream(t.Context(), slots, func(w *rawblock.IO) bool {
				if done++; len(rest) == 0 {
					return false
				}
				*w, rest = rest[0], rest[1:]
				fill(w)
				return true
			})
			if done != len(ios) {
				t.Errorf("%d of %d writes of a stream", done, len(ios))
			}
		case 3:
			clear(mem)
			err = d.ReadBatch(t.Context(), ios)
			for _, io := range ios {
				if !bytes.Equal(io.Buf, model[io.Off:int(io.Off)+len(io.Buf)]) {
					t.Fatalf("%d bytes at %d read other bytes", len(io.Buf), io.Off)
				}
			}
		}
		if err != nil {
			t.Fatalf("kind %d: %v", what, err)
		}
		for i := range ios {
			if what != 2 && ios[i].Err != nil {
				t.Errorf("transfer %d: %v", i, ios[i].Err)
			}
		}
		// One pwrite beside it, then all through pread.
		off := block * r.IntN(size/block)
		w := rawblock.IO{Off: int64(off), Buf: mem[off : off+block]}
		fill(&w)
		if err := d.File.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ReadAt(mem, 0); err != nil || !bytes.Equal(mem, model) {
			t.Fatalf("kind %d: pread sees other bytes (%v)", what, err)
		}
	}
}

// A ring that can't be made is its caller's error, and takes nobody's place.
func TestRingCannotBeMade(t *testing.T) {
	d := hostileDevice(t, 1<<20, 8, &hostile{})
	noRing := errors.New("no ring")
	broken := newPool(1, 0, 1)
	broken.open = func() (*ring, error) { return nil, noRing }
	defer broken.close()
	d.singles.close()
	d.singles = broken
	for range 3 { // the token comes back each time
		if err := d.Write(t.Context(), writes(t, d, 1)[0]); err != noRing {
			t.Errorf("%v, want %v", err, noRing)
		}
	}
}

// A caller that waits for a ring leaves when its context ends, or the device closes.
func TestWaitForARing(t *testing.T) {
	p := newPool(1, 0, 1)
	r, err := p.take(t.Context())
	if errors.Is(err, rawblock.ErrBlocked) {
		labtest.Require(t, "iouring", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	take := func(ctx context.Context) { _, err := p.take(ctx); left <- err }
	go take(ctx)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	go take(t.Context())
	closed := make(chan struct{})
	go func() { p.close(); close(closed) }()
	if err := <-left; !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	select {
	case <-closed:
		t.Error("closed with a ring on loan")
	default:
	}
	p.give(r)
	<-closed
}

// Memory that the kernel refused is its owner's again: the device doesn't ask for
// it a second time, nor takes other memory at that place for it.
func TestRefusedMemoryIsForgotten(t *testing.T) {
	h := &hostile{}
	d := hostileDevice(t, 1<<20, 8, h)
	d.registered = true
	short := errors.New("no locked memory")
	mem := pages(t, 2*4096)
	h.register = func() error { return short }
	if err := d.Register(mem[:4096]); !errors.Is(err, short) {
		t.Errorf("register: %v, want %v", err, short)
	}
	if err := d.WriteBatch(t.Context(), writes(t, d, 4), nil); err != nil {
		t.Errorf("batch after it: %v", err)
	}
	h.register = nil
	if err := d.Register(mem[4096:]); err != nil {
		t.Error(err)
	}
	if n := len(d.regions); n != 1 {
		t.Errorf("%d regions, want the one that was taken", n)
	}
}
