//go:build giouring && linux

package uring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"

	"latlab.example/rawblock"
)

// Built says whether the engine is part of this build.
const Built = true

const (
	defaultEntries = 1024
	maxEntries     = 32768 // the kernel's
	maxBatches     = 8     // rings for batches at once; more callers wait
	maxSingles     = 128   // the same for single writes
	maxRegions     = 1024  // pieces of registered memory
)

// Device transfers to and from a file through io_uring. All its methods may be
// called concurrently. A reader of single blocks gets pread, as from the file.
type Device struct {
	File
	batches, singles *pool
	registered       bool

	registering sync.Mutex // held by Register; taken before mu

	mu      sync.Mutex
	regions []region // guarded by mu; only ever grows, with registering held
}

var (
	_ rawblock.Batcher   = (*Device)(nil)
	_ rawblock.Registrar = (*Device)(nil)
)

// New puts the engine on a file and owns it from then on: an error closes it.
// The error wraps rawblock.ErrBlocked if the kernel or a sandbox forbids
// io_uring, and syscall.EINVAL for options out of range.
func New(f File, o Options) (*Device, error) {
	if o.Entries == 0 {
		o.Entries = defaultEntries
	}
	d := &Device{File: f, registered: o.Registered, singles: newPool(1, 0, maxSingles)}
	if o.SQPoll {
		d.batches = newPool(o.Entries, giouring.SetupSQPoll, 1)
	} else {
		d.batches = newPool(o.Entries, 0, maxBatches)
	}
	r, err := d.batches.take(context.Background()) // so that what the host forbids shows here
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	err = d.prepare(r)
	d.batches.give(r)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Probe says whether this host allows io_uring.
func Probe() error {
	r, err := newRing(1, 0)
	if err != nil {
		return err
	}
	r.q.QueueExit()
	return nil
}

// Write does one write: one submission and one wait, in one system call.
func (d *Device) Write(ctx context.Context, w rawblock.IO) error {
	r, err := d.singles.take(ctx)
	if err != nil {
		return err
	}
	defer d.singles.give(r)
	r.one[0] = w
	return r.do(ctx, job{f: d.File, dir: writing, ios: r.one[:]})
}

// WriteBatch hands all writes over in one submission, or in pieces of the
// ring's size if there are more. After the first failed write it hands no more
// over. With submitted nil it submits and waits in one system call.
func (d *Device) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	return d.batch(ctx, job{f: d.File, dir: writing, ios: ws, submitted: submitted})
}

// ReadBatch is the same for reads.
func (d *Device) ReadBatch(ctx context.Context, rs []rawblock.IO) error {
	return d.batch(ctx, job{f: d.File, dir: reading, ios: rs})
}

// WriteStream keeps len(ws) writes under way, or as many as the ring has
// entries. It starts as WriteBatch does; then, whenever a write is complete, it
// asks next, which puts another write in its place and says true, or false if
// there is none. It ends when no write is left, or after a failure or the
// context's end when those under way are complete, and returns the first error.
// The function next runs on the caller's goroutine and must not use the device.
// Writes under way at once must not overlap.
func (d *Device) WriteStream(ctx context.Context, ws []rawblock.IO, next func(w *rawblock.IO) bool) error {
	return d.batch(ctx, job{f: d.File, dir: writing, ios: ws, next: next})
}

func (d *Device) batch(ctx context.Context, j job) error {
	r, err := d.batches.take(ctx)
	if err == nil {
		defer d.batches.give(r)
		err = d.prepare(r)
	}
	if err != nil {
		for i := range j.ios {
			j.ios[i].Err = rawblock.ErrNotDone
		}
		if j.submitted != nil {
			j.submitted()
		}
		return err
	}
	return r.do(ctx, j)
}

// Close frees the rings and the file, after the calls under way. Later ones get
// os.ErrClosed.
func (d *Device) Close() error {
	d.batches.close()
	d.singles.close()
	return d.File.Close()
}

// region is a piece of registered memory, by address.
type region struct{ from, to uintptr }

// Register tells the kernel of memory that batches and streams transfer from and
// to. It has no effect on a device without Options.Registered. The memory
// must lie outside the Go heap, and stay mapped where it is until Close: the kernel
// holds on to its pages, so other memory mapped there later would be passed
// over. At most 1 GiB a call and 1024 calls; the limit of locked memory counts it.
func (d *Device) Register(mem []byte) error {
	if !d.registered || len(mem) == 0 {
		return nil
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	d.registering.Lock()
	defer d.registering.Unlock()
	known := d.known()
	if len(known) == maxRegions {
		return fmt.Errorf("io_uring: register %d bytes: %w: there are %d regions already; register fewer, larger ones", len(mem), syscall.ENOSPC, maxRegions)
	}
	// One ring takes it now, so that what the kernel refuses shows here and is
	// forgotten: its owner may unmap it. The others learn of it when they are next
	// borrowed.
	r, err := d.batches.take(context.Background())
	if err != nil {
		return err
	}
	defer d.batches.give(r)
	regions := append(known[:len(known):len(known)], region{from: from, to: from + uintptr(len(mem))})
	if err := r.register(regions); err != nil {
		return err
	}
	d.mu.Lock()
	d.regions = regions
	d.mu.Unlock()
	return nil
}

// known are the regions so far.
func (d *Device) known() []region {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.regions
}

// prepare tells a ring of the regions that it doesn't know yet.
func (d *Device) prepare(r *ring) error {
	if !d.registered {
		return nil
	}
	return r.register(d.known())
}
