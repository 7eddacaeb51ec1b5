package metrics

import (
	"iter"
	"math"
)

// Dist is the distribution that a [Histogram] had at one moment: a plain value.
// A copy is independent, merging included. The zero Dist is empty. Times are in
// nanoseconds. It isn't for use by several goroutines while one merges into it.
type Dist struct {
	count    uint64
	sum      int64
	min, max int64
	cells    []cell // not empty ones only, in rising order; never changed in place
}

type cell struct {
	bucket int
	count  uint64
}

// Bucket is a range of values in nanoseconds: Lower belongs to it, Upper
// doesn't.
type Bucket struct{ Lower, Upper int64 }

// Mid returns the value that stands for the bucket, at most 1/256 of any value
// in it away (save in the last bucket, which is open above).
func (b Bucket) Mid() int64 { return b.Lower + (b.Upper-b.Lower)/2 }

// Merge adds the records of o to d. The order of merges doesn't matter and
// nothing is lost.
func (d *Dist) Merge(o Dist) {
	if o.count == 0 {
		return
	}
	if d.count == 0 {
		*d = o
		return
	}
	d.count += o.count
	d.sum += o.sum
	d.min = min(d.min, o.min)
	d.max = max(d.max, o.max)
	// A new slice, since copies of d may share the old one.
	merged := make([]cell, 0, len(d.cells)+len(o.cells))
	a, b := d.cells, o.cells
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].bucket < b[0].bucket:
			merged, a = append(merged, a[0]), a[1:]
		case a[0].bucket > b[0].bucket:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged = append(merged, cell{a[0].bucket, a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	d.cells = append(append(merged, a...), b...)
}

// Count returns the number of records.
func (d Dist) Count() uint64 { return d.count }

// Sum returns the exact sum, in nanoseconds. It wraps beyond 292 years.
func (d Dist) Sum() int64 { return d.sum }

// Min returns the exact least value, in nanoseconds; 0 when empty.
func (d Dist) Min() int64 { return d.min }

// Max returns the exact largest value, in nanoseconds; 0 when empty.
func (d Dist) Max() int64 { return d.max }

// Mean returns the exact mean, in nanoseconds; 0 when empty.
func (d Dist) Mean() float64 {
	if d.count == 0 {
		return 0
	}
	return float64(d.sum) / float64(d.count)
}

// Quantile returns the value of rank ceil(q*Count) among the records in rising
// order, in nanoseconds; 0 when empty. A q of 0 or less (or NaN) gives the exact
// least value, of 1 or more the exact largest. Between, it is the middle of the
// value's bucket, at most 0.4 % off: a bucket is at most 1/128 of its lower bound
// wide. Values of 39 hours (2^47 ns) and more share a bucket; there, the largest
// value is returned.
func (d Dist) Quantile(q float64) int64 {
	if d.count == 0 || !(q > 0) {
		return d.min
	}
	if q >= 1 {
		return d.max
	}
	rank := max(uint64(math.Ceil(q*float64(d.count))), 1)
	var seen uint64
	for _, c := range d.cells {
		if seen += c.count; seen >= rank {
			if c.bucket == overflow {
				return d.max
			}
			lo, up := bucketBounds(c.bucket)
			return min(max(Bucket{lo, up}.Mid(), d.min), d.max)
		}
	}
	return d.max
}

// Buckets yields the buckets that hold records, in rising order, each with its
// count. The last possible bucket is open above; its Upper is given as Max+1.
func (d Dist) Buckets() iter.Seq2[Bucket, uint64] {
	return func(yield func(Bucket, uint64) bool) {
		for _, c := range d.cells {
			lo, up := bucketBounds(c.bucket)
			if c.bucket == overflow {
				up = d.max
				if up < math.MaxInt64 {
					up++
				}
			}
			if !yield(Bucket{lo, up}, c.count) {
				return
			}
		}
	}
}
