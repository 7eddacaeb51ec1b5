package laws

import "math"

// scaled is a number that is not negative, frac x 2^exp with frac in [0.5, 1),
// or zero. Products of thousands of demands fit its range, and it needs no
// logarithm, so it loses no digits and is the same on every machine.
type scaled struct {
	frac float64
	exp  int
}

func scale(v float64) scaled {
	f, e := math.Frexp(v)
	return scaled{f, e}
}

func (a scaled) mul(b scaled) scaled {
	p := scale(a.frac * b.frac)
	if p.frac != 0 {
		p.exp += a.exp + b.exp
	}
	return p
}

func (a scaled) add(b scaled) scaled {
	if a.frac == 0 || b.frac != 0 && b.exp > a.exp {
		a, b = b, a
	}
	if b.frac == 0 || a.exp-b.exp > 64 { // b is below the last digit of a
		return a
	}
	s := scale(a.frac + math.Ldexp(b.frac, b.exp-a.exp))
	s.exp += a.exp
	return s
}

// over is a / b as a float64; b isn't zero.
func (a scaled) over(b scaled) float64 { return math.Ldexp(a.frac/b.frac, a.exp-b.exp) }

// convolve returns the sums over j of a[j] b[n-j], for each n.
func convolve(a, b []scaled) []scaled {
	out := make([]scaled, len(a))
	for n := range out {
		// All terms are brought to the exponent of the largest.
		top := math.MinInt
		for j := range n + 1 {
			if x, y := a[j], b[n-j]; x.frac != 0 && y.frac != 0 {
				top = max(top, x.exp+y.exp)
			}
		}
		sum := 0.0
		for j := range n + 1 {
			x, y := a[j], b[n-j]
			if d := x.exp + y.exp - top; -128 < d && d <= 0 { // less is below the last digit of any sum, more has a zero
				// The conversions keep arm64 from fusing, so that all machines agree.
				sum += float64(float64(x.frac*y.frac) * math.Float64frombits(uint64(1023+d)<<52)) // x 2^d
			}
		}
		out[n] = scale(sum)
		if sum != 0 {
			out[n].exp += top
		}
	}
	return out
}
