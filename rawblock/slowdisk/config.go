package slowdisk

import (
	"errors"
	"fmt"
	"os"

	"latlab.example/common/emu"
)

// Errors of Open and Close. They come wrapped with what was tried and what to do.
var (
	// ErrRoot occurs when the process may not mount.
	ErrRoot = errors.New("needs root")
	// ErrFUSE occurs when the kernel has no FUSE, or a FUSE that would serve one
	// request at a time.
	ErrFUSE = errors.New("no FUSE that fits")
	// ErrLoop occurs when no loop device with direct I/O can be had.
	ErrLoop = errors.New("no loop device that fits")
	// ErrBusy occurs when a disk is closed while it is open elsewhere.
	ErrBusy = errors.New("disk is still open")
	// ErrConfig occurs when a Config makes no sense.
	ErrConfig = errors.New("bad configuration")
)

// Config shapes a disk.
type Config struct {
	// Dir is an existing folder, where Open makes the mount point; the folder for
	// temporary files if empty.
	Dir string
	// Size is in bytes, a multiple of Block. The disk is as much memory.
	Size int64
	// Block is the logical block in bytes: 512, 1024, 2048 or 4096, which zero means.
	Block int
	// Latency is how long each request holds a channel, whatever its size, a flush
	// too. Seed decides its draws.
	Latency emu.Latency
	Seed    uint64
	// Channels is how many requests are served at once; 1 if zero.
	Channels int
	// Faults is for operations "read", "write" and "flush"; it may be nil.
	Faults *emu.Schedule
	// PowerCuts keeps what writes replace until it is flushed, so that
	// Disk.PowerCut can put it back. It costs a copy of each block.
	PowerCuts bool
}

// ensureDefaults fills in what was left zero and refuses what can't be.
func (c Config) ensureDefaults() (Config, error) {
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}
	if c.Block == 0 {
		c.Block = 4096
	}
	if c.Channels == 0 {
		c.Channels = 1
	}
	switch {
	case c.Block < 512 || c.Block > 4096 || c.Block&(c.Block-1) != 0:
		return c, fmt.Errorf("slowdisk: %w: block of %d bytes; take 512, 1024, 2048 or 4096", ErrConfig, c.Block)
	case c.Size < int64(c.Block) || c.Size%int64(c.Block) != 0:
		return c, fmt.Errorf("slowdisk: %w: %d bytes; take a multiple of the block, %d bytes", ErrConfig, c.Size, c.Block)
	case c.Latency == nil:
		return c, fmt.Errorf("slowdisk: %w: no latency; take emu.Constant(0) for none", ErrConfig)
	}
	if err := c.Faults.Check(opRead, opWrite, opFlush); err != nil {
		return c, fmt.Errorf("slowdisk: %w: %w", ErrConfig, err)
	}
	return c, nil
}

// Assumptions are what the disk takes for granted, a sentence each.
var Assumptions = []string{
	"the medium serves as many requests at once as it has channels, first come first served",
	"each request takes the same time, whatever its size; a flush is a request like the others",
	"the kernel's block layer, loop driver and FUSE are in each request's path, and their cost comes on top",
	"waits are spun on this host's cores, which the code under test shares",
}
