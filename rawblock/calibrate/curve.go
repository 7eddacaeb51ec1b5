package calibrate

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/rawblock"
)

// Path is how writes reach the device.
type Path string

// The paths. They have curves of their own: what goroutines can keep under way
// in blocking calls is less than what the device can take.
const (
	Call Path = "call" // a goroutine a write, which it waits for
	Ring Path = "ring" // many writes of one submission
)

// Point is what was measured with so many writes under way.
type Point struct {
	Path  Path `json:"path"`
	Bytes int  `json:"bytes"` // of a write
	Depth int  `json:"depth"` // writes under way
	// Latency is that of filling a buffer and writing it by path Call, by Little's law
	// from their rate, as the depth is kept up; by path Ring it is the time of a whole
	// batch, whose buffers were full.
	Latency time.Duration `json:"latency_ns"`
}

// PerSec is the rate of writes.
func (p Point) PerSec() float64 { return float64(p.Depth) / p.Latency.Seconds() }

// Depths are those of a curve.
var Depths = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}

const (
	writes = 128 // of one measurement, or four times the depth if that is more
	rounds = 11  // over all points; the median counts
)

// Curve measures latency against depth for writes of these sizes at random places
// of the device, on both paths, or on path Call only if the device takes no
// batches. It overwrites what is there. Each of eleven rounds measures no more writes than a large PutMany makes: a disk that
// lends speed for a while would show another face in a longer one.
func Curve(ctx context.Context, dev rawblock.Device, sizes ...int) ([]Point, error) {
	var points []Point
	for _, path := range []Path{Call, Ring} {
		if _, ok := dev.(rawblock.Batcher); !ok && path == Ring {
			continue
		}
		for _, n := range sizes {
			for _, depth := range Depths {
				if int64(depth)*int64(n) <= dev.Size() {
					points = append(points, Point{Path: path, Bytes: n, Depth: depth})
				}
			}
		}
	}
	seen := make([][]time.Duration, len(points))
	for range rounds {
		for _, i := range rand.Perm(len(points)) {
			p := points[i]
			_, err := measure(ctx, dev, p) // what the point before left in the device's queues isn't this one's
			var d time.Duration
			if err == nil {
				d, err = measure(ctx, dev, p)
			}
			if err != nil {
				return nil, fmt.Errorf("calibrate: %d writes of %d bytes under way by %s: %w", p.Depth, p.Bytes, p.Path, err)
			}
			seen[i] = append(seen[i], d)
		}
	}
	for i := range points {
		slices.Sort(seen[i])
		points[i].Latency = seen[i][len(seen[i])/2]
	}
	return points, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const objectBytes = 64 << 20 // more than caches hold

// objects is memory that buffers are filled from.
var objects = sync.OnceValue(func() []byte {
	all := make([]byte, objectBytes)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(all) // never fails; memory that was never written is one page, in the cache
	return all
})

// measure does some writes: by path Call it keeps the point's number of them under
// way, by path Ring it hands so many over at once, as a store does.
func measure(ctx context.Context, dev rawblock.Device, p Point) (time.Duration, error) {
	slots := make([]rawblock.IO, p.Depth)
	mem, err := rawblock.MapPages(p.Depth * p.Bytes) // memory of the Go heap is written more slowly
	if err != nil {
		return 0, err
	}
	defer rawblock.UnmapPages(mem)
	// A store fills each buffer from objects that are no longer in a cache, with their
	// checksum, which costs the writes of others something, too.
	fill := func(r *rand.Rand, buf []byte) {
		copy(buf, objects()[r.IntN(objectBytes-len(buf)):])
		buf[0] = byte(crc32.Checksum(buf, castagnoli))
	}
	// Each write under way has a part of the device to itself, so that none overlap:
	// room for eight, as in a store that is nearly empty.
	part := min(8, dev.Size()/int64(p.Depth)/int64(p.Bytes))
	for i := range slots {
		slots[i].Buf = mem[i*p.Bytes : (i+1)*p.Bytes : (i+1)*p.Bytes]
	}
	place := func(r *rand.Rand, i int) int64 { return (int64(i)*part + r.Int64N(part)) * int64(p.Bytes) }
	n := int64(max(writes, 4*p.Depth))
	var issued atomic.Int64
	start := time.Now()
	if p.Path == Ring {
		r := rand.New(rand.NewPCG(rand.Uint64(), 0))
		for range n / int64(p.Depth) {
			filling := time.Now() // the disk has that time to itself, as with a store
			for i := range slots {
				slots[i].Off = place(r, i)
				fill(r, slots[i].Buf)
			}
			start = start.Add(time.Since(filling))
			if err = dev.(rawblock.Batcher).WriteBatch(ctx, slots, nil); err != nil {
				break
			}
		}
	} else {
		errs := make([]error, p.Depth)
		var wg sync.WaitGroup
		for i := range slots {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(rand.Uint64(), 0))
				for issued.Add(1) <= n && errs[i] == nil {
					slots[i].Off = place(r, i)
					fill(r, slots[i].Buf)
					errs[i] = dev.Write(ctx, slots[i])
				}
			})
		}
		wg.Wait()
		err = errors.Join(errs...)
	}
	if err != nil {
		return 0, err
	}
	return time.Since(start) * time.Duration(p.Depth) / time.Duration(n), nil
}
