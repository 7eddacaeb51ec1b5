package slowdisk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	fileName = "disk"
	fsType   = "fuse.latlab-slowdisk"
	// largestRequest is the most that one FUSE request moves, in bytes: more than
	// the study's largest slot, so that a write of one stays one request. Each
	// request under way has a buffer of that size.
	largestRequest = 512 << 10
	// inFlight is how many requests the kernel passes on before it holds some
	// back: more than a loop device's queue of 128.
	inFlight = 1024
)

// mount is a FUSE file system with one file, served by this process.
type mount struct {
	dir    string
	served chan struct{} // closed when nothing is served any more
}

// serve mounts the medium on a new folder.
func serve(ctx context.Context, c Config, m *medium) (*mount, error) {
	dir, err := os.MkdirTemp(c.Dir, "latlab-slowdisk-")
	if err != nil {
		return nil, fmt.Errorf("slowdisk: mount point: %w; name an existing folder", err)
	}
	fail := func(err error) (*mount, error) { return nil, errors.Join(err, os.Remove(dir)) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	source, err := mountSource()
	if err != nil {
		return fail(fmt.Errorf("slowdisk: name the mount: %w", err))
	}
	// The library's own mount would leave the descriptor open in child processes,
	// which would keep the mount alive after this one's death.
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(fmt.Errorf("slowdisk: open /dev/fuse: %w (%w); load module fuse, or give the container that device", ErrFUSE, err))
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=0,group_id=0,max_read=%d", fd, unix.S_IFDIR, largestRequest)
	if err := unix.Mount(source, dir, fsType, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return fail(errors.Join(fmt.Errorf("slowdisk: mount on %s: %w (%w); a container needs CAP_SYS_ADMIN", dir, ErrFUSE, err), unix.Close(fd)))
	}

	forEver := 24 * time.Hour // nobody else changes the file
	root := &folder{file: &file{medium: m}}
	server, err := fuse.NewServer(fs.NewNodeFS(root, &fs.Options{EntryTimeout: &forEver, AttrTimeout: &forEver}),
		fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
			MaxBackground: inFlight, MaxWrite: largestRequest, ExtraCapabilities: fuse.CAP_ASYNC_DIO, DisableXAttrs: true,
			Logger: log.New(io.Discard, "", 0), // answers to requests of a connection that Close had to abort
		})
	if err != nil {
		return fail(errors.Join(fmt.Errorf("slowdisk: serve %s: %w (%w)", dir, ErrFUSE, err), unix.Unmount(dir, unix.MNT_DETACH)))
	}
	mounted := &mount{dir: dir, served: make(chan struct{})}
	go func() {
		defer close(mounted.served)
		server.Serve()
	}()
	if server.KernelSettings().Flags&fuse.CAP_ASYNC_DIO == 0 {
		return nil, errors.Join(fmt.Errorf("slowdisk: serve %s: %w: the kernel has no asynchronous direct I/O on FUSE, so one request at a time would be served; take Linux 6.5 or later", dir, ErrFUSE),
			mounted.close())
	}
	return mounted, nil
}

// close unmounts and waits until nothing is served any more. If the file is still
// open, its users get errors from now on.
func (m *mount) close() error {
	err := unix.Unmount(m.dir, 0)
	if errors.Is(err, unix.EBUSY) {
		err = errors.Join(
			fmt.Errorf("slowdisk: unmount %s: %w elsewhere; its users get errors from now on, close them first", m.dir, ErrBusy),
			unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH))
	} else if err != nil {
		return fmt.Errorf("slowdisk: unmount %s: %w; do it by hand: umount -f -l %[1]s", m.dir, err)
	}
	<-m.served
	return errors.Join(err, os.Remove(m.dir))
}

// folder is the root of the file system.
type folder struct {
	fs.Inode
	file *file
}

var _ fs.NodeOnAdder = (*folder)(nil)

// OnAdd puts the file in.
func (f *folder) OnAdd(ctx context.Context) {
	f.AddChild(fileName, f.NewPersistentInode(ctx, f.file, fs.StableAttr{Mode: unix.S_IFREG}), false)
}

// file is the medium as FUSE sees it.
type file struct {
	fs.Inode
	medium *medium
}

var (
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
)

// Getattr tells size and block.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = unix.S_IFREG | 0o600
	out.Size = uint64(len(f.medium.data))
	out.Blocks = out.Size / 512
	out.Blksize = uint32(f.medium.block)
	return 0
}

// Open asks the kernel for direct I/O, and to let writes overlap.
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES, 0
}

// Read serves one request.
func (f *file) Read(ctx context.Context, _ fs.FileHandle, dst []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.medium.read(ctx, dst, off)
	return fuse.ReadResultData(dst[:n]), errno(err)
}

// Write serves one request.
func (f *file) Write(ctx context.Context, _ fs.FileHandle, src []byte, off int64) (uint32, syscall.Errno) {
	n, err := f.medium.write(ctx, src, off)
	return uint32(n), errno(err)
}

// Fsync is a flush.
func (f *file) Fsync(ctx context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	return errno(f.medium.flush(ctx))
}

func errno(err error) syscall.Errno {
	if err != nil {
		return syscall.EIO
	}
	return 0
}
