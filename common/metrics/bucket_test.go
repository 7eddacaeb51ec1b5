package metrics

import (
	"math"
	"testing"
)

func TestBuckets(t *testing.T) {
	next := int64(0)
	for i := range overflow {
		lo, up := bucketBounds(i)
		if lo != next || up <= lo {
			t.Fatalf("bucket %d is %d..%d, want it to start at %d", i, lo, up, next)
		}
		if a, b := bucketOf(uint64(lo)), bucketOf(uint64(up-1)); a != i || b != i {
			t.Fatalf("bucket %d: its bounds are in %d and %d", i, a, b)
		}
		if mid := (Bucket{lo, up}).Mid(); max(mid-lo, up-1-mid)*256 > lo {
			t.Fatalf("bucket %d, %d..%d: the middle %d is more than 1/256 off", i, lo, up, mid)
		}
		next = up
	}
	if next != 1<<rangeBits {
		t.Errorf("the range ends at %d, want 2^%d", next, rangeBits)
	}
	for _, v := range []uint64{1 << rangeBits, math.MaxInt64} {
		if got := bucketOf(v); got != overflow {
			t.Errorf("%d is in bucket %d, want %d", v, got, overflow)
		}
	}
}

func TestPack(t *testing.T) {
	for _, v := range []uint64{0, 1, 255, 256, 257, 511, 1e6, packedBelow - 1} {
		b := bucketOf(v)
		lo, _ := bucketBounds(b)
		if got := unpack(pack(v)); got.count != 1 || lo+got.above != int64(v) {
			t.Errorf("%d packs to %+v above %d", v, got, lo)
		}
	}
}
