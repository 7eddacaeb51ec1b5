package rawblock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File is a device on a range of a file or block device, by pread and pwrite.
// Opened with O_DIRECT, what it writes passes by the page cache.
type File struct {
	f     *os.File
	dir   string
	block int
	base  int64
	size  int64
}

var _ Device = (*File)(nil)

// TempFile makes a file of at least size bytes in dir, for direct I/O. The file
// has no name: the kernel frees it when it is closed, even if the process is
// killed. All its blocks are written once, so that later writes change no
// metadata. It refuses tmpfs and its like (ErrFileSystem), where a direct write
// is a memory copy.
func TempFile(dir string, size int64) (*File, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return nil, fmt.Errorf("rawblock: file in %s: %w; name an existing folder on a disk", dir, err)
	}
	if fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC {
		return nil, fmt.Errorf("rawblock: file in %s: %w: it is in memory (tmpfs); name a folder on a disk", dir, ErrFileSystem)
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("rawblock: file in %s: %w: no nameless files or no direct I/O there (%w); name a folder on ext4, xfs or btrfs", dir, ErrFileSystem, err)
	} else if err != nil {
		return nil, fmt.Errorf("rawblock: file in %s: %w; name a folder that you may write to", dir, err)
	}
	f := &File{f: os.NewFile(uintptr(fd), filepath.Join(dir, "(nameless)")), dir: dir}
	if f.block, err = directBlock(fd); err == nil {
		f.size = int64(alignUp(int(size), f.block))
		err = f.writeAll()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("rawblock: file of %d bytes in %s: %w; free space there or name another folder", size, dir, err), f.f.Close())
	}
	return f, nil
}

// NewFile makes a device of the size bytes from base on of a file or block device
// that is open for reading and writing, and owns it from then on. Block is the
// unit of direct I/O there: a power of two that divides base and size.
func NewFile(f *os.File, block int, base, size int64) (*File, error) {
	if block <= 0 || block&(block-1) != 0 || base < 0 || size <= 0 || base > math.MaxInt64-size || base%int64(block) != 0 || size%int64(block) != 0 {
		return nil, errors.Join(fmt.Errorf("rawblock: %s: %w: %d bytes from %d on in blocks of %d; all three must be positive, the block a power of two that divides the others",
			f.Name(), ErrRange, size, base, block), f.Close())
	}
	return &File{f: f, dir: filepath.Dir(f.Name()), block: block, base: base, size: size}, nil
}

// directBlock is the unit in which a file may be written directly without the
// file system reading or locking a block of its own: the larger of the device's
// logical block and the file system's block.
func directBlock(fd int) (int, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN|unix.STATX_BASIC_STATS, &st); err != nil {
		return 0, fmt.Errorf("read its block size: %w", err)
	}
	return max(int(st.Dio_offset_align), int(st.Dio_mem_align), int(st.Blksize), 512), nil
}

// writeAll writes every block once and waits until the device has it.
func (f *File) writeAll() error {
	const chunk = 1 << 20
	zeros, err := MapPages(chunk)
	if err != nil {
		return err
	}
	defer UnmapPages(zeros)
	for off := int64(0); off < f.size; off += chunk {
		w := IO{Off: off, Buf: zeros[:min(chunk, f.size-off)]}
		if err := f.Write(context.Background(), w); err != nil {
			return err
		}
	}
	return f.f.Sync()
}

// Dir is the folder that the file was made in.
func (f *File) Dir() string { return f.dir }

// Fd is the file's descriptor. It is valid until Close.
func (f *File) Fd() int { return int(f.f.Fd()) }

// BlockSize is the unit of direct writes in bytes.
func (f *File) BlockSize() int { return f.block }

// Size is the size of the range in bytes.
func (f *File) Size() int64 { return f.size }

// Place is where in the file a transfer of n bytes at the device's offset off
// goes. It is the one place that every transfer passes, whatever the engine: what
// isn't whole blocks inside the range is refused with ErrRange.
func (f *File) Place(off int64, n int) (int64, error) {
	if mask := int64(f.block) - 1; off|int64(n) < 0 || (off|int64(n))&mask != 0 || off > f.size-int64(n) {
		return 0, fmt.Errorf("%d bytes at %d: %w: %d bytes in blocks of %d", n, off, ErrRange, f.size, f.block)
	}
	return f.base + off, nil
}

// ReadAt reads with pread, again and again until the buffer is full. A read that
// gives nothing is io.ErrUnexpectedEOF.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	at, err := f.Place(off, len(p))
	if err != nil {
		return 0, fmt.Errorf("read %w", err)
	}
	n, err := f.f.ReadAt(p, at)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Write writes with pwrite. When the kernel takes part of it, it is asked for the
// rest; when it takes nothing, that is ErrShortWrite.
func (f *File) Write(ctx context.Context, w IO) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, err := f.Place(w.Off, len(w.Buf))
	if err != nil {
		return fmt.Errorf("write %w", err)
	}
	for done := 0; done < len(w.Buf); {
		n, err := unix.Pwrite(f.Fd(), w.Buf[done:], at+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("write %d bytes at %d: %w", len(w.Buf), w.Off, err)
		case n == 0:
			return fmt.Errorf("write %d bytes at %d: %w: %d bytes", len(w.Buf), w.Off, ErrShortWrite, done)
		default:
			done += n
		}
	}
	return nil
}

// Flush waits until the device has made every completed write durable, with
// fdatasync.
func (f *File) Flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		if err := unix.Fdatasync(f.Fd()); !errors.Is(err, unix.EINTR) {
			if err != nil {
				err = fmt.Errorf("flush: %w", err)
			}
			return err
		}
	}
}

// Close frees the file.
func (f *File) Close() error { return f.f.Close() }
