package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdict is the answer of a rule, or to a claim, by where the interval lies.
type Verdict string

// The four verdicts.
const (
	Holds         Verdict = "holds"
	Fails         Verdict = "fails"
	Inconclusive  Verdict = "inconclusive"
	NotMeasurable Verdict = "not measurable here"
)

// Interval is a ratio (arm / baseline) with the interval that it lies in. An
// unknown bound is infinite.
type Interval struct{ Lo, Mid, Hi float64 }

// Rule decides an experiment. It is fixed before the run. It judges the arms of
// the experiment's first factor, each against that factor's baseline with all
// other levels equal.
type Rule struct {
	unit     Unit
	better   float64
	noEffect float64
	also     []condition
}

type condition struct {
	unit Unit
	to   Direction
}

// Faster is the rule that an arm takes at least this share less time an
// operation: Faster(0.10) is 10 % less.
func Faster(share float64) Rule { return Better(SecPerOp, share) }

// Better is the rule that a figure is better than the baseline's by at least
// this share, in the unit's own direction.
func Better(u Unit, share float64) Rule { return Rule{unit: u, better: share, noEffect: share} }

// NoEffectUnder says under which share of change the rule fails. Between the
// two shares it is inconclusive.
func (r Rule) NoEffectUnder(share float64) Rule { r.noEffect = share; return r }

// Also demands that another figure moves in this direction too.
func (r Rule) Also(u Unit, to Direction) Rule {
	r.also = append(r.also[:len(r.also):len(r.also)], condition{u, to})
	return r
}

// Unit is the figure that the rule judges first.
func (r Rule) Unit() Unit { return r.unit }

// Units are all the figures that the rule reads.
func (r Rule) Units() []Unit {
	units := []Unit{r.unit}
	for _, c := range r.also {
		units = append(units, c.unit)
	}
	return units
}

// IsZero says that the experiment has no rule.
func (r Rule) IsZero() bool { return r.unit.Name == "" }

func (r Rule) String() string {
	if r.IsZero() {
		return "no rule"
	}
	word := "better " + r.unit.Name
	if r.unit == SecPerOp {
		word = "faster"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "at least %s %s", whole(r.better), word)
	for _, c := range r.also {
		fmt.Fprintf(&s, " and %s %s", c.unit.Name, c.to)
	}
	fmt.Fprintf(&s, " holds; under %s fails; between is inconclusive", whole(r.noEffect))
	return s.String()
}

// Judge gives the verdict for one arm. ratios has, by unit name, the arm's
// figure over the baseline's. floor is the noise floor: the largest gain that an
// A/A control showed, as a share; infinite if it is unknown. A gain must be
// larger than it, and a rule fails only where the noise can't hide the gain. The
// reason names what decided, and is empty if the verdict is holds.
func (r Rule) Judge(ratios map[string]Interval, floor float64) (Verdict, string) {
	main, ok := ratios[r.unit.Name]
	if !ok {
		return NotMeasurable, "no " + r.unit.Name + " on this rig"
	}
	gainLo, gainHi := gain(main, r.unit.Better)
	if gainHi < -loss(floor, r.unit.Better) {
		return Fails, "it is worse, not better"
	}
	if gainHi < r.noEffect {
		switch {
		case math.IsInf(floor, 1):
			return Inconclusive, "the noise floor is unknown"
		case floor > r.noEffect:
			return Inconclusive, fmt.Sprintf("the noise floor of %s %% hides an effect of %s", apart(1, floor, r.noEffect), whole(r.noEffect))
		}
		return Fails, fmt.Sprintf("the gain is at most %s %%, under %s", apart(1, gainHi, r.noEffect), whole(r.noEffect))
	}
	if !(gainLo >= math.Max(r.better, floor)) {
		return Inconclusive, r.between(gainLo, gainHi, floor)
	}
	for _, c := range r.also {
		other, ok := ratios[c.unit.Name]
		if !ok {
			return NotMeasurable, "no " + c.unit.Name + " on this rig"
		}
		if c.to == Up && !(other.Lo > 1) || c.to == Down && !(other.Hi < 1) {
			return Inconclusive, fmt.Sprintf("%s did not clearly go %s", c.unit.Name, c.to)
		}
	}
	return Holds, ""
}

// between says why a gain neither holds nor fails.
func (r Rule) between(lo, hi, floor float64) string {
	unknown := func(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) }
	switch {
	case unknown(lo) || unknown(hi):
		return "the interval of the gain is unknown"
	case unknown(floor):
		return "the noise floor is unknown"
	}
	limits := []float64{r.better, r.noEffect}
	if floor > r.better {
		limits = []float64{floor}
	}
	text, wholly := apart(2, lo, limits...), ""
	if lo != hi {
		text, wholly = "["+text+", "+apart(2, hi, limits...)+"]", "wholly "
	}
	if floor > r.better {
		return fmt.Sprintf("the gain of %s %% is not %sabove the noise floor of %.1f %%", text, wholly, floor*100)
	}
	return fmt.Sprintf("the gain of %s %% is neither %sabove %s nor %sunder %s", text, wholly, whole(r.better), wholly, whole(r.noEffect))
}

// apart writes a share in per cent with so many decimals, or with as many more
// as it takes to tell it from limits that it differs from.
func apart(decimals int, share float64, limits ...float64) string {
	for ; decimals < 6; decimals++ {
		text := fmt.Sprintf("%.*f", decimals, share*100)
		if !slices.ContainsFunc(limits, func(l float64) bool { return l != share && fmt.Sprintf("%.*f", decimals, l*100) == text }) {
			break
		}
	}
	return fmt.Sprintf("%.*f", decimals, share*100)
}

// whole writes a rule's share.
func whole(share float64) string { return fmt.Sprintf("%.4g %%", share*100) }

// loss is the noise floor the other way round. A control that seemed to take
// half the time seems, with the twins swapped, to take twice the time: as a gain
// that is 50 %, as a loss 100 %.
func loss(floor float64, better Direction) float64 {
	switch {
	case math.IsInf(floor, 1):
		return floor
	case better == Up:
		return floor / (1 + floor)
	case floor >= 1:
		return math.Inf(1)
	}
	return floor / (1 - floor)
}

// gain is the improvement as a share, from its low to its high bound. It is
// rounded far below what can be measured, so that 90 writes of 100 are the
// 10 % less that a rule asks for, and not 2e-17 short of it.
func gain(i Interval, better Direction) (lo, hi float64) {
	round := func(v float64) float64 { return math.Round(v*1e12) / 1e12 }
	if better == Up {
		return round(i.Lo - 1), round(i.Hi - 1)
	}
	return round(1 - i.Hi), round(1 - i.Lo)
}
