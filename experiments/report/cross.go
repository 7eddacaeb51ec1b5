package report

import (
	"fmt"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

// crossed prints what factors do together that were varied together.
func (p *page) crossed() {
	c := p.Analysis.Crossed
	if len(c.Interactions) == 0 {
		return
	}
	p.linef("")
	p.linef("TOGETHER (%s): what two settings do at once, against the product of what each does alone", p.Analysis.Unit.Name)
	rows := [][]string{{"provenance", "setting", "and", "alone", "alone", "expected", "together", "interaction", ""}}
	for _, i := range c.Interactions {
		word := "-"
		if i.Misleads(p.Analysis.Floor) {
			word = "one at a time misleads"
		}
		rows = append(rows, []string{
			i.Provenance.String(), i.A.String(), i.B.String(), Percent(i.AloneA.Mid), Percent(i.AloneB.Mid),
			Percent(i.Expected.Mid), Percent(i.Together.Mid), factor(i.Ratio), word,
		})
	}
	p.out.WriteString(align(rows))
	if len(c.Main) == 0 {
		return
	}
	p.linef("main effects, over all combinations of the other factors:")
	rows = nil
	for _, m := range c.Main {
		rows = append(rows, []string{"  " + m.Provenance.String(), m.String(), Change(m.Ratio), fmt.Sprintf("over %d combinations", m.Combinations)})
	}
	p.out.WriteString(align(rows))
}

// factor writes a ratio as a factor with its interval: x1.50 [1.48, 1.53].
func factor(i lab.Interval) string {
	s := stats.Summary{Lo: i.Lo, Mid: i.Mid, Hi: i.Hi}
	return "x" + Summary(lab.Unit{Name: "ratio"}, s)
}
