package results

import (
	"math"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/stats"
)

// Unit is a figure's name and which way is better.
type Unit struct {
	Name   string `json:"name"`
	Better string `json:"better"` // up or down
	Exact  bool   `json:"exact,omitempty"`
}

// Lab is the unit as the experiment declared it.
func (u Unit) Lab() lab.Unit {
	unit := lab.Unit{Name: u.Name, Better: lab.Down, Exact: u.Exact}
	if u.Better == lab.Up.String() {
		unit.Better = lab.Up
	}
	return unit
}

func newUnits(units []lab.Unit) []Unit {
	var all []Unit
	for _, u := range units {
		all = append(all, Unit{u.Name, u.Better.String(), u.Exact})
	}
	return all
}

// Effect is what an arm did against its reference when the run was judged.
type Effect struct {
	Reference           string              `json:"reference"`
	ReferenceProvenance string              `json:"reference_provenance"`
	Ratios              map[string]Interval `json:"ratios"` // arm over reference, by unit
	P                   *float64            `json:"p"`
	Holm                *float64            `json:"p_holm"` // null if the arm isn't judged
	Judged              bool                `json:"judged"` // else the rule is about another factor, and there is no verdict
	Verdict             lab.Verdict         `json:"verdict,omitempty"`
	Reason              string              `json:"reason,omitempty"` // why the verdict is not "holds"
}

func newEffect(e *stats.Effect) *Effect {
	out := &Effect{
		Reference: e.Reference.String(), ReferenceProvenance: e.Provenance.String(), Ratios: make(map[string]Interval),
		P: finite(e.P), Holm: finite(e.Holm), Judged: e.Judged, Verdict: e.Verdict, Reason: e.Reason,
	}
	for unit, i := range e.Ratios {
		out.Ratios[unit] = NewInterval(i)
	}
	return out
}

// Interval is a ratio with the interval that it lies in; null is unknown.
type Interval struct {
	Lo  *float64 `json:"lo"`
	Mid *float64 `json:"mid"`
	Hi  *float64 `json:"hi"`
}

// NewInterval is an interval as it is written.
func NewInterval(i lab.Interval) Interval {
	return Interval{finite(i.Lo), finite(i.Mid), finite(i.Hi)}
}

// Lab is the interval with what is unknown as NaN in the middle and infinite at
// the ends.
func (i Interval) Lab() lab.Interval {
	return lab.Interval{Lo: or(i.Lo, math.Inf(-1)), Mid: or(i.Mid, math.NaN()), Hi: or(i.Hi, math.Inf(1))}
}

func or(v *float64, unknown float64) float64 {
	if v == nil {
		return unknown
	}
	return *v
}

// finite is nil for what JSON can't hold.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// Timeline is one operation of an arm, the one with the median time of some: of the
// uncounted warm-up, or in virtual time, which needs none, of the first block. It
// is for pictures; figures come from trials.
type Timeline struct {
	Stages []string `json:"stages"`
	Took   int64    `json:"took_ns"`
	// Intervals are stage (an index of Stages), track, and from and to in
	// nanoseconds since the operation began.
	Intervals [][4]int64 `json:"intervals"`
}

// maxIntervals is how many intervals of a timeline are written: an operation with
// more is no picture any more.
const maxIntervals = 2500

// NewTimeline is a timeline as it is written: nil if it is empty, too long or
// unsound.
func NewTimeline(t metrics.Timeline) *Timeline {
	if t.Set == nil || len(t.Intervals) > maxIntervals || t.To <= t.From || t.Check() != nil {
		return nil
	}
	out := &Timeline{Took: t.To - t.From, Intervals: [][4]int64{}}
	for s := range t.Set.Len() {
		out.Stages = append(out.Stages, t.Set.Stage(metrics.Stage(s)))
	}
	for _, iv := range t.Intervals {
		out.Intervals = append(out.Intervals, [4]int64{int64(iv.Stage), int64(iv.Track), iv.From - t.From, iv.To - t.From})
	}
	return out
}

// sound says that each interval lies within the operation and names a stage.
func (t Timeline) sound() bool {
	if t.Took <= 0 || len(t.Stages) == 0 || len(t.Stages) > maxList || len(t.Intervals) > maxIntervals {
		return false
	}
	for _, iv := range t.Intervals {
		if iv[0] < 0 || iv[0] >= int64(len(t.Stages)) || iv[1] < 0 || iv[2] < 0 || iv[3] < iv[2] || iv[3] > t.Took {
			return false
		}
	}
	return true
}
