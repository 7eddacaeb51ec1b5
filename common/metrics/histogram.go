package metrics

import (
	"math"
	"sync"
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
	mu     sync.Mutex // held to make, empty, read and drop shards
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return new(Histogram) }

// Record adds one value, in nanoseconds. A negative value counts as zero.
func (h *Histogram) Record(v int64) {
	p := procPin()
	// The number of the P is a hint that keeps writers apart. Nothing depends on
	// staying there, so the pin is gone before any work.
	procUnpin()
	s := h.shards[p&(maxShards-1)].Load()
	if s == nil {
		s = h.grow(p & (maxShards - 1))
	}
	v = max(v, 0)
	if v < s.min.Load() {
		s.lower(v)
	}
	if v > s.max.Load() {
		s.raise(v)
	}
	if v >= packedBelow {
		h.recordLarge(s, v)
		return
	}
	b := bucketOf(uint64(v))
	if s.words[b].Add(pack(uint64(v)))&almostFull != 0 {
		h.drain(s, b)
	}
}

// grow puts a shard into slot i, unless another goroutine was faster.
func (h *Histogram) grow(i int) *shard {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.shards[i].Load(); s != nil {
		return s
	}
	s := new(shard)
	s.min.Store(math.MaxInt64)
	h.shards[i].Store(s)
	return s
}

// recordLarge counts a value that is too large for a word. A lock is nothing to
// something that took seconds.
func (h *Histogram) recordLarge(s *shard, v int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := bucketOf(uint64(v))
	lo, _ := bucketBounds(b)
	s.add(b, total{count: 1, above: v - lo})
}

// drain moves a word that fills up to the totals.
func (h *Histogram) drain(s *shard, b int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.add(b, unpack(s.words[b].Swap(0)))
}

// Snapshot returns what was recorded so far. It may run while others record; they
// don't wait for it, save one in half a million records of a bucket and values
// of four seconds and more. It holds every record that returned before Snapshot
// was called, and some of those that run meanwhile. The count, the sum and the
// buckets agree with each other exactly. All values that it counts lie between
// its least and its largest one; these may be of a record that isn't counted yet.
func (h *Histogram) Snapshot() Dist {
	h.mu.Lock()
	defer h.mu.Unlock()
	var (
		d   = Dist{min: math.MaxInt64}
		all [buckets]total
	)
	for i := range h.shards {
		if s := h.shards[i].Load(); s != nil {
			s.addTo(&all)
			// After the buckets, since Record sets them before: see above.
			d.min = min(d.min, s.min.Load())
			d.max = max(d.max, s.max.Load())
		}
	}
	for b, t := range all {
		if t.count > 0 {
			lo, _ := bucketBounds(b)
			d.count += t.count
			d.sum += lo*int64(t.count) + t.above
			d.cells = append(d.cells, cell{bucket: b, count: t.count})
		}
	}
	if d.count == 0 {
		return Dist{}
	}
	return d
}

// Reset forgets all records. A record that runs meanwhile is kept or forgotten
// as a whole.
func (h *Histogram) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.shards {
		h.shards[i].Store(nil)
	}
}
