package blockdev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
)

var host = system{root: "/", numberOf: numberOf}

// numberOf follows links.
func numberOf(path string) (Number, error) {
	if !filepath.IsAbs(path) {
		return Number{}, fs.ErrNotExist // a name that isn't a path, as "tmpfs"
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Number{}, err
	}
	return blockNumber(&st)
}

func blockNumber(st *unix.Stat_t) (Number, error) {
	kinds := map[uint32]string{unix.S_IFCHR: "a character device", unix.S_IFREG: "a file", unix.S_IFDIR: "a folder"}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFBLK {
		what, ok := kinds[kind]
		if !ok {
			what = fmt.Sprintf("mode %#o", st.Mode)
		}
		return Number{}, fmt.Errorf("%w: %s", ErrNotBlock, what)
	}
	return Number{Major: unix.Major(st.Rdev), Minor: unix.Minor(st.Rdev)}, nil
}

// Inspect says what Open would do with the device and the range of its first
// bytes, or all of it if bytes is 0. It reads only. Guards that refuse are in
// Plan.Refusals; the error is for what can't be inspected at all: ErrNoDevice,
// ErrNotBlock, ErrUnknown, rawblock.ErrRange, or the system's.
func Inspect(ctx context.Context, path string, bytes int64) (Plan, error) {
	p, d, err := identify(path, bytes)
	if err != nil {
		return p, err
	}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return p, fmt.Errorf("blockdev: %s: %w; run as root", p.Path, err)
	}
	err = p.examine(d, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return p, err
	}
	// Had for a moment only, and only to read: nothing is kept from anyone.
	if f, err = os.OpenFile(p.Path, os.O_RDONLY|unix.O_EXCL, 0); err == nil {
		return p, f.Close()
	}
	p.Refusals = append(p.Refusals, busy(err))
	return p, nil
}

func busy(err error) error {
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%w (%w); it is mounted, swapped to, stacked on or opened by another program, maybe out of sight of this one", ErrBusy, err)
	}
	return err
}

// identify finds out which device a path means and what the kernel says of it.
func identify(path string, bytes int64) (Plan, disk, error) {
	p := Plan{Asked: path}
	fail := func(err error) (Plan, disk, error) {
		return p, disk{}, fmt.Errorf("blockdev: %s: %w", path, err)
	}
	if path == "" {
		return p, disk{}, fmt.Errorf("blockdev: %w: there is no default; name one, as /dev/nvme1n1", ErrNoDevice)
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		p.Path, err = filepath.EvalSymlinks(abs)
	}
	if err == nil {
		p.Number, err = numberOf(p.Path)
	}
	if err != nil {
		return fail(fmt.Errorf("%w; name a block device, as /dev/nvme1n1", err))
	}
	d, err := host.disk(p.Number)
	if err != nil {
		return fail(err)
	}
	p.Model, p.Serial = d.model(), d.serial()
	sectors, err1 := strconv.ParseInt(d.text("size"), 10, 64) // of 512 bytes, whatever the block
	p.Size = sectors * 512
	of := d
	if whole, ok := host.parent(d); ok {
		of = whole // a partition has no queue of its own
	}
	p.Block, err = strconv.Atoi(of.text("queue/logical_block_size"))
	if err = errors.Join(err1, err); err != nil {
		return fail(fmt.Errorf("%w: size or block size: %w", ErrUnknown, err))
	}
	p.seq, _ = strconv.ParseUint(d.text("diskseq"), 10, 64) // Linux 5.15 and later
	if p.Bytes = bytes; bytes == 0 {
		p.Bytes = p.Size
	}
	if p.Bytes <= 0 || p.Bytes > p.Size || p.Bytes%int64(p.Block) != 0 {
		return fail(fmt.Errorf("%w: %d bytes of a device of %d in blocks of %d", rawblock.ErrRange, bytes, p.Size, p.Block))
	}
	p.Phrase = p.Serial
	if same, err := host.serials(p.Serial); err != nil {
		return fail(err)
	} else if p.Serial == "" || same != 1 {
		p.Phrase = fmt.Sprintf("%s:%d", p.Path, p.Size)
	}
	return p, d, nil
}

// examine runs the guards on a device that is open as f, and notes the refusals.
// What f is must agree with the plan, or the error is ErrChanged.
func (p *Plan) examine(d disk, f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("blockdev: %s: %w", p.Path, err)
	}
	n, err := blockNumber(&st)
	if err != nil {
		return fmt.Errorf("blockdev: %s: %w: %w", p.Path, ErrChanged, err)
	}
	size, err1 := f.Seek(0, io.SeekEnd)
	block, err2 := unix.IoctlGetInt(int(f.Fd()), unix.BLKSSZGET)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("blockdev: %s: %w: its size: %w", p.Path, ErrUnknown, err)
	}
	if n != p.Number || size != p.Size || block != p.Block {
		return fmt.Errorf("blockdev: %w: opened %s with %d bytes in blocks of %d, wanted %s; look at it again", ErrChanged, n, size, block, p.identity())
	}
	mem, err := unix.Mmap(-1, 0, edge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("blockdev: %d bytes of memory: %w", edge, err)
	}
	defer func() { _ = unix.Munmap(mem) }() // fails only for a wrong address
	w := &window{r: f, size: size, buf: mem}
	p.Refusals = append(host.guards(d), signed(w)...)
	if p.Ours, err = edges(w); err != nil {
		p.Refusals = append(p.Refusals, err)
	}
	return nil
}

// Device is a range of a real block device, held exclusively until Close. Its
// File does the transfers, checks them against the range, and is what an engine
// is put on: uring.New(d.File, ...), which owns it from then on.
type Device struct {
	*rawblock.File
	plan Plan
}

var _ rawblock.Device = (*Device)(nil)

// Plan is what is known of the device, as it was opened.
func (d *Device) Plan() Plan { return d.plan }

// Clear zeroes the range's first and last MiB, so that the guards find the device
// as empty as it was.
func (d *Device) Clear(ctx context.Context) error {
	zeros, err := unix.Mmap(-1, 0, edge, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("blockdev: %d bytes of memory: %w", edge, err)
	}
	defer func() { _ = unix.Munmap(zeros) }() // fails only for a wrong address
	zeros = zeros[:min(edge, d.Size())]
	for _, off := range []int64{0, d.Size() - int64(len(zeros))} {
		if err := d.Write(ctx, rawblock.IO{Off: off, Buf: zeros}); err != nil {
			return fmt.Errorf("blockdev: clear %s: %w", d.plan.Path, err)
		}
	}
	return d.Flush(ctx)
}

// Open opens the device for writing to its first bytes, all of it if bytes is 0,
// if every guard lets it pass and the consent is the device's phrase. The package
// lists the errors; all reasons are wrapped, not only the first. Nothing is
// written.
func Open(ctx context.Context, path string, c Consent, bytes int64) (*Device, error) {
	return open(ctx, path, c, bytes, func() {})
}

// open calls between after the first look and before the device is opened.
func open(ctx context.Context, path string, c Consent, bytes int64, between func()) (*Device, error) {
	seen, err := Inspect(ctx, path, bytes)
	if err != nil {
		return nil, err
	}
	if err := seen.Allows(c); err != nil {
		return nil, err
	}
	between()
	f, err := os.OpenFile(seen.Path, os.O_RDWR|unix.O_EXCL|unix.O_DIRECT, 0)
	if err != nil {
		return nil, fmt.Errorf("blockdev: %s: %w", seen.Path, busy(err))
	}
	now, d, err := identify(path, bytes)
	if err == nil && !now.same(seen) {
		err = fmt.Errorf("blockdev: %w: it is %s, and was %s; look at it again", ErrChanged, now.identity(), seen.identity())
	}
	if err == nil {
		err = now.examine(d, f)
	}
	if err = errors.Join(err, now.verdict()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file, err := rawblock.NewFile(f, now.Block, 0, now.Bytes)
	if err != nil {
		return nil, err
	}
	return &Device{File: file, plan: now}, nil
}
