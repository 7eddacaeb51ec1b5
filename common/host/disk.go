package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ErrCounters is wrapped by errors about a device's counters that can't be read
// or compared.
var ErrCounters = errors.New("no such counters")

// sector is the unit of the kernel's counters whatever the device's blocks are.
const sector = 512

// DiskCounters are what the kernel has counted for a block device or partition
// since it came up, from Linux's Documentation/block/stat.rst. Times are whole
// milliseconds and wrap at 2^32.
type DiskCounters struct {
	Reads, ReadMerges, ReadSectors    uint64
	Writes, WriteMerges, WriteSectors uint64
	Flushes                           uint64 // 0 before Linux 5.5
	BusyMS                            uint64 // time with a request in flight
	WeightedMS                        uint64 // that time, times the requests in flight
}

// DiskUse is what a device did between two readings.
type DiskUse struct {
	Elapsed time.Duration `json:"elapsed_ns"`

	// QueueDepth is the mean number of requests in flight, iostat's aqu-sz:
	// the weighted time over the elapsed time. It misleads both ways.
	// Neighbouring blocks merge into one request: depth near 0, yet fast.
	// A device that serves one request at a time shows a deep queue that
	// gains nothing. Read it beside Writes, Merges and the time taken.
	QueueDepth float64 `json:"queueDepth"`

	// Utilisation is the share of time with a request in flight. For a
	// device with several channels 1 doesn't mean full.
	Utilisation float64 `json:"utilisation"`

	Reads      uint64  `json:"reads"`      // requests that reached the device
	Writes     uint64  `json:"writes"`     // likewise
	Flushes    uint64  `json:"flushes"`    // likewise
	Merges     uint64  `json:"merges"`     // reads and writes that joined another request
	ReadBytes  uint64  `json:"readBytes"`  // in all
	WriteBytes uint64  `json:"writeBytes"` // in all
	MeanWrite  float64 `json:"meanWrite"`  // bytes a write, 0 without writes
}

// ReadDisk reads the counters of a device or partition, which is named as
// "vda1", "/dev/vda1" (links are followed) or "254:1". All that use the device
// are counted. The error wraps [ErrCounters]; off Linux errors.ErrUnsupported.
//
// The kernel counts in milliseconds, so let a second or more lie between two
// readings.
func ReadDisk(dev string) (DiskCounters, error) {
	if runtime.GOOS != "linux" {
		return DiskCounters{}, unsupported("ReadDisk")
	}
	return readDisk(system, dev)
}

var majorMinor = regexp.MustCompile(`^\d+:\d+$`)

func readDisk(t tree, dev string) (DiskCounters, error) {
	dir := "sys/dev/block/" + dev
	if !majorMinor.MatchString(dev) {
		name := dev
		if strings.HasPrefix(dev, "/dev/") {
			real, err := filepath.EvalSymlinks(t.path(dev))
			if err != nil {
				return DiskCounters{}, fmt.Errorf("host: disk %s: %w: %w", dev, ErrCounters, err)
			}
			name = strings.TrimPrefix(real, t.path("dev")+string(filepath.Separator))
		}
		dir = "sys/class/block/" + strings.ReplaceAll(name, "/", "!") // the kernel's own spelling
	}
	b, err := os.ReadFile(t.path(dir + "/stat"))
	if errors.Is(err, fs.ErrNotExist) {
		return DiskCounters{}, fmt.Errorf("host: disk %s: %w: /%s/stat is missing; /sys/class/block lists the devices", dev, ErrCounters, dir)
	}
	if err != nil {
		return DiskCounters{}, fmt.Errorf("host: disk %s: %w: %w", dev, ErrCounters, err)
	}
	c, err := parseDisk(string(b))
	if err != nil {
		return DiskCounters{}, fmt.Errorf("host: disk %s: /%s/stat: %w", dev, dir, err)
	}
	return c, nil
}

func parseDisk(text string) (DiskCounters, error) {
	words := strings.Fields(text)
	var n [17]uint64 // discards came with Linux 4.18, flushes with 5.5
	if len(words) < 11 {
		return DiskCounters{}, fmt.Errorf("%w: %d fields, 11 or more expected", ErrCounters, len(words))
	}
	for i := range min(len(words), len(n)) {
		v, err := strconv.ParseUint(words[i], 10, 64)
		if err != nil {
			return DiskCounters{}, fmt.Errorf("%w: field %d: %w", ErrCounters, i+1, err)
		}
		n[i] = v
	}
	return DiskCounters{
		Reads: n[0], ReadMerges: n[1], ReadSectors: n[2],
		Writes: n[4], WriteMerges: n[5], WriteSectors: n[6],
		BusyMS: n[9], WeightedMS: n[10], Flushes: n[15],
	}, nil
}

// Sub is what the device did from earlier to c, elapsed apart. The error wraps
// [ErrCounters] if elapsed isn't positive or a count went back, as when
// the device was taken away and made anew.
func (c DiskCounters) Sub(earlier DiskCounters, elapsed time.Duration) (DiskUse, error) {
	if elapsed <= 0 {
		return DiskUse{}, fmt.Errorf("host: disk use over %v: %w: the time must be positive", elapsed, ErrCounters)
	}
	if c.Reads < earlier.Reads || c.Writes < earlier.Writes || c.Flushes < earlier.Flushes ||
		c.ReadSectors < earlier.ReadSectors || c.WriteSectors < earlier.WriteSectors ||
		c.ReadMerges < earlier.ReadMerges || c.WriteMerges < earlier.WriteMerges {
		return DiskUse{}, fmt.Errorf("host: disk use: %w: a count went back; was the device replaced, or the order of readings swapped?", ErrCounters)
	}
	ms := float64(elapsed) / float64(time.Millisecond)
	u := DiskUse{
		Elapsed:     elapsed,
		QueueDepth:  float64(sinceMS(earlier.WeightedMS, c.WeightedMS)) / ms,
		Utilisation: float64(sinceMS(earlier.BusyMS, c.BusyMS)) / ms,
		Reads:       c.Reads - earlier.Reads,
		Writes:      c.Writes - earlier.Writes,
		Flushes:     c.Flushes - earlier.Flushes,
		Merges:      c.ReadMerges - earlier.ReadMerges + c.WriteMerges - earlier.WriteMerges,
		ReadBytes:   (c.ReadSectors - earlier.ReadSectors) * sector,
		WriteBytes:  (c.WriteSectors - earlier.WriteSectors) * sector,
	}
	if u.Writes > 0 {
		u.MeanWrite = float64(u.WriteBytes) / float64(u.Writes)
	}
	return u, nil
}

// sinceMS is the distance of two readings of a 32-bit counter.
func sinceMS(earlier, later uint64) uint32 { return uint32(later) - uint32(earlier) }

// String is one line.
func (u DiskUse) String() string {
	return fmt.Sprintf("queue depth %.2f, utilisation %.0f %%, %d reads, %d writes of %.0f bytes, %d merges, %d flushes in %v",
		u.QueueDepth, 100*u.Utilisation, u.Reads, u.Writes, u.MeanWrite, u.Merges, u.Flushes, u.Elapsed.Round(time.Millisecond))
}
