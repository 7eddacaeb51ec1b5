package slowdisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// Disk is a loop device on a file that this process serves. Its methods may be
// called concurrently.
type Disk struct {
	medium *medium
	mount  *mount
	loop   *os.File
	size   int64

	closing sync.Once
	closed  error // what Close found
}

// Open makes a disk, all zeros. First it unmounts what killed processes left
// behind (CleanStale). The context ends a long set-up; the disk stays until
// Close.
func Open(ctx context.Context, c Config) (_ *Disk, err error) {
	c, err = c.ensureDefaults()
	if err != nil {
		return nil, err
	}
	if unix.Geteuid() != 0 {
		return nil, fmt.Errorf("slowdisk: mount: %w; run it as root", ErrRoot)
	}
	if _, err := CleanStale(); err != nil {
		return nil, err
	}
	m, err := newMedium(c, emu.Spin)
	if err != nil {
		return nil, err
	}
	served, err := serve(ctx, c, m)
	if err != nil {
		return nil, err
	}
	d := &Disk{medium: m, mount: served, size: c.Size}
	if err = ctx.Err(); err == nil {
		d.loop, err = attach(ctx, served.file(), c.Block)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	m.armed.Store(true)
	return d, nil
}

// Path is the block device, /dev/loopN.
func (d *Disk) Path() string { return d.loop.Name() }

// Counts reads what reached the medium so far.
func (d *Disk) Counts() Counts { return d.medium.counts() }

// File opens the disk as a device, with direct I/O and for itself alone
// (O_EXCL). It is to be closed before the disk.
func (d *Disk) File() (*rawblock.File, error) {
	fd, err := unix.Open(d.Path(), unix.O_RDWR|unix.O_DIRECT|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("slowdisk: open %s for direct I/O: %w; close what has it open", d.Path(), err)
	}
	return rawblock.NewFile(os.NewFile(uintptr(fd), d.Path()), int(d.medium.block), 0, d.size)
}

// PowerCut puts back what the disk held at its last flush, as if its cache had
// lost all since then, and says how many blocks that changed. Without
// Config.PowerCuts nothing is ever lost. No request should be under way.
func (d *Disk) PowerCut() int { return d.medium.powerCut() }

// Close detaches the loop device, unmounts and removes the mount point. What
// still has the disk open meets EIO from then on, and Close says ErrBusy; the
// kernel detaches the loop device when that is closed. Later calls give the same
// error.
func (d *Disk) Close() error {
	d.closing.Do(func() {
		var err error
		if d.loop != nil {
			err = d.loop.Close() // the last to close it detaches it
		}
		d.closed = errors.Join(err, d.mount.close())
	})
	return d.closed
}

// file is the served file's path.
func (m *mount) file() string { return filepath.Join(m.dir, fileName) }
