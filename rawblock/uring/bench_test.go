//go:build giouring && linux

package uring

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"latlab.example/rawblock"
)

// Each benchmark measures its arms in turns, an arm an iteration's part, and
// reports the median of each as a ratio to that of the first: 0.5 is half the time.
// The unit's name has the arm and the first arm; below one, the arm is faster.

func benchDevice(b *testing.B, o Options) *Device {
	b.Helper()
	f, err := rawblock.TempFile(b.TempDir(), 64<<20)
	if errors.Is(err, rawblock.ErrFileSystem) {
		b.Skip(err)
	} else if err != nil {
		b.Fatal(err)
	}
	d, err := New(f, o)
	if errors.Is(err, rawblock.ErrBlocked) {
		b.Skip(err)
	} else if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	return d
}

// scattered is n transfers of the given size at places far apart.
func scattered(b *testing.B, d *Device, n, size int) []rawblock.IO {
	mem := pages(b, n*size)
	places := rand.Perm(int(d.Size()) / size)[:n]
	ios := make([]rawblock.IO, n)
	for i := range ios {
		ios[i] = rawblock.IO{Off: int64(places[i]) * int64(size), Buf: mem[i*size : (i+1)*size]}
	}
	return ios
}

// arm is one of the things that a benchmark compares.
type arm struct {
	name string
	run  func() error
	rest time.Duration // before it, not counted
}

func inTurns(b *testing.B, arms []arm) {
	times, used := make([][]time.Duration, len(arms)), make([]time.Duration, len(arms))
	for _, a := range arms { // warm-up
		if err := a.run(); err != nil {
			b.Fatal(a.name, ": ", err)
		}
	}
	for turn := 0; b.Loop(); turn++ {
		for i := range arms {
			i = (i + turn) % len(arms)
			time.Sleep(arms[i].rest)
			start, cpu := time.Now(), processCPU(b)
			if err := arms[i].run(); err != nil {
				b.Fatal(arms[i].name, ": ", err)
			}
			times[i] = append(times[i], time.Since(start))
			used[i] += processCPU(b) - cpu
		}
	}
	median := func(ds []time.Duration) float64 { slices.SortFunc(ds, cmp.Compare); return float64(ds[len(ds)/2]) }
	first := median(times[0])
	b.ReportMetric(first, arms[0].name+"-ns")
	for i, a := range arms[1:] {
		b.ReportMetric(median(times[i+1])/first, a.name+"/"+arms[0].name)
		if used[0] > 0 {
			b.ReportMetric(float64(used[i+1])/float64(used[0]), a.name+"/"+arms[0].name+"-cpu")
		}
	}
}

// processCPU is what the process has used of the CPUs.
func processCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// batches makes an arm of 1000 scattered writes in one batch.
func batches(b *testing.B, name string, size int, o Options) arm {
	d := benchDevice(b, o)
	ios := scattered(b, d, 1000, size)
	if err := d.Register(ios[0].Buf[: len(ios)*size : len(ios)*size]); err != nil {
		b.Fatal(err)
	}
	return arm{name: name, run: func() error { return d.WriteBatch(b.Context(), ios, nil) }}
}

// BenchmarkMeasuredOptions: the ring's size and registered memory.
func BenchmarkMeasuredOptions(b *testing.B) {
	for name, size := range map[string]int{"4K": 4 << 10, "64K": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			inTurns(b, []arm{
				batches(b, "default", size, Options{}),
				batches(b, "ring-64", size, Options{Entries: 64}),
				batches(b, "ring-256", size, Options{Entries: 256}),
				batches(b, "registered", size, Options{Registered: true}),
			})
		})
	}
}

// BenchmarkMeasuredSQPoll: the kernel's thread. The other arm waits until it has
// gone idle.
func BenchmarkMeasuredSQPoll(b *testing.B) {
	for name, size := range map[string]int{"4K": 4 << 10, "64K": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			plain := batches(b, "default", size, Options{})
			plain.rest = 1100 * time.Millisecond
			inTurns(b, []arm{plain, batches(b, "sqpoll", size, Options{SQPoll: true})})
		})
	}
}

// BenchmarkMeasuredCallers: 8 callers, each with 20 batches of 10 writes, with
// the rings that a device has and with one for all.
func BenchmarkMeasuredCallers(b *testing.B) {
	var arms []arm
	for name, rings := range map[string]int{"one-ring": 1, "rings": maxBatches} {
		d := benchDevice(b, Options{})
		d.batches.close()
		d.batches = newPool(defaultEntries, 0, rings)
		ios := scattered(b, d, 80, 4<<10)
		arms = append(arms, arm{name: name, run: func() error {
			var callers sync.WaitGroup
			errs := make([]error, 8)
			for c := range errs {
				callers.Go(func() {
					for range 20 {
						if err := d.WriteBatch(b.Context(), ios[c*10:c*10+10], nil); err != nil {
							errs[c] = err
						}
					}
				})
			}
			callers.Wait()
			return errors.Join(errs...)
		}})
	}
	slices.SortFunc(arms, func(x, y arm) int { return cmp.Compare(x.name, y.name) })
	inTurns(b, arms)
}

// BenchmarkMeasuredReads: 1000 scattered blocks of 4 KiB in one batch, and one
// after the other.
func BenchmarkMeasuredReads(b *testing.B) {
	d := benchDevice(b, Options{})
	ios := scattered(b, d, 1000, 4<<10)
	inTurns(b, []arm{
		{name: "loop", run: func() error {
			for i := range ios {
				if _, err := d.ReadAt(ios[i].Buf, ios[i].Off); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "batch", run: func() error { return d.ReadBatch(b.Context(), ios) }},
	})
}
