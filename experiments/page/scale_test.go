package page

import (
	"math"
	"testing"
	"testing/quick"
)

// Ticks are few, rise, and lie on the scale; each value has its place between 0
// and 1, and a larger one none before it.
func TestScale(t *testing.T) {
	f := func(values []float64, a, b float64) bool {
		for _, s := range []scale{scaleFor(values), ratioScale(values)} {
			last := math.Inf(-1)
			ticks := s.ticks(5)
			for _, v := range ticks {
				if !(v > last) || v < s.lo-1e-9*math.Abs(s.lo) || v > s.hi+1e-9*math.Abs(s.hi) {
					t.Logf("%v: ticks %v", s, ticks)
					return false
				}
				last = v
			}
			if len(ticks) > 5 {
				t.Logf("%v: %d ticks", s, len(ticks))
				return false
			}
			lo, hi := s.at(min(a, b)), s.at(max(a, b))
			if !(0 <= lo && lo <= hi && hi <= 1) {
				t.Logf("%v: %v is at %v, %v at %v", s, min(a, b), lo, max(a, b), hi)
				return false
			}
		}
		return true
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
	for _, values := range [][]float64{nil, {0}, {5}, {-5}, {-1, 1}, {1, 1000}, {1e-300, 1e300}, {5e-324}, {math.MaxFloat64, -math.MaxFloat64}, {math.NaN(), math.Inf(1), 2}} {
		if !f(values, 1, 2) {
			t.Errorf("values %v", values)
		}
	}
}

func TestScaleForShowsSmallValues(t *testing.T) {
	if s := scaleFor([]float64{1, 20}); s.log || s.lo != 0 {
		t.Errorf("1 to 20 on %+v; want a scale from 0", s)
	}
	if s := scaleFor([]float64{1, 200}); !s.log {
		t.Errorf("1 to 200 on %+v; want logarithms", s)
	}
}
