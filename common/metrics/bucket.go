package metrics

import "math/bits"

// The buckets are log-linear: each power of two is cut into 2^subBits equal
// parts. Values below 2^(subBits+1) have a bucket each. A bucket that starts at
// v is at most v/128 wide, so its middle is at most 1/256 = 0.39 % off.
const (
	subBits  = 7
	subCount = 1 << subBits

	// rangeBits bounds the range: 2^47 ns are 39 hours. Larger values share one
	// bucket, the last.
	rangeBits = 47
	overflow  = (rangeBits-subBits-1)*subCount + 2*subCount
	buckets   = overflow + 1
)

// bucketOf returns the bucket of v.
func bucketOf(v uint64) int {
	if v >= 1<<rangeBits {
		return overflow
	}
	e := exponent(v)
	return int(e)<<subBits + int(v>>e)
}

// exponent returns e such that the bucket of v is 2^e wide.
func exponent(v uint64) uint { return uint(bits.Len64(v|subCount)-1-subBits) & 63 }

// bucketBounds returns the least value of bucket i and the least value above
// it. The last bucket has no upper bound; it is given as 0.
func bucketBounds(i int) (lower, upper int64) {
	if i >= overflow {
		return 1 << rangeBits, 0
	}
	if i < 2*subCount {
		return int64(i), int64(i) + 1
	}
	e := i>>subBits - 1
	lower = int64(i&(subCount-1)+subCount) << e
	return lower, lower + 1<<e
}
