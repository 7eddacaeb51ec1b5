package host

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Path says what lies under a file, a folder or a block device. Overlays,
// network and FUSE file systems, and those that span devices, have no device
// that the kernel would name: the fields of the device are Unknown and 0.
type Path struct {
	Path       string `json:"path"`       // absolute, links resolved
	FS         string `json:"fs"`         // type of file system, "block device" for a device itself, or Unknown
	Dev        string `json:"dev"`        // major:minor of the device or partition, or Unknown
	Name       string `json:"name"`       // of the device or partition, as "vda1", or Unknown
	Disk       string `json:"disk"`       // the whole disk that it is part of, as "vda", or Unknown
	Scheduler  string `json:"scheduler"`  // of the disk, as "mq-deadline", or Unknown
	Logical    int    `json:"logical"`    // bytes of a logical block, 0 if unknown
	Physical   int    `json:"physical"`   // bytes of a physical block, 0 if unknown
	Rotational string `json:"rotational"` // "yes", "no" or Unknown; virtual disks often say yes whatever they are

	Backing   string `json:"backing,omitempty"`   // of a loop device: the file behind it
	BackingFS string `json:"backingFS,omitempty"` // and the type of its file system, or Unknown
}

// PathInfo tells what lies under path, which must exist. It follows symbolic
// links and goes from a partition to its disk. Off Linux it returns a Path of
// Unknown and an error that wraps errors.ErrUnsupported.
func PathInfo(path string) (Path, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Path{}, fmt.Errorf("host: path %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Path{}, fmt.Errorf("host: path %s: %w", path, err)
	}
	p := unknownPath(abs)
	dev, isDevice, err := deviceOf(info)
	if err != nil {
		return p, err
	}
	fillPath(system, &p, dev, isDevice)
	return p, nil
}

func unknownPath(name string) Path {
	return Path{Path: name, FS: Unknown, Dev: Unknown, Name: Unknown, Disk: Unknown, Scheduler: Unknown, Rotational: Unknown}
}

// InMemory tells whether the file system keeps its files in memory, so that
// nothing written there meets a device.
// It sees RAM disks, and a loop device whose file is in memory.
func (p Path) InMemory() bool {
	memory := []string{"tmpfs", "devtmpfs", "ramfs"}
	return slices.Contains(memory, p.FS) || slices.Contains(memory, p.BackingFS) || ramDisk.MatchString(p.Disk)
}

var ramDisk = regexp.MustCompile(`^z?ram[0-9]+$`)

// String is one line, such as "/data: ext4 on vda1 of vda (254:1), scheduler
// none, blocks 512/4096, rotational no".
func (p Path) String() string {
	on := p.Name
	if p.Disk != p.Name {
		on += " of " + p.Disk
	}
	text := fmt.Sprintf("%s: %s on %s (%s), scheduler %s, blocks %d/%d, rotational %s",
		p.Path, p.FS, on, p.Dev, p.Scheduler, p.Logical, p.Physical, p.Rotational)
	if p.Backing != "" {
		text += fmt.Sprintf(", behind it %s on %s", p.Backing, p.BackingFS)
	}
	return text
}

// fillPath fills in what is known of a path on dev, or of dev itself.
func fillPath(t tree, p *Path, dev string, isDevice bool) {
	if isDevice {
		p.FS = "block device"
	} else if m, ok := mountOf(mounts(t), p.Path); ok {
		p.FS = m.fs
	}
	// The kernel has a folder for each device, disk or partition; that of a
	// partition lies in that of its disk.
	dir, err := filepath.EvalSymlinks(t.path("sys/dev/block/" + dev))
	if err != nil {
		return // no device: the file system's number is an anonymous one
	}
	p.Dev, p.Name, p.Disk = dev, filepath.Base(dir), filepath.Base(dir)
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
		p.Disk = filepath.Base(dir)
	}
	queue := tree(filepath.Join(dir, "queue"))
	p.Scheduler = or(scheduler(queue.text("scheduler")), Unknown)
	p.Logical = size(queue, "logical_block_size")
	p.Physical = size(queue, "physical_block_size")
	switch queue.text("rotational") {
	case "0":
		p.Rotational = "no"
	case "1":
		p.Rotational = "yes"
	}
	if p.Backing = tree(dir).text("loop/backing_file"); p.Backing != "" {
		p.BackingFS = Unknown
		if m, ok := mountOf(mounts(t), p.Backing); ok {
			p.BackingFS = m.fs
		}
	}
}

func size(queue tree, name string) int {
	n, _ := queue.number(name)
	return int(n)
}

// scheduler picks the chosen one of "none [mq-deadline] bfq". A device without
// a choice has one bare word.
func scheduler(text string) string {
	if _, after, ok := strings.Cut(text, "["); ok {
		chosen, _, _ := strings.Cut(after, "]")
		return chosen
	}
	return text
}
