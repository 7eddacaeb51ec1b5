package stats

import (
	"math"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
)

// Effect is what an arm does against its reference arm.
type Effect struct {
	Reference lab.Arm
	// Provenance is the reference's. If it isn't the row's own, one of the two
	// is simulated, and so the effect counts as modelled.
	Provenance lab.Provenance
	Ratios     map[string]lab.Interval // arm over reference, by unit name
	// P is of the analysis' unit; Holm is P corrected for the judged arms of the
	// table, or NaN if this arm isn't judged. Neither decides a verdict.
	P, Holm float64
	// Judged says that the rule applies: the arm differs from its reference in
	// the experiment's first factor and nothing else.
	Judged  bool
	Verdict lab.Verdict
	Reason  string // why the verdict is not "holds"
}

var unknown = lab.Interval{Lo: math.Inf(-1), Mid: math.NaN(), Hi: math.Inf(1)}

// ratio is the median of the per-block ratios arm/reference with its interval,
// over complete blocks. Where the reference is 0 and the arm isn't there is no
// ratio, and the interval is unknown; two zeros are equal.
func ratio(u lab.Unit, arm, ref runner.Row, blocks int) lab.Interval {
	of, _ := arm.Values(u)
	by, _ := ref.Values(u)
	var ratios []float64
	for b := range blocks {
		v, ok1 := of[b]
		w, ok2 := by[b]
		switch {
		case !ok1 || !ok2:
		case v == w:
			ratios = append(ratios, 1)
		case w == 0:
			return unknown
		default:
			ratios = append(ratios, v/w)
		}
	}
	if len(ratios) == 0 {
		return unknown
	}
	s := Sample{Unit: u, Values: ratios}.Summarize()
	return lab.Interval{Lo: s.Lo, Mid: s.Mid, Hi: s.Hi}
}

// ratios are those of all units that both rows have.
func ratios(units []lab.Unit, arm, ref runner.Row, blocks int) map[string]lab.Interval {
	all := make(map[string]lab.Interval)
	for _, u := range units {
		_, a := arm.Values(u)
		_, b := ref.Values(u)
		if len(a) > 0 && len(b) > 0 {
			all[u.Name] = ratio(u, arm, ref, blocks)
		}
	}
	return all
}

// noiseFloor is the largest gain in the control's interval, as a share, in the
// unit's own direction. Which of the twins is called the baseline is arbitrary,
// so the interval counts both ways round: a control of [0.5, 2] is a gain of at
// most 50 % of time, or of 100 % of throughput. It is infinite if a bound is
// unknown.
func noiseFloor(u lab.Unit, control lab.Interval) float64 {
	if unbounded(control) {
		return math.Inf(1)
	}
	factor := max(control.Hi, 1/control.Lo)
	if u.Better == lab.Up {
		return factor - 1
	}
	return 1 - 1/factor
}

func unbounded(i lab.Interval) bool { return math.IsInf(i.Lo, 0) || math.IsInf(i.Hi, 0) }

// reference is the row that an arm is set against: the arm with the first
// factor at the baseline's level and all others equal; for an arm that is at
// that level, the baseline. judged says which it is. A reference without
// figures is none.
func reference(set runner.Set, arm lab.Arm) (ref runner.Row, judged, ok bool) {
	base := set.Rows[0].Arm
	want, judged := base, false
	if len(set.Experiment.Factors) > 0 {
		first := set.Experiment.Factors[0].Name()
		level, _ := base.Level(first)
		if own, _ := arm.Level(first); own != level {
			at, err := arm.At(first, level)
			if err != nil {
				return runner.Row{}, false, false
			}
			want, judged = at, true
		}
	}
	for _, r := range set.Rows {
		if !r.Control && r.Arm.String() == want.String() && len(r.Trials) > 0 {
			return r, judged, want.String() != arm.String()
		}
	}
	return runner.Row{}, judged, false
}
