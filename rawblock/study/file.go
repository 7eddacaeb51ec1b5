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

// onFile is the rig of a nameless file, by the arm's engine. There are eight
// slots a key, so that scattered slots rarely touch, unless that is too large.
func onFile(name string, b build) lab.Rig {
	return lab.Real(name, probeFile, func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		n := int64(keys.Of(a))
		slots := max(n, min(8*n, largest/slotSize(a, 4096)))
		f, err := tempFile(sizeFor(a, int(slots), 4096))
		if err != nil {
			return nil, err
		}
		return onDisk(f, f.Dir(), a, b)
	})
}

// onDisk makes a subject on a file or block device, by the arm's engine. under is
// a path on the disk whose counters are read.
func onDisk(f uring.File, under string, a lab.Arm, b build) (*subject, error) {
	read, err := diskUsage(under)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var dev rawblock.Device = f
	if rawblock.EngineToggle.Of(a) == rawblock.IOUring {
		dev, err = uring.New(f, uring.OptionsOf(a))
		if errors.Is(err, rawblock.ErrNotBuilt) || errors.Is(err, rawblock.ErrBlocked) {
			return nil, &lab.Unavailable{Need: "iouring", Why: err.Error(), Do: "--set engine=posix"}
		} else if err != nil {
			return nil, err
		}
	}
	s, err := b(dev, a)
	if err != nil {
		return nil, err
	}
	s.usage = read
	return s, nil
}

// diskUsage reads the counters of the disk under a path, or is nil where the
// kernel names none, as under an overlay: what the disk does isn't measurable.
func diskUsage(path string) (func() (usage, error), error) {
	p, err := host.PathInfo(path)
	if err != nil || p.Disk == host.Unknown {
		return nil, err
	}
	return func() (usage, error) {
		c, err := host.ReadDisk(p.Disk)
		return fileUsage(c), err
	}, nil
}

type fileUsage host.DiskCounters

func (u fileUsage) since(earlier usage, took time.Duration) deviceUse {
	d, err := host.DiskCounters(u).Sub(host.DiskCounters(earlier.(fileUsage)), took)
	if err != nil {
		return deviceUse{} // the counters went back: the disk was replaced
	}
	return deviceUse{depth: d.QueueDepth, writes: float64(d.Writes), merges: float64(d.Merges), size: d.MeanWrite}
}
