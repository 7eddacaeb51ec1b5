//go:build giouring && linux

package uring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
	"latlab.example/rawblock/uring"
)

func open(t testing.TB, size int64) *uring.Device {
	t.Helper()
	return openWith(t, size, uring.Options{})
}

func openWith(t testing.TB, size int64, o uring.Options) *uring.Device {
	t.Helper()
	f, err := rawblock.TempFile(t.TempDir(), size)
	if errors.Is(err, rawblock.ErrFileSystem) {
		labtest.Require(t, "file", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	d, err := uring.New(f, o)
	if errors.Is(err, rawblock.ErrBlocked) {
		labtest.Require(t, "iouring", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	return d
}

func closed(t testing.TB, d *uring.Device) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// blocks is n blocks of aligned memory, each filled with its number.
func blocks(t testing.TB, d *uring.Device, n int) []rawblock.IO {
	t.Helper()
	size := d.BlockSize()
	mem, err := unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	ws := make([]rawblock.IO, n)
	for i := range ws {
		ws[i] = rawblock.IO{Off: int64(i * size), Buf: mem[i*size : (i+1)*size]}
		for j := range ws[i].Buf {
			ws[i].Buf[j] = byte(i + i>>8)
		}
	}
	return ws
}

func wantBlocks(t *testing.T, d *uring.Device, ws []rawblock.IO) {
	t.Helper()
	size := d.BlockSize()
	got := make([]byte, 2*size)
	skip := (size - int(uintptr(unsafe.Pointer(&got[0])))%size) % size // direct reads need alignment too
	for _, w := range ws {
		if _, err := d.ReadAt(got[skip:skip+size], w.Off); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[skip:skip+size], w.Buf) {
			t.Fatalf("block at %d holds %d, want %d", w.Off, got[skip], w.Buf[0])
		}
	}
}

// Batches smaller than, as large as and larger than the ring all arrive, and
// submitted is called once.
func TestBatches(t *testing.T) {
	d := open(t, 16<<20)
	defer closed(t, d)
	for _, n := range []int{1, 2, 1023, 1024, 1025, 3000} {
		ws := blocks(t, d, n)
		calls := 0
		if err := d.WriteBatch(t.Context(), ws, func() { calls++ }); err != nil || calls != 1 {
			t.Fatalf("%d writes: %v, submitted called %d times", n, err, calls)
		}
		wantBlocks(t, d, ws)
	}
	if err := d.WriteBatch(t.Context(), nil, func() {}); err != nil {
		t.Errorf("empty batch: %v", err)
	}
}

// A bad transfer in mid-batch is that batch's error; the device goes on.
func TestBadTransferFailsTheBatchOnly(t *testing.T) {
	d := open(t, 1<<20)
	defer closed(t, d)
	ws := blocks(t, d, 200)
	forbidden, err := unix.Mmap(-1, 0, d.BlockSize(), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(forbidden) })
	for name, c := range map[string]struct {
		spoil func(w *rawblock.IO)
		want  error
	}{
		"unaligned":  {func(w *rawblock.IO) { w.Off++ }, rawblock.ErrRange},
		"outside":    {func(w *rawblock.IO) { w.Off = d.Size() }, rawblock.ErrRange},
		"unreadable": {func(w *rawblock.IO) { w.Buf = forbidden }, unix.EFAULT},
	} {
		for _, at := range []int{0, 100, 199} {
			bad := slices.Clone(ws)
			c.spoil(&bad[at])
			calls := 0
			if err := d.WriteBatch(t.Context(), bad, func() { calls++ }); !errors.Is(err, c.want) || !errors.Is(bad[at].Err, c.want) || calls != 1 {
				t.Errorf("%s entry %d: %v, its own %v, want %v; submitted called %d times", name, at, err, bad[at].Err, c.want, calls)
			}
			for i := range bad {
				if i != at && bad[i].Err != nil && !errors.Is(bad[i].Err, rawblock.ErrNotDone) {
					t.Errorf("%s entry %d: entry %d has %v", name, at, i, bad[i].Err)
				}
			}
			if err := d.Write(t.Context(), bad[at]); !errors.Is(err, c.want) {
				t.Errorf("%s single write: %v, want %v", name, err, c.want)
			}
		}
	}
	if err := d.WriteBatch(t.Context(), ws, nil); err != nil {
		t.Fatal(err)
	}
	wantBlocks(t, d, ws)
}

// A context that ends leaves nothing under way, and every transfer says whether
// it was done.
func TestCancelled(t *testing.T) {
	d := open(t, 1<<20)
	defer closed(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ws, calls := blocks(t, d, 10), 0
	if err := d.WriteBatch(ctx, ws, func() { calls++ }); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("batch: %v, submitted called %d times", err, calls)
	}
	for i := range ws {
		if !errors.Is(ws[i].Err, rawblock.ErrNotDone) {
			t.Errorf("write %d: %v", i, ws[i].Err)
		}
	}
	if err := d.Write(ctx, ws[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("single: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	done := 0
	err := d.WriteStream(ctx, ws, func(*rawblock.IO) bool {
		if done++; done == 100 {
			cancel()
		}
		return true
	})
	if !errors.Is(err, context.Canceled) || done < 100 || done > 110 {
		t.Errorf("stream: %v after %d writes, want its end within 10 of 100", err, done)
	}
	wantBlocks(t, d, ws)
}

// A stream writes all that it is given, never more at once than there are places,
// and ends when there is no more.
func TestStream(t *testing.T) {
	d := open(t, 4<<20)
	defer closed(t, d)
	const n = 1000
	all := blocks(t, d, n)
	for _, depth := range []int{1, 7, 128} {
		for i := range all {
			clear(all[i].Buf)
			all[i].Buf[0], all[i].Buf[1], all[i].Buf[2] = byte(i), byte(i>>8), byte(depth)
		}
		slots := slices.Clone(all[:depth])
		given, done := depth, 0
		err := d.WriteStream(t.Context(), slots, func(w *rawblock.IO) bool {
			if done++; w.Err != nil {
				t.Errorf("complete, with %v", w.Err)
			}
			if given == n {
				return false
			}
			*w = all[given]
			given++
			return true
		})
		if err != nil || done != n {
			t.Fatalf("depth %d: %d of %d writes, %v", depth, done, n, err)
		}
		wantBlocks(t, d, all)
		for i := range slots {
			if slots[i].Err != nil {
				t.Errorf("depth %d: place %d: %v", depth, i, slots[i].Err)
			}
		}
	}
	// A failure ends it.
	done := 0
	err := d.WriteStream(t.Context(), all[:5], func(w *rawblock.IO) bool {
		if done++; done == 50 {
			w.Off = d.Size()
		}
		return true
	})
	if !errors.Is(err, rawblock.ErrRange) || done < 50 || done > 55 {
		t.Errorf("%v after %d writes, want ErrRange within 5 of 50", err, done)
	}
	if err := d.WriteStream(t.Context(), nil, nil); err != nil {
		t.Errorf("empty: %v", err)
	}
}

// More callers than rings, batches beside them, and a flood of signals, which
// interrupts waits: every write arrives.
func TestManyCallersUnderSignals(t *testing.T) {
	d := open(t, 16<<20)
	defer closed(t, d)
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGUSR1)
	defer signal.Stop(ignored)
	stop := make(chan struct{})
	var flood, writers sync.WaitGroup
	flood.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			}
		}
	})
	ws := blocks(t, d, 2000)
	errs := make(chan error, len(ws))
	for _, w := range ws[:300] {
		writers.Go(func() { errs <- d.Write(t.Context(), w) })
	}
	for from := 300; from < 2000; from += 170 {
		writers.Go(func() { errs <- d.WriteBatch(t.Context(), ws[from:from+170], nil) })
	}
	writers.Wait()
	close(stop)
	flood.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	wantBlocks(t, d, ws)
}

// The study's required cases hold on the real engine too.
func TestStoreOnTheRing(t *testing.T) {
	for _, layout := range rawblock.LayoutToggle.Levels() {
		s, err := rawblock.New(open(t, 32<<20), rawblock.Options{Strategy: rawblock.Batch, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		var keys []rawblock.Key
		var objects [][]byte
		for i := range 1000 {
			keys = append(keys, rawblock.KeyOf(fmt.Sprint(i)))
			objects = append(objects, bytes.Repeat([]byte{byte(i)}, 1+i*4))
		}
		for n, want := range map[int]int{1: 1, 10: 9, 1000: 990} { // in any order, what is new is written
			res, err := s.PutMany(t.Context(), keys[:n], objects[:n])
			if err != nil || res.Written+res.Present != n {
				t.Fatalf("%d keys: %+v, %v (%d new at most)", n, res, err, want)
			}
		}
		for i, k := range keys {
			if got, err := s.Get(t.Context(), k, nil); err != nil || !bytes.Equal(got, objects[i]) {
				t.Fatalf("key %d: %d bytes, %v", i, len(got), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestProbe(t *testing.T) {
	if err := uring.Probe(); errors.Is(err, rawblock.ErrBlocked) {
		labtest.Require(t, "iouring", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Error(err)
	}
}

// What was written reads back in one batch; a read beyond the end is that
// request's error and not the others'.
func TestReadBatch(t *testing.T) {
	d := open(t, 8<<20)
	defer closed(t, d)
	ws := blocks(t, d, 1500)
	if err := d.WriteBatch(t.Context(), ws, nil); err != nil {
		t.Fatal(err)
	}
	rs := blocks(t, d, 1500)
	for i := range rs {
		clear(rs[i].Buf)
	}
	if err := d.ReadBatch(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	for i := range rs {
		if rs[i].Err != nil || !bytes.Equal(rs[i].Buf, ws[i].Buf) {
			t.Fatalf("block %d: %v, or other bytes", i, rs[i].Err)
		}
	}
	rs[1499].Off = d.Size()
	if err := d.ReadBatch(t.Context(), rs); !errors.Is(err, rawblock.ErrRange) || !errors.Is(rs[1499].Err, rawblock.ErrRange) || rs[0].Err != nil {
		t.Errorf("beyond the end: %v, its own %v, the first one's %v", err, rs[1499].Err, rs[0].Err)
	}
}

// With any options, batches of any size arrive and read back.
func TestOptions(t *testing.T) {
	for _, o := range []uring.Options{
		{Entries: 1},
		{Entries: 3},
		{Entries: 64},
		{Entries: 32768},
		{Registered: true},
		{SQPoll: true},
		{Entries: 8, Registered: true, SQPoll: true},
	} {
		d := openWith(t, 4<<20, o)
		ws := blocks(t, d, 500)
		for i := range ws[:100] { // some of the memory, in several pieces
			if err := d.Register(ws[i].Buf); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
		}
		calls := 0
		if err := d.WriteBatch(t.Context(), ws, func() { calls++ }); err != nil || calls != 1 {
			t.Errorf("%+v: write: %v, submitted called %d times", o, err, calls)
		}
		wantBlocks(t, d, ws)
		for i := range ws {
			clear(ws[i].Buf)
		}
		if err := d.ReadBatch(t.Context(), ws); err != nil {
			t.Errorf("%+v: read: %v", o, err)
		}
		wantBlocks(t, d, ws)
		for i := range ws {
			if ws[i].Buf[1] != byte(i+i>>8) {
				t.Fatalf("%+v: block %d reads %d", o, i, ws[i].Buf[1])
			}
		}
		closed(t, d)
	}
	for _, entries := range []int{-1, 32769, 1 << 40} {
		f, err := rawblock.TempFile(t.TempDir(), 1)
		if err != nil {
			t.Skip(err)
		}
		if _, err := uring.New(f, uring.Options{Entries: entries}); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%d entries: %v", entries, err)
		}
		if f.Fd() >= 0 {
			t.Errorf("%d entries: the file is still open", entries)
		}
	}
}

// choice is an arm.
type choice map[string]string

func (c choice) Level(name string) (string, bool) { level, ok := c[name]; return level, ok }

func TestOptionsOf(t *testing.T) {
	if o := uring.OptionsOf(choice{}); o != (uring.Options{Entries: 1024}) {
		t.Errorf("baseline: %+v", o)
	}
	if o := uring.OptionsOf(choice{"ring": "64", "registered": "true", "sqpoll": "true"}); o != (uring.Options{Entries: 64, Registered: true, SQPoll: true}) {
		t.Errorf("chosen: %+v", o)
	}
}

// Registering can fail; the device goes on.
func TestRegisterIsRefused(t *testing.T) {
	d := openWith(t, 1<<20, uring.Options{Registered: true})
	defer closed(t, d)
	ws := blocks(t, d, 1)
	for range 1024 {
		if err := d.Register(ws[0].Buf); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Register(ws[0].Buf); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("region 1025: %v", err)
	}
	if err := d.WriteBatch(t.Context(), ws, nil); err != nil {
		t.Error(err)
	}
}

// Close gives every descriptor back, waits for the calls under way, and later
// calls are told.
func TestClose(t *testing.T) {
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	closed(t, open(t, 1<<20)) // what the runtime opens for itself once
	before := descriptors()
	for _, o := range []uring.Options{{}, {Registered: true}, {SQPoll: true}} {
		d := openWith(t, 4<<20, o)
		ws := blocks(t, d, 600)
		var callers sync.WaitGroup
		for i := range 200 {
			callers.Go(func() {
				if err := d.Write(t.Context(), ws[i]); err != nil {
					t.Error(err)
				}
			})
			if i%50 == 0 {
				callers.Go(func() {
					if err := d.WriteBatch(t.Context(), ws[200+i:250+i], nil); err != nil {
						t.Error(err)
					}
				})
			}
		}
		callers.Wait()
		if descriptors() <= before+2 {
			t.Errorf("%d descriptors in use, %d before: no rings?", descriptors(), before)
		}
		started, finished := make(chan struct{}), make(chan error)
		go func() {
			n := 0
			finished <- d.WriteStream(t.Context(), ws[:8], func(*rawblock.IO) bool {
				if n++; n == 1 {
					close(started)
				}
				return n < 1000
			})
		}()
		<-started
		closed(t, d)
		select {
		case err := <-finished:
			if err != nil {
				t.Errorf("stream that Close waits for: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Close didn't wait for the stream")
		}
		if n := descriptors(); n != before {
			t.Errorf("%+v: %d descriptors after Close, %d before", o, n, before)
		}
		ws[0].Err = nil
		if err := d.WriteBatch(t.Context(), ws, nil); !errors.Is(err, os.ErrClosed) || !errors.Is(ws[0].Err, rawblock.ErrNotDone) {
			t.Errorf("batch after Close: %v, its first write's %v", err, ws[0].Err)
		}
		if err := d.Write(t.Context(), ws[0]); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write after Close: %v", err)
		}
		if err := d.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	}
}
