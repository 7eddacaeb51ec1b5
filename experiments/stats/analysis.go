package stats

import (
	"fmt"
	"math"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
)

// Analysis is what the figures of a set say.
type Analysis struct {
	Unit    lab.Unit     // that effects, p-values and the noise floor are about: the rule's, else lab.SecPerOp
	Control lab.Interval // the A/A control's ratio of Unit
	Floor   float64      // the noise floor as a share; infinite if unknown
	Blocks  int          // that were paired
	Tables  []Table      // one a provenance, modelled first; none without rows
	Crossed Crossed      // empty unless factors were varied together
}

// Table has the arms of one provenance.
type Table struct {
	Provenance lab.Provenance
	Rows       []Row
}

// Row is one arm's figures.
type Row struct {
	runner.Row
	Figures map[string]Summary // by unit name
	Effect  *Effect            // nil for the baseline, or where the reference has no figures
}

// Analyse works out medians, effects and verdicts. Medians and p-values use all
// trials, paired ratios only those of complete blocks.
func Analyse(set runner.Set) Analysis {
	a := Analysis{Unit: lab.SecPerOp, Blocks: set.Blocks}
	if !set.Experiment.Rule.IsZero() {
		a.Unit = set.Experiment.Rule.Unit()
	}
	a.Control = ratio(a.Unit, set.Control(), set.Rows[0], set.Blocks)
	a.Floor = noiseFloor(a.Unit, a.Control)
	for _, p := range []lab.Provenance{lab.Modelled, lab.Measured} {
		t := Table{Provenance: p}
		for _, r := range set.Rows {
			if !r.Control && len(r.Trials) > 0 && r.Stamp.Provenance == p {
				t.Rows = append(t.Rows, a.row(set, r))
			}
		}
		if len(t.Rows) > 0 {
			t.correct()
			a.Tables = append(a.Tables, t)
		}
	}
	a.Crossed = crossed(set, a.Unit)
	return a
}

func (a Analysis) row(set runner.Set, r runner.Row) Row {
	row := Row{Row: r, Figures: make(map[string]Summary)}
	units := set.Experiment.AllUnits()
	for _, u := range units {
		if _, values := r.Values(u); len(values) > 0 {
			row.Figures[u.Name] = Sample{Unit: u, Values: values}.Summarize()
		}
	}
	ref, judged, ok := reference(set, r.Arm)
	if !ok {
		return row
	}
	_, own := r.Values(a.Unit)
	_, other := ref.Values(a.Unit)
	e := &Effect{
		Reference: ref.Arm, Provenance: ref.Stamp.Provenance,
		Ratios: ratios(units, r, ref, set.Blocks), P: pValue(a.Unit, own, other),
		Judged: judged && !set.Experiment.Rule.IsZero(),
	}
	if e.Judged {
		e.Verdict, e.Reason = a.judge(set.Experiment.Rule, e.Ratios)
	}
	row.Effect = e
	return row
}

// judge asks the rule, and says it in words where an interval or the noise floor
// is unknown.
func (a Analysis) judge(rule lab.Rule, ratios map[string]lab.Interval) (lab.Verdict, string) {
	verdict, reason := rule.Judge(ratios, a.Floor)
	if verdict != lab.Inconclusive {
		return verdict, reason
	}
	i := ratios[a.Unit.Name]
	switch need := NeedBlocks(); {
	case a.Blocks < need && (unbounded(i) || math.IsInf(a.Floor, 0)):
		return verdict, fmt.Sprintf("%d complete blocks; an interval needs at least %d", a.Blocks, need)
	case unbounded(i):
		return verdict, fmt.Sprintf("the reference's %s is 0, so there is no ratio", a.Unit.Name)
	case math.IsInf(a.Floor, 0):
		return verdict, "the noise floor is unknown: the A/A control has no figures"
	}
	return verdict, reason
}

// correct fills in the p-values that are corrected for the table's judged arms.
// The others answer no question, and so don't make the correction harder.
func (t Table) correct() {
	var p []float64
	var judged []*Effect
	for _, r := range t.Rows {
		if e := r.Effect; e != nil {
			if e.Holm = math.NaN(); e.Judged {
				p, judged = append(p, e.P), append(judged, e)
			}
		}
	}
	for i, corrected := range Holm(p) {
		judged[i].Holm = corrected
	}
}

// Within says that the interval of the control and of every judged effect reaches
// no further from its middle than this share, in the analysis' unit. It looks at
// widths alone, so a run may end when it is true.
func (a Analysis) Within(share float64) bool {
	narrow := func(i lab.Interval) bool { return !unbounded(i) && i.Hi <= i.Mid*(1+share) && i.Lo >= i.Mid*(1-share) }
	if !narrow(a.Control) {
		return false
	}
	for _, t := range a.Tables {
		for _, r := range t.Rows {
			if e := r.Effect; e != nil && e.Judged && !narrow(e.Ratios[a.Unit.Name]) {
				return false
			}
		}
	}
	return true
}
