package slowdisk

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// attempts is how often a free loop device is asked for: others may take it first.
const attempts = 16

// attach puts a loop device with direct I/O on a file. The last one to close the
// device detaches it, or the kernel does when the process ends.
func attach(ctx context.Context, path string, block int) (*os.File, error) {
	// Not os.Open: the runtime would poll the descriptor, which asks the server
	// that runs on the same runtime.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("slowdisk: open %s for direct I/O: %w (%w)", path, ErrFUSE, err)
	}
	defer unix.Close(fd) // the loop device has its own hold on the file
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("slowdisk: open /dev/loop-control: %w (%w); load module loop, or give the container that device", ErrLoop, err)
	}
	defer unix.Close(control)
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		loop, err := attachFree(control, fd, block)
		if !errors.Is(err, unix.EBUSY) || try == attempts {
			return loop, err
		}
	}
}

// attachFree takes the next free loop device. The error wraps EBUSY if someone
// else was faster.
func attachFree(control, fd, block int) (*os.File, error) {
	number, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return nil, fmt.Errorf("slowdisk: ask for a free loop device: %w (%w)", ErrLoop, err)
	}
	path := fmt.Sprintf("/dev/loop%d", number)
	loopFD, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("slowdisk: open %s: %w (%w); give the container that device", path, ErrLoop, err)
	}
	loop := os.NewFile(uintptr(loopFD), path)
	c := unix.LoopConfig{Fd: uint32(fd), Size: uint32(block)}
	c.Info.Flags = unix.LO_FLAGS_DIRECT_IO | unix.LO_FLAGS_AUTOCLEAR
	copy(c.Info.File_name[:], "latlab-slowdisk")
	if err := unix.IoctlLoopConfigure(loopFD, &c); err != nil {
		return nil, errors.Join(fmt.Errorf("slowdisk: configure %s: %w (%w); it needs Linux 5.8 or later", path, ErrLoop, err), loop.Close())
	}
	info, err := unix.IoctlLoopGetStatus64(loopFD)
	if err == nil && info.Flags&unix.LO_FLAGS_DIRECT_IO == 0 {
		err = errors.New("the kernel gave no direct I/O")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("slowdisk: check %s: %w (%w)", path, ErrLoop, err), loop.Close())
	}
	return loop, nil
}
