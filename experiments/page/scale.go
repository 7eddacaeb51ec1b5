package page

import (
	"math"
)

// scale puts values on a line from 0 to 1.
type scale struct {
	lo, hi float64
	log    bool
}

// logFrom is the ratio of the largest to the least value from which a scale that
// begins at 0 hides the small ones.
const logFrom = 25

// scaleFor covers the values: from 0 where that shows them all, else by their
// logarithm. Values that are no numbers don't count.
func scaleFor(values []float64) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case lo > hi:
		return scale{0, 1, false}
	case lo > 0 && hi > logFrom*lo:
		return logScale(lo, hi, 1.15)
	case lo >= 0 && hi == 0:
		return scale{0, 1, false}
	case lo >= 0:
		return scale{0, widen(hi), false}
	case hi <= 0:
		return scale{widen(lo), 0, false}
	}
	return scale{widen(lo), widen(hi), false}
}

// logScale leaves room at both ends, as far as there are numbers.
func logScale(lo, hi, room float64) scale {
	return scale{max(lo/room, math.SmallestNonzeroFloat64), min(hi*room, math.MaxFloat64), true}
}

// widen leaves room beyond the last value.
func widen(v float64) float64 {
	if w := v * 1.06; !math.IsInf(w, 0) {
		return w
	}
	return v
}

// at is where a value lies, within 0 and 1; what isn't a number is at 0.
func (s scale) at(v float64) float64 {
	var x float64
	if s.log {
		x = (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	} else {
		x = (v - s.lo) / (s.hi - s.lo)
	}
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// ticks are at most n round values on the scale.
func (s scale) ticks(n int) []float64 {
	if s.log {
		return s.logTicks(n)
	}
	var step float64
	for step = round125((s.hi - s.lo) / float64(n)); ; step = round125(step * 1.5) {
		if math.IsInf(step, 0) || !(step > 0) {
			return nil
		}
		if math.Floor(s.hi/step)-math.Ceil(s.lo/step)+1 <= float64(n) {
			break
		}
	}
	var all []float64
	first := math.Ceil(s.lo / step)
	for i := range n {
		if v := (first + float64(i)) * step; v <= s.hi && (i == 0 || v > all[i-1]) {
			all = append(all, v)
		} else {
			break
		}
	}
	return all
}

func (s scale) logTicks(n int) []float64 {
	for _, parts := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		var all []float64
		for e := math.Floor(math.Log10(s.lo)); e <= math.Ceil(math.Log10(s.hi)); e++ {
			for _, p := range parts {
				if v := p * math.Pow(10, e); v >= s.lo && v <= s.hi {
					all = append(all, v)
				}
			}
		}
		if len(all) <= n {
			return all
		}
		if len(parts) == 1 {
			var few []float64
			every := (len(all) + n - 1) / n
			for i := 0; i < len(all); i += every {
				few = append(few, all[i])
			}
			return few
		}
	}
	return nil
}

// round125 is the next of 1, 2, 5, 10, ... that isn't less.
func round125(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if v <= m*unit*(1+1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}
