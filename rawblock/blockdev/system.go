package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// system is where devices and their uses are looked up.
type system struct {
	root string // holds proc and sys: "/", or a test's folder
	// numberOf is the number of the block device that a path leads to, through
	// links. Its error is fs.ErrNotExist or ErrNotBlock.
	numberOf func(path string) (Number, error)
}

func (s system) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

// text is a file's content without blanks round it, "" if there is none.
func text(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.Trim(string(b), " \t\n\x00")
}

// disk is a block device in sysfs.
type disk struct {
	dir    string // with links resolved
	name   string // the kernel's
	number Number
}

// disk finds a device by number.
func (s system) disk(n Number) (disk, error) {
	dir, err := filepath.EvalSymlinks(s.path("sys/dev/block/" + n.String()))
	if err != nil {
		return disk{}, fmt.Errorf("%w: the kernel shows no block device %s (%w); mount sysfs on /sys", ErrUnknown, n, err)
	}
	return disk{dir: dir, name: filepath.Base(dir), number: n}, nil
}

func (d disk) text(name string) string { return text(filepath.Join(d.dir, filepath.FromSlash(name))) }

// parent is the whole disk of a partition.
func (s system) parent(d disk) (disk, bool) {
	if d.text("partition") == "" {
		return disk{}, false
	}
	dir := filepath.Dir(d.dir)
	n, err := parseNumber(text(filepath.Join(dir, "dev")))
	return disk{dir: dir, name: filepath.Base(dir), number: n}, err == nil
}

// partitions are those of a whole disk.
func (d disk) partitions() ([]disk, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("%w: its partitions can't be listed: %w", ErrUnknown, err)
	}
	var all []disk
	for _, e := range entries {
		p := disk{dir: filepath.Join(d.dir, e.Name()), name: e.Name()}
		if !e.IsDir() || p.text("partition") == "" {
			continue
		}
		if p.number, err = parseNumber(p.text("dev")); err != nil {
			return nil, fmt.Errorf("%w: partition %s: %w", ErrUnknown, p.name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// list is the names in a folder of the device, as holders or slaves.
func (d disk) list(name string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(d.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%w: its %s can't be listed: %w", ErrUnknown, name, err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// serial is what the kernel shows: of NVMe and MMC, of virtio, or of SCSI and
// ATA, where it follows the 4 bytes of header of vital product data page 0x80.
func (d disk) serial() string {
	for _, name := range []string{"device/serial", "serial"} {
		if s := d.text(name); s != "" {
			return s
		}
	}
	if page, err := os.ReadFile(filepath.Join(d.dir, "device", "vpd_pg80")); err == nil && len(page) > 4 {
		return strings.Trim(string(page[4:]), " \t\n\x00")
	}
	return ""
}

func (d disk) model() string {
	if m := d.text("device/model"); m != "" {
		return m
	}
	return d.text("device/name")
}

// serials counts how many disks have a serial. The paths of one NVMe disk that
// the kernel hides behind it don't count.
func (s system) serials(serial string) (int, error) {
	entries, err := os.ReadDir(s.path("sys/block"))
	if err != nil {
		return 0, fmt.Errorf("%w: disks can't be listed: %w", ErrUnknown, err)
	}
	n := 0
	for _, e := range entries {
		d := disk{dir: filepath.Join(s.path("sys/block"), e.Name())}
		if d.text("hidden") != "1" && d.serial() == serial {
			n++
		}
	}
	return n, nil
}

func parseNumber(text string) (Number, error) {
	a, b, _ := strings.Cut(text, ":")
	major, err1 := strconv.ParseUint(a, 10, 32)
	minor, err2 := strconv.ParseUint(b, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return Number{}, fmt.Errorf("%q is no major:minor", text)
	}
	return Number{Major: uint32(major), Minor: uint32(minor)}, nil
}

// mount is a line of the mount table, as proc_pid_mountinfo(5) has it.
type mount struct {
	number Number // 0:x if the file system has no device of its own, as btrfs
	point  string
	source string // mostly a path
}

func (s system) mounts() ([]mount, error) {
	b, err := os.ReadFile(s.path("proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("%w: mounts can't be read: %w; mount procfs on /proc", ErrUnknown, err)
	}
	return parseMounts(string(b))
}

func parseMounts(table string) ([]mount, error) {
	var all []mount
	for line := range strings.Lines(table) {
		// Any number of optional fields stand before the dash.
		first, second, _ := strings.Cut(line, " - ")
		a, b := strings.Fields(first), strings.Fields(second)
		if len(a) < 6 || len(b) < 1 {
			return nil, fmt.Errorf("%w: mountinfo has the line %q", ErrUnknown, strings.TrimSpace(line))
		}
		n, err := parseNumber(a[2])
		if err != nil {
			return nil, fmt.Errorf("%w: mountinfo: %w", ErrUnknown, err)
		}
		m := mount{number: n, point: unescape(a[4])}
		if len(b) > 1 {
			m.source = unescape(b[1])
		}
		all = append(all, m)
	}
	return all, nil
}

// unescape undoes the kernel's octal escapes, as \040 for a blank.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, `\`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if len(after) >= 3 {
			if c, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(c))
				s = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
		s = after
	}
}

// on tells whether a mount lies on the device.
func (s system) on(m mount, n Number) bool {
	if m.number == n {
		return true
	}
	source, err := s.numberOf(m.source)
	return m.number.Major == 0 && err == nil && source == n
}

// swaps are the devices that are swapped to, by number. Swap files lie on mounts.
func (s system) swaps() ([]Number, error) {
	b, err := os.ReadFile(s.path("proc/swaps"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the kernel has no swap
	} else if err != nil {
		return nil, fmt.Errorf("%w: swaps can't be read: %w", ErrUnknown, err)
	}
	var all []Number
	for i, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if i == 0 || len(f) < 2 || f[1] != "partition" {
			continue
		}
		n, err := s.numberOf(unescape(f[0]))
		if err != nil {
			return nil, fmt.Errorf("%w: swap %s can't be found (%w); switch it off or run where /dev shows it", ErrUnknown, f[0], err)
		}
		all = append(all, n)
	}
	return all, nil
}

// loopsOn are the loop devices whose content lies on the device. The kernel
// doesn't count them as holders.
func (s system) loopsOn(n Number) ([]string, error) {
	files, err := filepath.Glob(s.path("sys/block/*/loop/backing_file"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range files {
		if below, err := s.numberOf(text(f)); err == nil && below == n {
			all = append(all, filepath.Base(filepath.Dir(filepath.Dir(f))))
		}
	}
	return all, nil
}

// below are the device and all that it lies on: the disk of a partition, the
// parts of a stacked device, the device under a loop.
func (s system) below(n Number, seen []Number) ([]Number, error) {
	if slices.Contains(seen, n) {
		return seen, nil
	}
	seen = append(seen, n)
	d, err := s.disk(n)
	if err != nil {
		return seen, err
	}
	if p, ok := s.parent(d); ok {
		if seen, err = s.below(p.number, seen); err != nil {
			return seen, err
		}
	}
	parts, err := d.list("slaves")
	if err != nil {
		return seen, err
	}
	for _, name := range parts {
		m, err := parseNumber(text(s.path("sys/class/block/" + name + "/dev")))
		if err != nil {
			return seen, fmt.Errorf("%w: %s lies on %s: %w", ErrUnknown, d.name, name, err)
		}
		if seen, err = s.below(m, seen); err != nil {
			return seen, err
		}
	}
	if m, err := s.numberOf(d.text("loop/backing_file")); err == nil {
		return s.below(m, seen)
	}
	return seen, nil
}
