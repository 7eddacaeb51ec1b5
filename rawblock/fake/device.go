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
	Stay   time.Duration // of all writes in the device, added up; over elapsed time it is the mean queue depth
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
func (d *Device) Write(ctx context.Context, w rawblock.Write) error {
	return d.write(ctx, []rawblock.Write{w}, nil)
}

// WriteBatch serves all requests as arriving together.
func (b Batching) WriteBatch(ctx context.Context, ws []rawblock.Write, submitted func()) error {
	return b.write(ctx, ws, submitted)
}

func (d *Device) write(ctx context.Context, ws []rawblock.Write, submitted func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, w := range ws {
		if err := d.check("write", w.Buf, w.Off); err != nil {
			return err
		}
	}
	d.mu.Lock()
	done, stay := d.cfg.Medium.Serve(d.cfg.Waiter.Now(), ws)
	d.use.Stay += stay
	d.use.Writes += int64(len(ws))
	for _, w := range ws {
		d.use.Bytes += int64(len(w.Buf))
	}
	d.mu.Unlock()
	if submitted != nil {
		submitted()
	}

	var late time.Duration
	var failed error
	for _, w := range ws {
		whole := len(w.Buf)
		if f, ok := d.cfg.Faults.Next("write"); ok {
			half := whole / 2 / d.cfg.Block * d.cfg.Block
			var err error
			switch f.Kind {
			case emu.Slow:
				late = max(late, f.Delay)
			case emu.Short:
				whole = half
				err = fmt.Errorf("%w: %d bytes: %w", rawblock.ErrShortWrite, half, f.Err())
			case emu.Torn:
				whole = half
			default: // the request fails and changes nothing
				whole = 0
				err = f.Err()
			}
			if err != nil && failed == nil {
				failed = fmt.Errorf("write %d bytes at %d: %w", len(w.Buf), w.Off, err)
			}
		}
		copy(d.data[w.Off:], w.Buf[:whole])
	}
	if err := d.cfg.Waiter.Until(ctx, done.Add(late)); err != nil {
		return err
	}
	return failed
}

// ReadAt serves one request.
func (d *Device) ReadAt(p []byte, off int64) (int, error) {
	if err := d.check("read", p, off); err != nil {
		return 0, err
	}
	d.mu.Lock()
	done, _ := d.cfg.Medium.Serve(d.cfg.Waiter.Now(), []rawblock.Write{{Off: off, Buf: p}})
	d.mu.Unlock()
	whole := len(p)
	var failed error
	if f, ok := d.cfg.Faults.Next("read"); ok {
		switch f.Kind {
		case emu.Slow:
			done = done.Add(f.Delay)
		case emu.Short, emu.Torn:
			whole = len(p) / 2 / d.cfg.Block * d.cfg.Block
			failed = fmt.Errorf("read %d bytes at %d: %w: %w", len(p), off, io.ErrUnexpectedEOF, f.Err())
		default:
			whole, failed = 0, fmt.Errorf("read %d bytes at %d: %w", len(p), off, f.Err())
		}
	}
	if err := d.cfg.Waiter.Until(context.Background(), done); err != nil {
		return 0, err
	}
	return copy(p[:whole], d.data[off:]), failed
}

func (d *Device) check(what string, p []byte, off int64) error {
	block := int64(d.cfg.Block)
	if off < 0 || off+int64(len(p)) > d.cfg.Size {
		return fmt.Errorf("fake: %s %d bytes at %d: beyond the end of %d bytes", what, len(p), off, d.cfg.Size)
	}
	if off%block != 0 || int64(len(p))%block != 0 || len(p) == 0 {
		return fmt.Errorf("fake: %s %d bytes at %d: %w %d", what, len(p), off, ErrUnaligned, block)
	}
	return nil
}
