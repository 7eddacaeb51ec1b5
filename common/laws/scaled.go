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
		for j := range n + 1 {
			out[n] = out[n].add(a[j].mul(b[n-j]))
		}
	}
	return out
}
