//go:build giouring && linux

// Package uring is engine io_uring: many writes in one submission.
//
// It is built only with tag giouring, and its library links only with
// -ldflags=-checklinkname=0; the Makefile passes both. Otherwise New answers
// with rawblock.ErrNotBuilt.
package uring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
)

// Built says whether the engine is part of this build.
const Built = true

const (
	// batchEntries is the ring's size for batches. Larger batches go through it
	// in pieces.
	batchEntries = 1024
	// maxSingles bounds the rings for single writes; more callers wait.
	maxSingles = 128
)

// Device writes to a file through io_uring. Batches share one ring under a
// lock, so they go one after the other. Single writes take a small ring each,
// so that concurrent callers reach the device together.
type Device struct {
	*rawblock.File
	batch   *ring
	singles chan *ring
	made    atomic.Int32
}

var _ rawblock.Batcher = (*Device)(nil)

// New puts the engine on a file and owns it from then on: an error closes it.
// The error wraps rawblock.ErrBlocked if the kernel or a sandbox forbids io_uring.
func New(f *rawblock.File) (*Device, error) {
	batch, err := newRing(batchEntries)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Device{File: f, batch: batch, singles: make(chan *ring, maxSingles)}, nil
}

// Probe says whether this host allows io_uring.
func Probe() error {
	r, err := newRing(1)
	if err != nil {
		return err
	}
	r.r.QueueExit()
	return nil
}

// Write does one write: one submission and one wait, in one system call.
func (d *Device) Write(ctx context.Context, w rawblock.IO) error {
	r, err := d.single(ctx)
	if err != nil {
		return err
	}
	defer func() { d.singles <- r }()
	return r.do(ctx, writing, d.Fd(), []rawblock.IO{w}, nil)
}

// WriteBatch hands all writes over in one submission, or in pieces of the
// ring's size if there are more.
func (d *Device) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	return d.batch.do(ctx, writing, d.Fd(), ws, submitted)
}

// ReadBatch is the same for reads.
func (d *Device) ReadBatch(ctx context.Context, rs []rawblock.IO) error {
	return d.batch.do(ctx, reading, d.Fd(), rs, nil)
}

// single gives a small ring to a caller.
func (d *Device) single(ctx context.Context) (*ring, error) {
	select {
	case r := <-d.singles:
		return r, nil
	default:
	}
	if d.made.Add(1) <= maxSingles {
		r, err := newRing(1)
		if err != nil {
			d.made.Add(-1)
		}
		return r, err
	}
	d.made.Add(-1)
	select {
	case r := <-d.singles:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close frees the rings and the file. No call may be under way.
func (d *Device) Close() error {
	for range d.made.Load() {
		(<-d.singles).r.QueueExit()
	}
	d.batch.r.QueueExit()
	return d.File.Close()
}

// ring is one io_uring. Its lock is all that goroutines need to share it: the
// kernel doesn't mind which thread enters.
type ring struct {
	mu     sync.Mutex // guards all
	r      *giouring.Ring
	size   int
	cqes   []*giouring.CompletionQueueEvent
	broken error // why the ring can't be used any more
}

func newRing(entries int) (*ring, error) {
	r, err := giouring.CreateRing(uint32(entries))
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("io_uring: %w (%w); see kernel.io_uring_disabled and the container's seccomp profile, or choose engine posix", rawblock.ErrBlocked, err)
	case err != nil:
		return nil, fmt.Errorf("io_uring: make a ring of %d entries: %w; raise the limit of locked memory or choose engine posix", entries, err)
	}
	return &ring{r: r, size: entries, cqes: make([]*giouring.CompletionQueueEvent, entries)}, nil
}

// direction is what a ring does with buffers.
type direction string

const (
	writing direction = "write"
	reading direction = "read"
)

// do transfers ws and returns when all that was handed over is complete, so that
// no buffer is in use afterwards. After the first failed write it hands no more
// over. It counts completions, since a signal ends a wait early without an
// error, and what a submission took, since a bad entry ends it early.
func (g *ring) do(ctx context.Context, dir direction, fd int, ws []rawblock.IO, submitted func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer runtime.KeepAlive(ws)
	for i := range ws {
		ws[i].Err = rawblock.ErrNotDone // until its completion says otherwise
	}
	failed := g.broken
	prepared, queued, done := 0, 0, 0 // queued: prepared, but not taken by the kernel
	for {
		for prepared < len(ws) && prepared-done < g.size && failed == nil {
			if failed = ctx.Err(); failed != nil {
				break
			}
			sqe := g.r.GetSQE()
			if sqe == nil {
				break
			}
			w := ws[prepared]
			addr := uintptr(unsafe.Pointer(unsafe.SliceData(w.Buf)))
			if dir == reading {
				sqe.PrepareRead(fd, addr, uint32(len(w.Buf)), uint64(w.Off))
			} else {
				sqe.PrepareWrite(fd, addr, uint32(len(w.Buf)), uint64(w.Off))
			}
			sqe.OpcodeFlags = 0 // the library leaves the flags of the entry's last user
			sqe.UserData = uint64(prepared)
			prepared++
			queued++
		}
		if queued > 0 {
			n, err := g.r.Submit()
			queued -= int(n)
			if err != nil && !passing(err) {
				// The queued entries stay in the ring. Nothing may submit them later,
				// when their buffers have another use.
				g.broken = fmt.Errorf("io_uring: submit: %w; reopen the device or choose engine posix", err)
				failed = g.broken
				prepared, queued = prepared-queued, 0
			}
		}
		if submitted != nil && queued == 0 && (prepared == len(ws) || failed != nil) {
			submitted()
			submitted = nil
		}
		if done == prepared {
			return failed
		}
		n := int(g.r.PeekBatchCQE(g.cqes))
		if n == 0 {
			wait := 1
			if prepared == len(ws) {
				wait = prepared - done - queued
			}
			if _, err := g.r.Enter(0, uint32(wait), giouring.EnterGetEvents, nil); err != nil && !passing(err) {
				g.broken = fmt.Errorf("io_uring: wait for %d writes: %w; reopen the device or choose engine posix", prepared-done, err)
				return g.broken
			}
			continue
		}
		for _, cqe := range g.cqes[:n] {
			w := &ws[cqe.UserData]
			if w.Err = verdict(dir, *w, cqe.Res); w.Err != nil && failed == nil {
				failed = w.Err
			}
		}
		g.r.CQAdvance(uint32(n))
		done += n
	}
}

// passing errors go away when completions are reaped, or by asking again.
func passing(err error) bool {
	return errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBUSY)
}

// verdict reads a completion's result: bytes moved or a negative errno.
func verdict(dir direction, w rawblock.IO, res int32) error {
	var err error
	switch {
	case res < 0:
		err = unix.Errno(-res)
	case int(res) == len(w.Buf):
		return nil
	case dir == reading:
		err = fmt.Errorf("%w: %d bytes", io.ErrUnexpectedEOF, res)
	default:
		err = fmt.Errorf("%w: %d bytes", rawblock.ErrShortWrite, res)
	}
	return fmt.Errorf("%s %d bytes at %d: %w", dir, len(w.Buf), w.Off, err)
}
