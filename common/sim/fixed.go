package sim

import "math/bits"

//go:generate go run gen.go

// Fixed-point numbers with 56 digits after the point. Logarithms, powers and
// quantiles come from tables and are linear between their entries, so that every
// machine draws the same: math.Exp and math.Pow differ between amd64 and
// WebAssembly, and arm64 fuses a multiplication with an addition.
const fixedBits = 56

// negLog2 is the binary logarithm of u / 2^64, negated, for u > 0. It is at most
// 3e-6 off.
func negLog2(u uint64) uint64 {
	zeros := bits.LeadingZeros64(u)
	m := u << zeros << 1 // the fraction of a number in [1, 2)
	return uint64(zeros+1)<<fixedBits - between(&log2Table, m)
}

// negLn is the same as a natural logarithm.
func negLn(u uint64) uint64 { return mul(negLog2(u), ln2) }

// ln2 is the natural logarithm of 2.
const ln2 = 0xb17217f7d1cf7a

// between is the value of a table of 256 steps at the fraction f.
func between(table *[257]uint64, f uint64) uint64 {
	i := f >> 56
	hi, _ := bits.Mul64(table[i+1]-table[i], f<<8)
	return table[i] + hi
}

// mul is the product of two numbers; what has no room becomes the largest one.
func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= 1<<(fixedBits-1) {
		return 1<<63 - 1
	}
	return hi<<(64-fixedBits) | lo>>fixedBits
}

// mulSigned is the product of a number that isn't negative and one that may be.
func mulSigned(a, b int64) int64 {
	if b < 0 {
		return -int64(mul(uint64(a), uint64(-b)))
	}
	return int64(mul(uint64(a), uint64(b)))
}

// ratio is a / b for a not negative, b positive and a quotient that has room.
func ratio(a, b int64) int64 {
	quo, _ := bits.Div64(uint64(a)>>(64-fixedBits), uint64(a)<<fixedBits, uint64(b))
	return int64(quo)
}

// times is n nanoseconds times a number, rounded down, at most the longest time.
func times(n int64, f uint64) int64 { return int64(mul(uint64(n), f)) }

// timesExp2 is n times 2^e, at most the longest time, which an e of 56 gives.
func timesExp2(n, e int64) int64 {
	whole := e >> fixedBits // towards minus infinity
	hi, lo := bits.Mul64(uint64(n), between(&exp2Table, uint64(e-whole<<fixedBits)<<(64-fixedBits)))
	shift := fixedBits - whole
	switch {
	case shift >= 128:
		return 0
	case shift >= 64:
		return int64(hi >> (shift - 64))
	case shift <= 0 || hi>>(shift-1) != 0:
		return 1<<63 - 1
	}
	return int64(hi<<(64-shift) | lo>>shift)
}

// log2Ratio is log2(a / b) for positive a and b.
func log2Ratio(a, b int64) int64 { return int64(negLog2(uint64(b)) - negLog2(uint64(a))) }

// normal draws from the standard normal distribution, in parts of 2^-56. The
// density is flat within steps of 1/32, and nothing is beyond 9.
func normal(r *Rand) int64 {
	u := r.Uint64()
	negative := u&1 == 1
	u = u>>1 | 1 // up to 2^63, the probability of a half
	// The last step whose tail is u or more: tailTable falls.
	lo, hi := 0, len(tailTable)-1
	for lo < hi-1 {
		if mid := (lo + hi) / 2; tailTable[mid] >= u {
			lo = mid
		} else {
			hi = mid
		}
	}
	above, below := tailTable[lo], tailTable[hi]
	u = max(u, below)
	part, _ := bits.Div64(above-u, 0, above-below+1) // of the step, in 2^-64
	z := int64(lo)<<(fixedBits-5) + int64(part>>(64-fixedBits+5))
	if negative {
		return -z
	}
	return z
}
