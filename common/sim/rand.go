package sim

import "math/bits"

// golden is 2^64 divided by the golden ratio, the increment of SplitMix64
// (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64. It is a bijection.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// key turns a name into a number: FNV-1a.
func key(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h
}

// Rand is a stream of random numbers, SplitMix64, made of integers only. It
// belongs to one goroutine. See [Sim.Rand] and [Proc.Rand].
type Rand struct{ state uint64 }

// Uint64 is the next number; all are as likely.
func (r *Rand) Uint64() uint64 {
	r.state += golden
	return mix(r.state)
}

// IntN is a number from 0 to n-1; n must be positive. A number is more likely
// than another by n / 2^64 at most.
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		panic("sim: IntN of a number that isn't positive")
	}
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// Chance is true in hits of so many cases.
func (r *Rand) Chance(hits, of int) bool { return r.IntN(of) < hits }
