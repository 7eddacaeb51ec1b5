package report

import (
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

// flips says for each judged level how its verdict runs along the levels of
// another factor, where the table has three or more of these:
//
//	strategy=batch along channels: fails at 1, 2, 4; holds at 8, 16
//
// All other levels are those of the baseline.
func (p *page) flips(t stats.Table) []string {
	e := p.Set.Experiment
	if len(e.Factors) == 0 {
		return nil
	}
	treatment := e.Factors[0].Name()
	base := p.baseline()
	var lines []string
	for _, along := range e.FactorsOn(p.Set.Rig)[1:] {
		for i := range e.Factors[0].Len() {
			level := e.Factors[0].Label(i)
			var steps []step
			for j := range along.Len() {
				at := along.Label(j)
				for _, r := range t.Rows {
					if r.Effect != nil && r.Effect.Judged && isAt(r.Arm, base, treatment, level, along.Name(), at) {
						steps = append(steps, step{at, r.Effect.Verdict})
					}
				}
			}
			if len(steps) >= 3 {
				lines = append(lines, fmt.Sprintf("%s=%s along %s: %s", treatment, level, along.Name(), runs(steps)))
			}
		}
	}
	return lines
}

// step is the verdict at one level of the factor that is followed.
type step struct {
	at      string
	verdict lab.Verdict
}

// isAt says that the arm has these two levels and is the baseline otherwise.
func isAt(a, base lab.Arm, treatment, level, along, at string) bool {
	for name, label := range a.All() {
		want, _ := base.Level(name)
		switch name {
		case treatment:
			want = level
		case along:
			want = at
		}
		if label != want {
			return false
		}
	}
	return true
}

// runs folds neighbours of one verdict.
func runs(steps []step) string {
	var parts []string
	for len(steps) > 0 {
		n := slices.IndexFunc(steps, func(s step) bool { return s.verdict != steps[0].verdict })
		if n < 0 {
			n = len(steps)
		}
		var at []string
		for _, s := range steps[:n] {
			at = append(at, s.at)
		}
		parts = append(parts, fmt.Sprintf("%s at %s", steps[0].verdict, strings.Join(at, ", ")))
		steps = steps[n:]
	}
	return strings.Join(parts, "; ")
}
