package lab

import (
	"fmt"
	"math"
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
	fmt.Fprintf(&s, "at least %.0f %% %s", r.better*100, word)
	for _, c := range r.also {
		fmt.Fprintf(&s, " and %s %s", c.unit.Name, c.to)
	}
	fmt.Fprintf(&s, " holds; under %.0f %% fails; between is inconclusive", r.noEffect*100)
	return s.String()
}

// Judge gives the verdict for one arm. ratios has, by unit name, the arm's
// figure over the baseline's. floor is the noise floor: the largest change
// that an A/A control showed, as a share; an effect must be larger than it. The
// reason says in words why the verdict is not holds.
func (r Rule) Judge(ratios map[string]Interval, floor float64) (Verdict, string) {
	main, ok := ratios[r.unit.Name]
	if !ok {
		return NotMeasurable, "no " + r.unit.Name + " on this rig"
	}
	gainLo, gainHi := gain(main, r.unit.Better)
	need := math.Max(r.better, floor)
	if gainHi < r.noEffect {
		return Fails, fmt.Sprintf("the whole interval is under %.0f %%", r.noEffect*100)
	}
	if !(gainLo >= need) {
		if floor > r.better {
			return Inconclusive, fmt.Sprintf("the interval is not wholly above the noise floor of %.1f %%", floor*100)
		}
		return Inconclusive, fmt.Sprintf("the interval is not wholly above %.0f %%", need*100)
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

// gain is the improvement as a share, from its low to its high bound.
func gain(i Interval, better Direction) (lo, hi float64) {
	if better == Up {
		return i.Lo - 1, i.Hi - 1
	}
	return 1 - i.Hi, 1 - i.Lo
}
