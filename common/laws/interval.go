package laws

import (
	"fmt"
	"math"
	"strconv"
)

// Interval is what is known of a quantity: it lies from Lo to Hi, both
// included. Operations give the interval of all results that are possible, so
// if each of two intervals covers its quantity in 95 % of cases, the result
// covers in at least 90 % (Bonferroni).
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// Exact is an interval of one value.
func Exact(v float64) Interval { return Interval{v, v} }

// Mid is the middle.
func (i Interval) Mid() float64 { return i.Lo + (i.Hi-i.Lo)/2 }

// Add is the sum.
func (i Interval) Add(o Interval) Interval { return Interval{i.Lo + o.Lo, i.Hi + o.Hi} }

// Sub is the difference.
func (i Interval) Sub(o Interval) Interval { return Interval{i.Lo - o.Hi, i.Hi - o.Lo} }

// Mul is the product.
func (i Interval) Mul(o Interval) Interval {
	a, b, c, d := i.Lo*o.Lo, i.Lo*o.Hi, i.Hi*o.Lo, i.Hi*o.Hi
	return Interval{min(a, b, c, d), max(a, b, c, d)}
}

// Div is the quotient. A divisor that may be zero gives an interval without
// bounds.
func (i Interval) Div(o Interval) Interval {
	if o.Lo <= 0 && o.Hi >= 0 {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	return i.Mul(Interval{1 / o.Hi, 1 / o.Lo})
}

// Contains tells whether v lies in the interval.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// Overlaps tells whether the two have a value in common.
func (i Interval) Overlaps(o Interval) bool { return i.Lo <= o.Hi && o.Lo <= i.Hi }

// String is the value with three digits, and the bounds if they differ in them:
// "0.463 (0.44 to 0.486)".
func (i Interval) String() string {
	mid, lo, hi := digits(i.Mid()), digits(i.Lo), digits(i.Hi)
	if lo == hi {
		return mid
	}
	return fmt.Sprintf("%s (%s to %s)", mid, lo, hi)
}

// digits writes v with three significant digits and no exponent for usual
// sizes.
func digits(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e12 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
