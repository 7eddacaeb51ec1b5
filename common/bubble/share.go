package bubble

import (
	"math"
	"math/bits"
)

// progress is an amount of work: ns nanoseconds and frac / 2^64.
type progress struct{ ns, frac uint64 }

func (p progress) plus(q progress) progress {
	frac, carry := bits.Add64(p.frac, q.frac, 0)
	return progress{p.ns + q.ns + carry, frac}
}

// minus wants q to be no more than p.
func (p progress) minus(q progress) progress {
	frac, borrow := bits.Sub64(p.frac, q.frac, 0)
	return progress{p.ns - q.ns - borrow, frac}
}

func (p progress) less(q progress) bool {
	return p.ns < q.ns || p.ns == q.ns && p.frac < q.frac
}

// share is the progress of each of n jobs on so many cores: span * min(1,
// cores/n). It is rounded up by less than 2^-64 ns, so that a job whose work
// is done at a whole nanosecond is seen as done there, whatever was rounded on
// the way.
func share(span, cores, n uint64) progress {
	if n <= cores {
		return progress{ns: span}
	}
	hi, lo := bits.Mul64(span, cores)
	ns, rest := bits.Div64(hi, lo, n) // hi < n, as cores < n
	frac, rest := bits.Div64(rest, 0, n)
	p := progress{ns, frac}
	if rest > 0 {
		p = p.plus(progress{frac: 1})
	}
	return p
}

// span is the time in which each of n jobs makes the progress, rounded up to
// whole nanoseconds: p / min(1, cores/n). It is the longest time.Duration if
// it is more than that.
func span(p progress, cores, n uint64) uint64 {
	if n <= cores {
		cores, n = 1, 1
	}
	// p * n / cores, on three words.
	hi, lo := bits.Mul64(p.ns, n)
	carry, low := bits.Mul64(p.frac, n)
	lo, c := bits.Add64(lo, carry, 0)
	hi += c
	if hi >= cores {
		return math.MaxInt64
	}
	quo, rest := bits.Div64(hi, lo, cores)
	if rest > 0 || low > 0 {
		quo++
	}
	return min(quo, math.MaxInt64)
}
