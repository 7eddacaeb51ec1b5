package emu

import "math/bits"

// golden is 2^64 divided by the golden ratio, the increment of SplitMix64
// (Steele, Lea and Flood, 2014).
const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64. It is a bijection.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform is the n-th value, from 0 on, of the SplitMix64 stream of key.
func uniform(key, n uint64) uint64 {
	return mix(mix(key+golden) + (n+1)*golden)
}

// Key turns a name into a key for [Latency.Draw]. It is FNV-1a, 64 bits.
func Key(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h
}

// lnBits is the number of fraction bits of negLn.
const lnBits = 40

// negLn is -ln(u / 2^64) in units of 2^-40, for u > 0; its largest value is
// 64 ln 2. It uses integers only, so that it is the same on every machine:
// the whole bits of log2 are leading zeros, the others come from squaring.
func negLn(u uint64) uint64 {
	const ln2 = 0xb17217f7d1cf79ac // ln 2, in units of 2^-64
	zeros := bits.LeadingZeros64(u)
	m := u << zeros // in [2^63, 2^64), stands for [1, 2)
	var frac uint64 // log2(m)
	for range lnBits {
		hi, lo := bits.Mul64(m, m)
		frac <<= 1
		if hi>>63 == 1 { // the square is 2 or more
			frac |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	hi, _ := bits.Mul64(uint64(zeros+1)<<lnBits-frac, ln2)
	return hi
}
