//go:build giouring && linux

package uring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
	"latlab.example/rawblock/uring"
)

func open(t testing.TB, size int64) *uring.Device {
	t.Helper()
	f, err := rawblock.TempFile(t.TempDir(), size)
	if errors.Is(err, rawblock.ErrFileSystem) {
		labtest.Require(t, "file", err) // LATLAB_REQUIRE_REAL
	} else if err != nil {
		t.Fatal(err)
	}
	d, err := uring.New(f)
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

// A bad entry in mid-batch is that batch's error; the device goes on.
func TestBadEntryFailsTheBatchOnly(t *testing.T) {
	d := open(t, 1<<20)
	defer closed(t, d)
	ws := blocks(t, d, 200)
	forbidden, err := unix.Mmap(-1, 0, d.BlockSize(), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(forbidden) })
	for name, spoil := range map[string]func(w *rawblock.IO){
		"unaligned":  func(w *rawblock.IO) { w.Off++ },
		"unreadable": func(w *rawblock.IO) { w.Buf = forbidden },
	} {
		for _, at := range []int{0, 100, 199} {
			bad := append([]rawblock.IO(nil), ws...)
			spoil(&bad[at])
			if err := d.WriteBatch(t.Context(), bad, nil); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EFAULT) {
				t.Errorf("%s entry %d: %v, want EINVAL or EFAULT", name, at, err)
			}
		}
	}
	if err := d.WriteBatch(t.Context(), ws, nil); err != nil {
		t.Fatal(err)
	}
	wantBlocks(t, d, ws)
}

func TestCancelled(t *testing.T) {
	d := open(t, 1<<20)
	defer closed(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.WriteBatch(ctx, blocks(t, d, 10), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("batch: %v", err)
	}
	if err := d.Write(ctx, blocks(t, d, 1)[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("single: %v", err)
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
	if err := d.ReadBatch(t.Context(), rs); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(rs[1499].Err, io.ErrUnexpectedEOF) || rs[0].Err != nil {
		t.Errorf("beyond the end: %v, its own %v, the first one's %v", err, rs[1499].Err, rs[0].Err)
	}
}
