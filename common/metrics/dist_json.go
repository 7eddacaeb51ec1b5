package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrDist occurs when JSON isn't a distribution that [Dist.MarshalJSON] writes.
var ErrDist = errors.New("not a distribution")

// distJSON is how a Dist is written: a bucket is its lower bound and its count.
type distJSON struct {
	Count   uint64      `json:"count"`
	Sum     int64       `json:"sum_ns"`
	Min     int64       `json:"min_ns"`
	Max     int64       `json:"max_ns"`
	Buckets [][2]uint64 `json:"buckets"`
}

// MarshalJSON writes the count, the sum, the least and the largest value, and
// the buckets that hold records as pairs of lower bound and count. All times are
// in nanoseconds. [Dist.UnmarshalJSON] reads it back without loss.
func (d Dist) MarshalJSON() ([]byte, error) {
	j := distJSON{Count: d.count, Sum: d.sum, Min: d.min, Max: d.max, Buckets: [][2]uint64{}}
	for b, n := range d.Buckets() {
		j.Buckets = append(j.Buckets, [2]uint64{uint64(b.Lower), n})
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote. What doesn't fit together is
// refused: buckets that aren't bounds of this package or don't rise, counts that
// don't add up, a least or largest value outside its bucket. Such an error wraps
// [ErrDist] and leaves d as it was.
func (d *Dist) UnmarshalJSON(data []byte) error {
	var j distJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("metrics: distribution: %w", err)
	}
	n := Dist{count: j.Count, sum: j.Sum, min: j.Min, max: j.Max}
	var total uint64
	for i, p := range j.Buckets {
		b := bucketOf(p[0])
		lower, _ := bucketBounds(b)
		switch {
		case uint64(lower) != p[0]:
			return fmt.Errorf("metrics: bucket %d: %d ns isn't the lower bound of a bucket, %d is: %w", i, p[0], lower, ErrDist)
		case p[1] == 0 || total+p[1] < total:
			return fmt.Errorf("metrics: bucket %d: a count of %d: %w", i, p[1], ErrDist)
		case i > 0 && b <= n.cells[i-1].bucket:
			return fmt.Errorf("metrics: bucket %d: %d ns isn't above the bucket before: %w", i, p[0], ErrDist)
		}
		total += p[1]
		n.cells = append(n.cells, cell{bucket: b, count: p[1]})
	}
	switch {
	case total != j.Count:
		return fmt.Errorf("metrics: the buckets hold %d records, the count says %d: %w", total, j.Count, ErrDist)
	case total == 0 && (j.Sum != 0 || j.Min != 0 || j.Max != 0):
		return fmt.Errorf("metrics: no records, but a sum, a least or a largest value: %w", ErrDist)
	case total > 0 && (j.Min < 0 || j.Max < j.Min ||
		bucketOf(uint64(j.Min)) != n.cells[0].bucket || bucketOf(uint64(j.Max)) != n.cells[len(n.cells)-1].bucket):
		return fmt.Errorf("metrics: least %d ns and largest %d ns don't lie in the first and the last bucket: %w", j.Min, j.Max, ErrDist)
	}
	*d = n
	return nil
}
