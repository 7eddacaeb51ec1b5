package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

// Text writes the run's tables. It returns the error of w.
func Text(w io.Writer, r Run) error {
	p := &page{Run: r}
	p.head()
	for _, t := range r.Analysis.Tables {
		p.linef("")
		p.linef("%s", heading(t.Provenance))
		p.figures(t)
		p.stages(t)
		p.assumptions(t)
	}
	p.refused()
	p.foot()
	_, err := w.Write(p.out.Bytes())
	return err
}

// page is a text in the making.
type page struct {
	Run
	out bytes.Buffer
}

func (p *page) linef(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *page) head() {
	s := p.Set
	p.linef("%s on rig %s (%s): %s", s.Experiment.Name, s.Rig.Name(), s.Rig.Kind(), s.Experiment.Question)
	p.linef("rule      %s", s.Experiment.Rule)
	p.linef("baseline  %s", strings.ReplaceAll(p.baseline().String(), "/", " "))
	p.linef("run       %d of %d blocks in %v, seed %d", s.Blocks, s.Config.Blocks, s.Took.Round(100*time.Millisecond), s.Config.Seed)
	if s.Interrupted {
		p.linef("          interrupted: only complete blocks are paired")
	}
	if s.OverBudget {
		p.linef("          stopped early: the budget of %v is spent", s.Config.Budget)
	}
}

// outcomes are the units beside the time that an arm of the table has.
func (p *page) outcomes(t stats.Table) []lab.Unit {
	var units []lab.Unit
	for _, u := range p.Set.Experiment.AllUnits()[1:] {
		if slices.ContainsFunc(t.Rows, func(r stats.Row) bool { _, ok := r.Figures[u.Name]; return ok }) {
			units = append(units, u)
		}
	}
	return units
}

// wide is how many columns a table may have before its outcomes get a table of
// their own.
const wide = 100

// figures has a row an arm: its time, its effect, and the outcomes if they fit.
func (p *page) figures(t stats.Table) {
	outcomes := p.outcomeCells(t)
	main := p.mainCells(t)
	var one [][]string
	for i, row := range main {
		last := len(row) - 1 // the verdict
		one = append(one, slices.Concat(row[:last], outcomes[i][2:], row[last:]))
	}
	if text := align(one); width(text) <= wide {
		p.out.WriteString(text)
		p.reasons(t)
		return
	}
	p.out.WriteString(align(main))
	p.reasons(t)
	p.linef("outcomes (medians):")
	p.out.WriteString(align(outcomes))
}

func (p *page) mainCells(t stats.Table) [][]string {
	effect := "effect"
	if p.Analysis.Unit != lab.SecPerOp {
		effect += " on " + p.Analysis.Unit.Name
	}
	rows := [][]string{{"provenance", "arm", lab.SecPerOp.Name, effect, "p", "p Holm", "verdict"}}
	for _, r := range t.Rows {
		row := []string{t.Provenance.String(), p.rowName(r.Arm, false), Summary(lab.SecPerOp, r.Figures[lab.SecPerOp.Name])}
		verdict := "-"
		if e := r.Effect; e == nil {
			row = append(row, "-", "-", "-")
		} else {
			row = append(row, p.effect(t, e), P(e.P), P(e.Holm))
			if e.Judged {
				verdict = string(e.Verdict)
			}
		}
		rows = append(rows, append(row, verdict))
	}
	return rows
}

func (p *page) outcomeCells(t stats.Table) [][]string {
	units := p.outcomes(t)
	head := []string{"provenance", "arm"}
	for _, u := range units {
		head = append(head, u.Name)
	}
	rows := [][]string{head}
	for _, r := range t.Rows {
		row := []string{t.Provenance.String(), p.rowName(r.Arm, false)}
		for _, u := range units {
			if s, ok := r.Figures[u.Name]; ok {
				row = append(row, fmt.Sprintf("%.4g", s.Mid))
			} else {
				row = append(row, "-")
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// effect names the reference's provenance where it isn't the table's.
func (p *page) effect(t stats.Table, e *stats.Effect) string {
	i, ok := e.Ratios[p.Analysis.Unit.Name]
	if !ok {
		return "-"
	}
	s := Change(i)
	if e.Provenance != t.Provenance {
		s += " vs " + e.Provenance.String()
	}
	return s
}

// reasons say why a verdict isn't "holds", and what an effect is against.
func (p *page) reasons(t stats.Table) {
	mixed := false
	for _, r := range t.Rows {
		name := p.rowName(r.Arm, false)
		if e := r.Effect; e != nil {
			if e.Reason != "" {
				p.linef("  %s %s: %s", name, e.Verdict, e.Reason)
			}
			if ref := p.rowName(e.Reference, false); ref != "baseline" {
				p.linef("  %s: its effect is against %s", name, ref)
			}
			mixed = mixed || e.Provenance != t.Provenance
		} else if name != "baseline" {
			p.linef("  %s: no effect, since the arm to set it against has no figures", name)
		}
		for _, u := range p.Set.Experiment.AllUnits() {
			if warning := r.Figures[u.Name].Warning; warning != "" {
				p.linef("  %s %s: %s", name, u.Name, warning)
			}
		}
	}
	if mixed {
		p.linef("  An effect between a modelled and a measured arm is a modelled figure: one side is simulated.")
	}
}

// stages are each arm's shares of the critical path.
func (p *page) stages(t stats.Table) {
	var rows [][]string
	for _, r := range t.Rows {
		path := r.Path()
		if path.Ops == 0 {
			continue
		}
		head, row := []string{"provenance", "arm"}, []string{t.Provenance.String(), p.rowName(r.Arm, false)}
		for _, s := range path.Rows() {
			head, row = append(head, s.Stage), append(row, fmt.Sprintf("%.1f%%", s.Percent))
		}
		if rows == nil {
			rows = append(rows, head)
		}
		rows = append(rows, row)
	}
	if rows != nil {
		p.linef("where the time went (critical path):")
		p.out.WriteString(align(rows))
	}
}

// assumptions are what the table's figures take for granted, with the arm where
// not all arms do.
func (p *page) assumptions(t stats.Table) {
	var order []string
	holders := make(map[string][]string)
	for _, r := range t.Rows {
		for _, a := range r.Stamp.Assumptions {
			if holders[a] == nil {
				order = append(order, a)
			}
			holders[a] = append(holders[a], p.rowName(r.Arm, false))
		}
	}
	for _, a := range order {
		if only := holders[a]; len(only) < len(t.Rows) {
			p.linef("assumes   %s (%s)", a, strings.Join(only, "; "))
		} else {
			p.linef("assumes   %s", a)
		}
	}
}

func (p *page) refused() {
	all := p.Set.Refused()
	if len(all) == 0 {
		return
	}
	p.linef("")
	p.linef("REFUSED: no figures")
	var rows [][]string
	said := make(map[string]string) // where a reason was given first
	for _, r := range all {
		name, reason := p.rowName(r.Arm, r.Control), r.Reason.Error()
		if first, ok := said[reason]; ok {
			reason = "as " + first
		} else {
			said[reason] = name
		}
		rows = append(rows, []string{"refused", name, reason})
	}
	p.out.WriteString(align(rows))
}

// foot is what bears on all tables.
func (p *page) foot() {
	p.linef("")
	if base := p.Set.Rows[0]; len(base.Trials) > 0 {
		p.linef("noise     floor %s, from the A/A control (%s): %s %s", floor(p.Analysis.Floor),
			base.Stamp.Provenance, p.Analysis.Unit.Name, Change(p.Analysis.Control))
	}
	dirty, trials, why := 0, 0, ""
	for _, r := range p.Set.Rows {
		dirty, trials = dirty+r.Dirty(), trials+len(r.Trials)
		for _, t := range r.Trials {
			if why == "" {
				why = t.Dirty
			}
		}
	}
	if dirty > 0 {
		p.linef("dirty     %d of %d trials were disturbed; they are kept. The first: %s", dirty, trials, why)
	} else if trials > 0 && p.Set.Control().Stamp.Host != "" {
		p.linef("dirty     0 of %d trials", trials)
	}
	for _, r := range p.Set.Rows {
		if r.Stamp.Calibration != "" && r.Refused == nil {
			p.linef("calibrated %s: %s", p.rowName(r.Arm, r.Control), r.Stamp.Calibration)
		}
	}
	if h := p.Set.Config.Host; !h.IsZero() && p.hasHost() {
		p.linef("host      %s", h)
	}
	for _, f := range p.Files {
		p.linef("file      %s (and .json)", f)
	}
}

// hasHost says whether a row's time is this host's.
func (p *page) hasHost() bool {
	for _, r := range p.Set.Rows {
		if r.Stamp.Host != "" {
			return true
		}
	}
	return false
}
