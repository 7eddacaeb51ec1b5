package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// Config shapes a fake device.
type Config struct {
	Size   int64 // bytes
	Block  int   // the logical block in bytes; 4096 if zero
	Medium Medium
	Waiter emu.Waiter
	Faults *emu.Schedule // for operations "write" (each write of a batch counts) and "read"; may be nil
}

// ErrUnaligned occurs when a request isn't made of whole blocks, which a device
// with direct I/O refuses.
var ErrUnaligned = errors.New("not aligned to the block size")

// Device is memory that takes its time. Its methods may be called concurrently.
type Device struct {
	cfg  Config
	data []byte // unguarded: overlapping requests are the caller's race, as on a real device

	mu  sync.Mutex // guards the medium and use
	use Use
}

// Use is what a device did since it was made.
type Use struct {
	Writes int64
	Bytes  int64
	Stay   time.Duration // of all requests in the device, added up; over elapsed time it is the mean queue depth
}

var _ rawblock.Device = (*Device)(nil)

// New makes a device without batches: a store on it uses the old loop, as with
// engine posix.
func New(c Config) (*Device, error) {
	if c.Block == 0 {
		c.Block = 4096
	}
	if c.Medium == nil || c.Waiter == nil || c.Size < int64(c.Block) || c.Size%int64(c.Block) != 0 || c.Block < 1 {
		return nil, fmt.Errorf("fake: device of %d bytes in blocks of %d: it needs a medium, a waiter and a size of whole blocks", c.Size, c.Block)
	}
	if err := c.Faults.Check("write", "read"); err != nil {
		return nil, fmt.Errorf("fake: device: %w", err)
	}
	return &Device{cfg: c, data: make([]byte, c.Size)}, nil
}

// Batching is the same device with batches, as with engine io_uring.
type Batching struct{ *Device }

var _ rawblock.Batcher = Batching{}

// BlockSize is the logical block in bytes.
func (d *Device) BlockSize() int { return d.cfg.Block }

// Size is the device's size in bytes.
func (d *Device) Size() int64 { return d.cfg.Size }

// Close does nothing: the memory goes with the device.
func (d *Device) Close() error { return nil }

// Use reads the counts at one moment.
func (d *Device) Use() Use {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.use
}

// Write serves one request.
func (d *Device) Write(ctx context.Context, w rawblock.IO) error {
	return d.serve(ctx, "write", []rawblock.IO{w}, nil)
}

// ReadAt serves one request.
func (d *Device) ReadAt(p []byte, off int64) (int, error) {
	if err := d.serve(context.Background(), "read", []rawblock.IO{{Off: off, Buf: p}}, nil); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush costs nothing: what is written stays, as long as the process lives.
func (d *Device) Flush(ctx context.Context) error { return ctx.Err() }

// WriteBatch serves all requests as arriving together.
func (b Batching) WriteBatch(ctx context.Context, ws []rawblock.IO, submitted func()) error {
	return b.serve(ctx, "write", ws, submitted)
}

// ReadBatch serves all requests as arriving together.
func (b Batching) ReadBatch(ctx context.Context, rs []rawblock.IO) error {
	return b.serve(ctx, "read", rs, nil)
}

func (d *Device) serve(ctx context.Context, op string, ios []rawblock.IO, submitted func()) error {
	for i := range ios {
		ios[i].Err = rawblock.ErrNotDone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, x := range ios {
		if err := d.check(op, x.Buf, x.Off); err != nil {
			return err
		}
	}
	d.mu.Lock()
	done, stay := d.cfg.Medium.Serve(d.cfg.Waiter.Now(), ios)
	d.use.Stay += stay
	if op == "write" {
		d.use.Writes += int64(len(ios))
		for _, x := range ios {
			d.use.Bytes += int64(len(x.Buf))
		}
	}
	d.mu.Unlock()
	if submitted != nil {
		submitted()
	}

	var late time.Duration
	var failed error
	for i := range ios {
		x := &ios[i]
		delay, err := d.move(op, *x)
		late = max(late, delay)
		if x.Err = err; err != nil && failed == nil {
			failed = err
		}
	}
	if err := d.cfg.Waiter.Until(ctx, done.Add(late)); err != nil {
		return err
	}
	return failed
}

// move copies a request's bytes as its fault allows. A short or torn request
// moves the first half of its blocks; only a torn write hides it.
func (d *Device) move(op string, x rawblock.IO) (late time.Duration, err error) {
	n := len(x.Buf)
	if f, ok := d.cfg.Faults.Next(op); ok {
		half := n / 2 / d.cfg.Block * d.cfg.Block
		switch {
		case f.Kind == emu.Slow:
			late = f.Delay
		case f.Kind == emu.Torn && op == "write":
			n = half
		case f.Kind == emu.Short || f.Kind == emu.Torn:
			n, err = half, rawblock.ErrShortWrite
			if op == "read" {
				err = io.ErrUnexpectedEOF
			}
			err = fmt.Errorf("%w: %d bytes: %w", err, half, f.Err())
		default: // the request fails and changes nothing
			n, err = 0, f.Err()
		}
	}
	if op == "read" {
		copy(x.Buf[:n], d.data[x.Off:])
	} else {
		copy(d.data[x.Off:], x.Buf[:n])
	}
	if err != nil {
		err = fmt.Errorf("%s %d bytes at %d: %w", op, len(x.Buf), x.Off, err)
	}
	return late, err
}

func (d *Device) check(what string, p []byte, off int64) error {
	block := int64(d.cfg.Block)
	if off < 0 || off > d.cfg.Size-int64(len(p)) {
		return fmt.Errorf("fake: %s %d bytes at %d: %w: %d bytes", what, len(p), off, rawblock.ErrRange, d.cfg.Size)
	}
	if off%block != 0 || int64(len(p))%block != 0 || len(p) == 0 {
		return fmt.Errorf("fake: %s %d bytes at %d: %w %d", what, len(p), off, ErrUnaligned, block)
	}
	return nil
}
