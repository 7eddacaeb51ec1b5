package study

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/rawblock"
	"latlab.example/rawblock/uring"
)

// tempFile makes a file of at least size bytes in the folder for real files. It
// refuses memory, also where a loop device hides it.
func tempFile(size int64) (*rawblock.File, error) {
	dir, err := lab.RealDir()
	if err != nil {
		return nil, err
	}
	if p, err := host.PathInfo(dir); err == nil && p.InMemory() {
		return nil, fmt.Errorf("rawblock: file in %v: %w: it is in memory; name a folder on a disk", p, rawblock.ErrFileSystem)
	}
	return rawblock.TempFile(dir, size)
}

// probeFile says whether a file with direct I/O can be had here.
func probeFile(context.Context) error {
	f, err := tempFile(1)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, rawblock.ErrPlatform) {
		return &lab.Unavailable{Need: "file", Why: err.Error(), Do: "run it on Linux"}
	}
	return &lab.Unavailable{Need: "file", Why: err.Error(), Do: "--dir DIR or " + lab.DirVariable + " chooses it"}
}

// largest is how much of a disk an arm's file may take, unless its keys need more.
const largest = 64 << 20

// openFile opens a store on a nameless file, by the arm's engine. There are
// eight slots a key, so that scattered slots rarely touch, unless that is too large.
func openFile(_ context.Context, a lab.Arm) (lab.Subject, error) {
	n := int64(keys.Of(a))
	slots := max(n, min(8*n, largest/slotSize(a, 4096)))
	f, err := tempFile(sizeFor(a, int(slots), 4096))
	if err != nil {
		return nil, err
	}
	read, err := diskUsage(f.Dir())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if rawblock.EngineToggle.Of(a) == rawblock.Posix {
		return newSubject(f, a, read)
	}
	dev, err := uring.New(f, uring.OptionsOf(a))
	if errors.Is(err, rawblock.ErrNotBuilt) || errors.Is(err, rawblock.ErrBlocked) {
		return nil, &lab.Unavailable{Need: "iouring", Why: err.Error(), Do: "--set engine=posix"}
	} else if err != nil {
		return nil, err
	}
	return newSubject(dev, a, read)
}

// diskUsage reads the counters of the disk under dir. Where the kernel names
// none, as under an overlay, it gives nil: what the disk does isn't measurable.
func diskUsage(dir string) (func() (usage, error), error) {
	p, err := host.PathInfo(dir)
	if err != nil {
		return nil, err
	}
	if p.Disk == host.Unknown {
		return func() (usage, error) { return nil, nil }, nil
	}
	return func() (usage, error) {
		c, err := host.ReadDisk(p.Disk)
		return fileUsage(c), err
	}, nil
}

type fileUsage host.DiskCounters

func (u fileUsage) since(earlier usage, took time.Duration) (deviceUse, error) {
	d, err := host.DiskCounters(u).Sub(host.DiskCounters(earlier.(fileUsage)), took)
	return deviceUse{depth: d.QueueDepth, writes: float64(d.Writes), merges: float64(d.Merges), size: d.MeanWrite}, err
}
