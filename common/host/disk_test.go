package host

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
)

func TestParseDiskErrors(t *testing.T) {
	for _, text := range []string{"", "1 2 3", "1 2 3 4 5 6 7 8 9 10 x", "1 2 3 4 5 6 7 8 9 10 -1"} {
		if c, err := parseDisk(text); !errors.Is(err, ErrCounters) {
			t.Errorf("%q: %+v, error %v, want %v", text, c, err, ErrCounters)
		}
	}
}

func TestDiskSub(t *testing.T) {
	before := DiskCounters{Reads: 10, ReadMerges: 1, ReadSectors: 100, Writes: 20, WriteMerges: 2, WriteSectors: 200, Flushes: 3, BusyMS: 1000, WeightedMS: math.MaxUint32 - 999}
	after := DiskCounters{Reads: 15, ReadMerges: 2, ReadSectors: 180, Writes: 120, WriteMerges: 5, WriteSectors: 1000, Flushes: 7, BusyMS: 2500, WeightedMS: 7000}
	got, err := after.Sub(before, 2*time.Second)
	want := DiskUse{Elapsed: 2 * time.Second, QueueDepth: 4, Utilisation: .75, Reads: 5, Writes: 100, Flushes: 4, Merges: 4, ReadBytes: 80 * 512, WriteBytes: 800 * 512, MeanWrite: 4096}
	if err != nil || got != want {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	if idle, err := after.Sub(after, time.Second); err != nil || idle != (DiskUse{Elapsed: time.Second}) {
		t.Errorf("idle: %+v, %v", idle, err)
	}
	for name, err := range map[string]error{
		"swapped": second(before.Sub(after, time.Second)), "no time": second(after.Sub(before, 0)),
	} {
		if !errors.Is(err, ErrCounters) {
			t.Errorf("%s: error %v, want %v", name, err, ErrCounters)
		}
	}
}

func second(_ DiskUse, err error) error { return err }

func TestReadDiskElsewhere(t *testing.T) {
	if runtime.GOOS == "linux" {
		if _, err := ReadDisk("no such disk"); !errors.Is(err, ErrCounters) {
			t.Errorf("error %v, want %v", err, ErrCounters)
		}
		return
	}
	if _, err := ReadDisk("disk0"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want %v", err, errors.ErrUnsupported)
	}
}

func ExampleDiskCounters_Sub() {
	before := DiskCounters{Writes: 1000, WriteSectors: 8000, WeightedMS: 500, BusyMS: 300}
	after := DiskCounters{Writes: 5000, WriteSectors: 40000, WeightedMS: 33000, BusyMS: 1200}
	use, err := after.Sub(before, time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(use)
	// Output: queue depth 32.50, utilisation 90 %, 0 reads, 4000 writes of 4096 bytes, 0 merges, 0 flushes in 1s
}
