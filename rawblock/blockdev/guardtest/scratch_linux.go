package guardtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"latlab.example/rawblock/blockdev"
)

// ErrNeed occurs when a case can't be set up on this host: a program or a kernel
// feature is missing.
var ErrNeed = errors.New("needed for this case")

// edge is as much of each end as the guards look at.
const edge = 1 << 20

// scratch is a device under test and what was done to it.
type scratch struct {
	dev     string
	size    int64
	block   int
	path    string              // what is to be opened
	bytes   int64               // the range asked
	consent func(string) string // changes the right phrase, unless nil
	undo    []func() error
}

func (s *scratch) later(f func() error) { s.undo = append(s.undo, f) }

// Check puts the device into the case's state and checks that blockdev refuses it
// with the error wanted, changes nothing in doing so, and lets the device pass when
// the state is undone. Both ends of the device are zero afterwards. An error that
// wraps ErrNeed means that the state can't be had here.
func Check(ctx context.Context, dev string, c Case) (err error) {
	s := &scratch{dev: dev, path: dev}
	if err := s.measure(); err != nil {
		return err
	}
	if err := s.wipe(); err != nil {
		return err
	}
	err = c.set(s)
	if err == nil {
		err = s.wantRefused(ctx, c.Want)
	}
	if err = errors.Join(err, s.reset()); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if err := s.wantOpened(ctx); err != nil {
		return fmt.Errorf("%s, undone: %w", c.Name, err)
	}
	return nil
}

func (s *scratch) wantRefused(ctx context.Context, want error) error {
	before, err := s.ends()
	if err != nil {
		return err
	}
	plan, inspected := blockdev.Inspect(ctx, s.path, s.bytes)
	phrase := plan.Phrase
	if s.consent != nil {
		phrase = s.consent(phrase)
	}
	if inspected == nil {
		inspected = plan.Allows(blockdev.Consent{Serial: phrase})
	}
	d, opened := blockdev.Open(ctx, s.path, blockdev.Consent{Serial: phrase}, s.bytes)
	if opened == nil {
		return errors.Join(errors.New("it was opened for writing"), d.Close())
	}
	if !errors.Is(opened, want) || !errors.Is(inspected, want) {
		return fmt.Errorf("want %q; Open says: %w; Inspect says: %w", want.Error(), opened, inspected)
	}
	after, err := s.ends()
	if err == nil && !bytes.Equal(before, after) {
		err = errors.New("looking at it changed it")
	}
	return err
}

func (s *scratch) wantOpened(ctx context.Context) error {
	plan, err := blockdev.Inspect(ctx, s.dev, 0)
	if err != nil {
		return err
	}
	d, err := blockdev.Open(ctx, s.dev, blockdev.Consent{Serial: plan.Phrase}, 0)
	if err != nil {
		return err
	}
	return d.Close()
}

// reset undoes all, the last first.
func (s *scratch) reset() error {
	var errs []error
	for _, f := range slices.Backward(s.undo) {
		errs = append(errs, f())
	}
	return errors.Join(append(errs, s.wipe())...)
}

// with opens the device for a moment.
func (s *scratch) with(f func(*os.File) error) error { return with(s.dev, f) }

func with(dev string, f func(*os.File) error) error {
	file, err := os.OpenFile(dev, os.O_RDWR, 0)
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) { // read-only now
		file, err = os.Open(dev)
	}
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}

func (s *scratch) measure() error {
	return s.with(func(f *os.File) (err error) {
		if s.size, err = f.Seek(0, io.SeekEnd); err != nil {
			return err
		}
		s.block, err = unix.IoctlGetInt(int(f.Fd()), unix.BLKSSZGET)
		return err
	})
}

// wipe clears both ends.
func (s *scratch) wipe() error {
	return s.with(func(f *os.File) error {
		zeros := make([]byte, edge)
		_, err1 := f.WriteAt(zeros, 0)
		_, err2 := f.WriteAt(zeros, s.size-edge)
		return errors.Join(err1, err2, f.Sync())
	})
}

func (s *scratch) ends() ([]byte, error) {
	both := make([]byte, 2*edge)
	err := s.with(func(f *os.File) error {
		_, err1 := f.ReadAt(both[:edge], 0)
		_, err2 := f.ReadAt(both[edge:], s.size-edge)
		return errors.Join(err1, err2)
	})
	return both, err
}

func (s *scratch) write(off int64, text string) error {
	return s.with(func(f *os.File) error {
		_, err := f.WriteAt([]byte(text), off)
		return errors.Join(err, f.Sync())
	})
}

func (s *scratch) folder() (string, error) {
	dir, err := os.MkdirTemp("", "guardtest")
	s.later(func() error { return os.RemoveAll(dir) })
	return dir, err
}

func (s *scratch) mkfs(dev string) error {
	if _, err := exec.LookPath("mke2fs"); err != nil {
		return fmt.Errorf("%w: mke2fs (package e2fsprogs)", ErrNeed)
	}
	out, err := exec.Command("mke2fs", "-F", "-b", "4096", dev).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mke2fs: %w: %s", err, out)
	}
	return nil
}

// mount makes a file system and mounts it.
func (s *scratch) mount(dev string) error {
	if err := s.mkfs(dev); err != nil {
		return err
	}
	dir, err := s.folder()
	if err != nil {
		return err
	}
	if err := unix.Mount(dev, dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", dev, err)
	}
	s.later(func() error { return unix.Unmount(dir, 0) })
	return nil
}

// mkswap writes a swap header, as include/linux/swap.h has it: version and last
// page at 1024, the magic at the end of the first page.
func (s *scratch) mkswap(dev string) error {
	return with(dev, func(f *os.File) error {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		page := make([]byte, os.Getpagesize())
		binary.LittleEndian.PutUint32(page[1024:], 1)
		binary.LittleEndian.PutUint32(page[1028:], uint32(size/int64(len(page)))-1)
		copy(page[len(page)-10:], "SWAPSPACE2")
		_, err = f.WriteAt(page, 0)
		return errors.Join(err, f.Sync())
	})
}

func (s *scratch) swapOn(dev string) error {
	if err := s.mkswap(dev); err != nil {
		return err
	}
	name, err := unix.BytePtrFromString(dev)
	if err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0, 0); e == unix.ENOSYS {
		return fmt.Errorf("%w: swap in the kernel", ErrNeed)
	} else if e != 0 {
		return fmt.Errorf("swapon %s: %w", dev, e)
	}
	s.later(func() error {
		if _, _, e := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)), 0, 0); e != 0 {
			return fmt.Errorf("swapoff %s: %w", dev, e)
		}
		return nil
	})
	return nil
}

// partition tells the kernel of one, without a table on the device: from 2 MiB
// on, 16 MiB long.
func (s *scratch) partition() (string, error) {
	const number = 1
	ioctl := func(op int32) error {
		return s.with(func(f *os.File) error {
			p := unix.BlkpgPartition{Start: 2 << 20, Length: 16 << 20, Pno: number}
			arg := unix.BlkpgIoctlArg{Op: op, Datalen: int32(unsafe.Sizeof(p)), Data: (*byte)(unsafe.Pointer(&p))}
			_, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKPG, uintptr(unsafe.Pointer(&arg)))
			runtime.KeepAlive(&p)
			if e != 0 {
				return fmt.Errorf("partition %d of %s: %w", number, s.dev, e)
			}
			return nil
		})
	}
	if err := ioctl(unix.BLKPG_ADD_PARTITION); err != nil {
		return "", err
	}
	s.later(func() error { return ioctl(unix.BLKPG_DEL_PARTITION) })
	return s.dev + "p" + strconv.Itoa(number), nil
}

// loop makes a loop device whose content is the device.
func (s *scratch) loop() (string, error) {
	l, err := NewLoop(s.dev, s.block)
	if err != nil {
		return "", err
	}
	s.later(l.Close)
	return l.Path, nil
}

// mapper makes a linear device mapper device on dev.
func (s *scratch) mapper(dev string) (string, error) {
	control, err := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return "", fmt.Errorf("%w: a device mapper in the kernel", ErrNeed)
	} else if err != nil {
		return "", err
	}
	s.later(control.Close)
	var st unix.Stat_t
	if err := unix.Stat(dev, &st); err != nil {
		return "", err
	}
	var size int64
	if err := with(dev, func(f *os.File) (err error) { size, err = f.Seek(0, io.SeekEnd); return err }); err != nil {
		return "", err
	}

	// Each call has the same head; a table follows it in one of them.
	type call struct {
		unix.DmIoctl
		unix.DmTargetSpec
		params [64]byte
	}
	ioctl := func(request uintptr, fill func(*call)) (uint64, error) {
		var c call
		c.Version = [3]uint32{4, 0, 0}
		c.Data_size = uint32(unsafe.Sizeof(c))
		c.Data_start = uint32(unsafe.Sizeof(c.DmIoctl))
		copy(c.Name[:], "guardtest-"+strconv.Itoa(os.Getpid()))
		fill(&c)
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, control.Fd(), request, uintptr(unsafe.Pointer(&c))); e != 0 {
			return 0, fmt.Errorf("device mapper, request %#x: %w", request, e)
		}
		return c.Dev, nil
	}
	none := func(*call) {}
	n, err := ioctl(unix.DM_DEV_CREATE, none)
	if err != nil {
		return "", err
	}
	s.later(func() error { _, err := ioctl(unix.DM_DEV_REMOVE, none); return err })
	if _, err := ioctl(unix.DM_TABLE_LOAD, func(c *call) {
		c.Target_count = 1
		c.Length = uint64(size / 512)
		copy(c.Target_type[:], "linear")
		copy(c.params[:], fmt.Sprintf("%d:%d 0", unix.Major(st.Rdev), unix.Minor(st.Rdev)))
	}); err != nil {
		return "", err
	}
	// A resume puts the table in use.
	if _, err := ioctl(unix.DM_DEV_SUSPEND, none); err != nil {
		return "", err
	}
	return fmt.Sprintf("/dev/dm-%d", unix.Minor(n)), nil
}
