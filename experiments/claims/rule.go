package claims

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"latlab.example/common/lab"
)

// errRule occurs when a rule can't be read.
var errRule = errors.New("not a rule")

// Rule decides a claim. It is written as one of
//
//	less 10% 5%            at least 10 % less than the other arm; under 5 % it fails
//	more 10% 5%            at least 10 % more
//	ratio 1.49 within 20%  the other arm's figure times 1.49, or off by at most 20 % of that
//	near 10%               the other arm's figure, or off by at most 10 %
//	figure 20 within 50%   the figure itself, in the claim's unit
//	at most 5              the figure itself
//	at least 50            the figure itself
//	flips 10% along keys   "less" holds at one level of that factor and fails at another
//	shrinks along layer from A to C    the effect is nearer to none at that factor's level C than at A
//	order                  the figures rise from arm to arm
type Rule struct {
	text   string
	kind   string
	value  float64  // less, more: the share; else the ratio or the figure
	within float64  // ratio, figure: a share; less, more: under which it fails
	along  string   // a factor
	ends   []string // shrinks: two of its levels
}

// String is the rule as written.
func (r Rule) String() string { return r.text }

// against says whether the rule compares with another arm.
func (r Rule) against() bool {
	switch r.kind {
	case "figure", "most", "least", "order":
		return false
	}
	return true
}

// levels says whether the rule looks along a factor.
func (r Rule) levels() bool { return r.along != "" }

// ParseRule reads a rule.
func ParseRule(text string) (Rule, error) {
	r := Rule{text: text}
	words := strings.Fields(text)
	var err error
	// number reads a word; a share ends in %.
	number := func(i int, share bool) float64 {
		digits, has := strings.CutSuffix(words[i], "%")
		v, e := strconv.ParseFloat(digits, 64)
		if e != nil || has != share || math.IsNaN(v) || v < 0 || math.IsInf(v, 0) {
			err = fmt.Errorf("claims: %w: %q: %q is no number that belongs there", errRule, text, words[i])
		}
		if share {
			v /= 100
		}
		return v
	}
	is := func(n int, at map[int]string) bool {
		if len(words) != n {
			return false
		}
		for i, w := range at {
			if words[i] != w {
				return false
			}
		}
		return true
	}
	switch {
	case is(3, map[int]string{0: "less"}), is(3, map[int]string{0: "more"}):
		r.kind, r.value, r.within = words[0], number(1, true), number(2, true)
		if err == nil && r.within > r.value {
			err = fmt.Errorf("claims: %w: %q: it fails where it holds", errRule, text)
		}
	case is(4, map[int]string{0: "ratio", 2: "within"}), is(4, map[int]string{0: "figure", 2: "within"}):
		r.kind, r.value, r.within = words[0], number(1, false), number(3, true)
	case is(2, map[int]string{0: "near"}):
		r.kind, r.value, r.within = "ratio", 1, number(1, true)
	case is(3, map[int]string{0: "at", 1: "most"}), is(3, map[int]string{0: "at", 1: "least"}):
		r.kind, r.value = words[1], number(2, false)
	case is(4, map[int]string{0: "flips", 2: "along"}):
		r.kind, r.value, r.along = "flips", number(1, true), words[3]
		r.within = r.value / 2
	case is(7, map[int]string{0: "shrinks", 1: "along", 3: "from", 5: "to"}):
		r.kind, r.along, r.ends = "shrinks", words[2], []string{words[4], words[6]}
	case is(1, map[int]string{0: "order"}):
		r.kind = "order"
	default:
		return Rule{}, fmt.Errorf("claims: %w: %q; see the documentation of Rule", errRule, text)
	}
	return r, err
}

// judge decides on one ratio or figure. floor is the largest difference, as a
// share, that two runs of one arm showed.
func (r Rule) judge(i lab.Interval, floor float64) (lab.Verdict, string) {
	if math.IsInf(i.Lo, 0) || math.IsInf(i.Hi, 0) || math.IsNaN(i.Mid) {
		return lab.Inconclusive, "too few blocks for an interval"
	}
	switch r.kind {
	case "less", "more", "flips":
		lo, hi := 1-i.Hi, 1-i.Lo // the gain
		if r.kind == "more" {
			lo, hi = i.Lo-1, i.Hi-1
		}
		lo += 1e-12 // what 1 - 0.9 loses
		switch {
		case math.IsInf(floor, 0):
			return lab.Inconclusive, "the noise floor is unknown"
		case lo >= r.value && lo > floor:
			return lab.Holds, ""
		case hi < r.within && (floor <= r.within || hi < -floor):
			return lab.Fails, ""
		case lo >= r.value || hi < r.within:
			return lab.Inconclusive, fmt.Sprintf("two runs of one arm differ by %.0f %%", 100*floor)
		}
		return lab.Inconclusive, "the interval is on both sides"
	case "most":
		return inside(i, math.Inf(-1), r.value)
	case "least":
		return inside(i, r.value, math.Inf(1))
	}
	switch {
	case r.kind == "ratio" && math.IsInf(floor, 0):
		return lab.Inconclusive, "the noise floor is unknown"
	case r.kind == "ratio" && floor > r.within:
		return lab.Inconclusive, fmt.Sprintf("two runs of one arm differ by %.0f %%", 100*floor)
	}
	return inside(i, r.value*(1-r.within), r.value*(1+r.within))
}

// inside holds if all of the interval lies between the bounds, and fails if none
// does.
func inside(i lab.Interval, lo, hi float64) (lab.Verdict, string) {
	switch {
	case i.Lo >= lo && i.Hi <= hi:
		return lab.Holds, ""
	case i.Hi < lo || i.Lo > hi:
		return lab.Fails, ""
	}
	return lab.Inconclusive, "the interval is on both sides"
}

// judgeAlong judges the ratios at a factor's levels, in its order.
func (r Rule) judgeAlong(ratios []lab.Interval, floors []float64) (lab.Verdict, string) {
	if r.kind == "shrinks" {
		first, last := away(ratios[0]), away(ratios[len(ratios)-1])
		switch {
		case math.IsInf(first.Hi, 0) || math.IsInf(last.Hi, 0):
			return lab.Inconclusive, "too few blocks for an interval"
		case last.Hi < first.Lo:
			return lab.Holds, ""
		case last.Lo > first.Hi:
			return lab.Fails, ""
		}
		return lab.Inconclusive, "the intervals overlap"
	}
	seen := make(map[lab.Verdict]bool)
	for i, x := range ratios {
		v, _ := r.judge(x, floors[i])
		seen[v] = true
	}
	switch {
	case seen[lab.Holds] && seen[lab.Fails]:
		return lab.Holds, ""
	case seen[lab.Inconclusive]:
		return lab.Inconclusive, "not every level has a clear answer"
	}
	return lab.Fails, "it is the same at every level"
}

// away is how far a ratio is from 1, on the scale of its logarithm.
func away(i lab.Interval) lab.Interval {
	lo, hi := math.Log(max(i.Lo, 0)), math.Log(i.Hi)
	if lo <= 0 && hi >= 0 {
		return lab.Interval{Lo: 0, Mid: math.Abs(math.Log(i.Mid)), Hi: max(-lo, hi)}
	}
	a, b := math.Abs(lo), math.Abs(hi)
	return lab.Interval{Lo: min(a, b), Mid: math.Abs(math.Log(i.Mid)), Hi: max(a, b)}
}

// judgeOrder holds if each figure lies wholly above the one before.
func judgeOrder(figures []lab.Interval) (lab.Verdict, string) {
	verdict, why := lab.Holds, ""
	for i := 1; i < len(figures); i++ {
		a, b := figures[i-1], figures[i]
		switch {
		case b.Hi < a.Lo:
			return lab.Fails, ""
		case !(b.Lo > a.Hi): // unknown bounds too
			verdict, why = lab.Inconclusive, "intervals overlap"
		}
	}
	return verdict, why
}
