package guardtest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLoop occurs when this host can't make loop devices.
var ErrLoop = errors.New("no loop devices")

// Loop is a loop device. The kernel takes it apart when nobody has it open any
// more, so none is left when the process is killed.
type Loop struct {
	Path string // as "/dev/loop3"
	f    *os.File
}

// NewLoop makes a loop device, with blocks of that size in bytes, on a file or
// device.
func NewLoop(file string, block int) (*Loop, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; run as root where /dev/loop-control is", ErrLoop, err)
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLoop, err)
		}
		l := &Loop{Path: fmt.Sprintf("/dev/loop%d", n)}
		err = l.Attach(file, block)
		if !errors.Is(err, unix.EBUSY) { // someone else was quicker
			return l, err
		}
	}
}

// Attach puts another file under a loop device that was closed.
func (l *Loop) Attach(file string, block int) error {
	back, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer back.Close()
	f, err := os.OpenFile(l.Path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLoop, err)
	}
	if err := unix.IoctlLoopConfigure(int(f.Fd()), &unix.LoopConfig{
		Fd: uint32(back.Fd()), Size: uint32(block),
		Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_PARTSCAN},
	}); err != nil {
		return errors.Join(fmt.Errorf("loop %s on %s: %w", l.Path, file, err), f.Close())
	}
	l.f = f
	return nil
}

// Close takes the loop device apart, unless someone else has it open: then when
// that one closes it.
func (l *Loop) Close() error { return l.f.Close() }
