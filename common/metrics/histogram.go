package metrics

import (
	"math"
	"sync/atomic"
)

// maxShards bounds the shards of a histogram. It is a power of two, so that the
// number of a P is brought into range by a mask.
const maxShards = 128

// Histogram counts durations in log-linear buckets. Its counts are exact; so
// are the sum, the least and the largest value. A quantile is at most 0.4 % off
// (see [Dist.Quantile]).
//
// Each P of the Go scheduler writes to a shard of its own (41 KB, made at the
// first record there), so goroutines that record side by side don't pass cache
// lines to each other. A program that raises GOMAXPROCS later just gets more
// shards; beyond 128 Ps, some share one, which costs time but no counts. All
// writes are atomic: a goroutine that moves to another P half-way loses nothing.
//
// All methods may be used by any number of goroutines. The zero value is ready
// for use. A Histogram must not be copied.
type Histogram struct {
	shards [maxShards]atomic.Pointer[shard]
}

// shard holds what the goroutines of one P recorded. It is larger than any
// size class of the allocator, so it shares no cache line with another shard.
type shard struct {
	sum    atomic.Int64
	min    atomic.Int64 // math.MaxInt64 when nothing was recorded
	max    atomic.Int64
	counts [buckets]atomic.Uint64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return new(Histogram) }

// Record adds one value, in nanoseconds. A negative value counts as zero.
func (h *Histogram) Record(v int64) {
	p := procPin()
	// The number of the P is a hint that keeps writers apart. Nothing depends on
	// staying there, so the pin is gone before any work.
	procUnpin()
	slot := &h.shards[p&(maxShards-1)]
	s := slot.Load()
	if s == nil {
		s = newShard(slot)
	}
	s.record(max(v, 0))
}

// newShard puts a shard into an empty slot; of goroutines that race for it, one
// wins and all use its shard.
func newShard(slot *atomic.Pointer[shard]) *shard {
	s := new(shard)
	s.min.Store(math.MaxInt64)
	for !slot.CompareAndSwap(nil, s) {
		if won := slot.Load(); won != nil {
			return won
		}
	}
	return s
}

// record writes the bucket last, and Snapshot reads it first: whatever has been
// counted lies within min and max and is in the sum.
func (s *shard) record(v int64) {
	s.sum.Add(v)
	if v < s.min.Load() {
		lower(&s.min, v)
	}
	if v > s.max.Load() {
		raise(&s.max, v)
	}
	s.counts[bucketOf(uint64(v))].Add(1)
}

func lower(a *atomic.Int64, v int64) {
	for old := a.Load(); v < old; old = a.Load() {
		if a.CompareAndSwap(old, v) {
			return
		}
	}
}

func raise(a *atomic.Int64, v int64) {
	for old := a.Load(); v > old; old = a.Load() {
		if a.CompareAndSwap(old, v) {
			return
		}
	}
}

// Snapshot returns what was recorded so far. It may run while others record. It
// holds every record that returned before Snapshot was called. Of the records
// that run meanwhile it holds some; each that it counts is also in its sum and
// lies between its least and largest value. The sum may hold a few that are not
// counted yet.
func (h *Histogram) Snapshot() Dist {
	var (
		d      Dist
		counts [buckets]uint64
		lo     = int64(math.MaxInt64)
	)
	for i := range h.shards {
		s := h.shards[i].Load()
		if s == nil {
			continue
		}
		for b := range counts {
			counts[b] += s.counts[b].Load()
		}
		d.sum += s.sum.Load()
		lo = min(lo, s.min.Load())
		d.max = max(d.max, s.max.Load())
	}
	n := 0
	for _, c := range counts {
		if c > 0 {
			n++
			d.count += c
		}
	}
	if d.count == 0 {
		return Dist{}
	}
	d.min = lo
	d.cells = make([]cell, 0, n)
	for b, c := range counts {
		if c > 0 {
			d.cells = append(d.cells, cell{bucket: b, count: c})
		}
	}
	return d
}

// Reset forgets all records. A record that runs meanwhile is kept or forgotten
// as a whole.
func (h *Histogram) Reset() {
	for i := range h.shards {
		h.shards[i].Store(nil)
	}
}
