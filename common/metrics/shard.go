package metrics

import "sync/atomic"

// shard holds what the goroutines of one P recorded. The allocator gives an
// object of this size pages of its own, so two shards share no cache line.
type shard struct {
	min atomic.Int64 // math.MaxInt64 when nothing was recorded
	max atomic.Int64

	// words has a word a bucket: how many records, and by how much they exceed the
	// bucket's lower bound in sum. Keeping both in one word makes a record one
	// atomic addition in place of two, and keeps the count and the sum in step.
	words [buckets]atomic.Uint64

	// drained has what no longer fits the words. Guarded by Histogram.mu.
	drained map[int]total
}

// total is what a word holds, without its limits.
type total struct {
	count uint64
	above int64
}

// A word has the count in its upper 20 bits and the sum in its lower 44. It is
// drained by the record that sets the top bit of either part. The other halves
// are room for those that get between: it takes half a million goroutines caught
// between their addition and the drain, on one bucket of one shard, to fill it.
// That holds for values up to packedBelow, which exceed their lower bound by
// less than 2^24.
const (
	countShift  = 44
	packedBelow = 1 << 32 // 4.3 s
	almostFull  = 1<<63 | 1<<(countShift-1)
)

// pack returns the word of one record of v, which is below packedBelow.
func pack(v uint64) uint64 { return 1<<countShift | v&(1<<exponent(v)-1) }

func unpack(w uint64) total {
	return total{count: w >> countShift, above: int64(w & (1<<countShift - 1))}
}

// add adds to the drained totals. The caller holds Histogram.mu.
func (s *shard) add(b int, t total) {
	if s.drained == nil {
		s.drained = make(map[int]total)
	}
	d := s.drained[b]
	s.drained[b] = total{d.count + t.count, d.above + t.above}
}

// addTo adds all records of s to all. The caller holds Histogram.mu.
func (s *shard) addTo(all *[buckets]total) {
	for b := range s.words {
		if w := s.words[b].Load(); w != 0 {
			t := unpack(w)
			all[b].count += t.count
			all[b].above += t.above
		}
	}
	for b, t := range s.drained {
		all[b].count += t.count
		all[b].above += t.above
	}
}

func (s *shard) lower(v int64) {
	for old := s.min.Load(); v < old; old = s.min.Load() {
		if s.min.CompareAndSwap(old, v) {
			return
		}
	}
}

func (s *shard) raise(v int64) {
	for old := s.max.Load(); v > old; old = s.max.Load() {
		if s.max.CompareAndSwap(old, v) {
			return
		}
	}
}
