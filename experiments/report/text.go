package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// Text writes the run's tables. The host is left to [Host], since several runs
// share it. It returns the error of w.
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
	p.crossed()
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

// Host writes the line that says what measured figures were measured on. It
// returns the error of w.
func Host(w io.Writer, h host.Fingerprint) error {
	_, err := io.WriteString(w, wrap(label("host"), h.String()))
	return err
}

// label is the first column of a line of words.
func label(name string) string { return fmt.Sprintf("%-*s", labelWidth, name) }

func (p *page) fieldf(name, format string, args ...any) {
	p.out.WriteString(wrap(label(name), fmt.Sprintf(format, args...)))
}

func (p *page) linef(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *page) head() {
	s := p.Set
	p.out.WriteString(wrap("", fmt.Sprintf("%s on rig %s (%s): %s", s.Experiment.Name, s.Rig.Name(), s.Rig.Kind(), s.Experiment.Question)))
	if s.Experiment.Note != "" {
		p.fieldf("note", "%s", s.Experiment.Note)
	}
	p.fieldf("rule", "%s", s.Experiment.Rule)
	p.fieldf("baseline", "%s", strings.ReplaceAll(p.baseline().String(), "/", " "))
	p.fieldf("run", "%d of %d blocks in %v, seed %d", s.Blocks, s.Config.Blocks, s.Took.Round(100*time.Millisecond), s.Config.Seed)
	if s.Interrupted {
		p.fieldf("", "interrupted: only complete blocks are paired")
	}
	if s.Narrow {
		p.fieldf("", "stopped early: the intervals are as narrow as was asked for")
	}
	if s.OverBudget {
		part := ""
		if p.Shared {
			part = "this rig's part of "
		}
		p.fieldf("", "stopped early: %sthe budget of %v is spent", part, p.Budget)
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
		p.notes(t)
		return
	}
	p.out.WriteString(align(main))
	p.notes(t)
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
				row = append(row, Figure(u, s.Mid))
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

// notes say under a table why a verdict isn't "holds", what an effect is
// against, and how to read it.
func (p *page) notes(t stats.Table) {
	var f folded
	mixed, judged, unjudged := false, false, false
	for _, r := range t.Rows {
		name := p.rowName(r.Arm, false)
		if e := r.Effect; e != nil {
			if e.Reason != "" {
				f.add(name, fmt.Sprintf(" %s: %s", e.Verdict, e.Reason))
			}
			if ref := p.rowName(e.Reference, false); ref != "baseline" {
				f.add(name, ": effect against "+ref)
			}
			mixed = mixed || e.Provenance != t.Provenance
			judged, unjudged = judged || e.Judged, unjudged || !e.Judged
		} else if name != "baseline" {
			f.add(name, ": no effect, since the arm to set it against has no figures")
		}
		for _, u := range p.Set.Experiment.AllUnits() {
			if warning := r.Figures[u.Name].Warning; warning != "" {
				f.add(name, " "+u.Name+": "+warning)
			}
		}
	}
	for _, line := range f.lines() {
		p.out.WriteString(wrap("  ", line))
	}
	for _, line := range p.flips(t) {
		p.out.WriteString(wrap("  ", line))
	}
	if mixed {
		p.linef("  An effect between a modelled and a measured arm is a modelled figure: one side is simulated.")
	}
	switch {
	case unjudged && p.Set.Experiment.Rule.IsZero():
		p.linef("  - not judged: the experiment has no rule")
	case unjudged:
		p.linef("  - not judged: the rule is about %s", p.Set.Experiment.Factors[0].Name())
	}
	if judged {
		p.linef("  verdicts come from intervals and the rule alone; p is shown beside them")
	}
}

// folded says the same of several arms once.
type folded struct {
	texts []string // in the order in which they came
	names map[string][]string
}

func (f *folded) add(name, text string) {
	if f.names == nil {
		f.names = make(map[string][]string)
	}
	if f.names[text] == nil {
		f.texts = append(f.texts, text)
	}
	f.names[text] = append(f.names[text], name)
}

func (f *folded) lines() []string {
	var all []string
	for _, text := range f.texts {
		all = append(all, strings.Join(f.names[text], ", ")+text)
	}
	return all
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
			p.fieldf("assumes", "%s (%s)", a, strings.Join(only, "; "))
		} else {
			p.fieldf("assumes", "%s", a)
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
	said := make(map[string]string) // where a long reason was given first
	longest := 0
	for _, r := range all {
		longest = max(longest, len(p.rowName(r.Arm, r.Control)))
	}
	for _, r := range all {
		name, reason := p.rowName(r.Arm, r.Control), r.Reason.Error()
		if first, ok := said[reason]; ok {
			reason = "as " + first
		} else if !errors.Is(r.Reason, runner.ErrBaseline) {
			said[reason] = name
		}
		p.out.WriteString(wrap(fmt.Sprintf("refused  %-*s  ", longest, name), reason))
	}
}

// foot is what bears on all tables.
func (p *page) foot() {
	p.linef("")
	if base := p.Set.Rows[0]; len(base.Trials) > 0 {
		p.fieldf("noise", "floor %s (%s, %s; the A/A control differs by %s)", floor(p.Analysis.Floor),
			p.Analysis.Unit.Name, base.Stamp.Provenance, Change(p.Analysis.Control))
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
		p.fieldf("dirty", "%d of %d trials were disturbed; they are kept. The first: %s", dirty, trials, why)
	} else if trials > 0 && p.Set.Control().Stamp.Host != "" {
		p.fieldf("dirty", "0 of %d trials", trials)
	}
	for _, r := range p.Set.Rows {
		if r.Stamp.Calibration != "" && r.Refused == nil {
			p.out.WriteString(wrap("calibrated ", p.rowName(r.Arm, r.Control)+": "+r.Stamp.Calibration))
		}
	}
	for _, f := range p.Files {
		p.linef("file      %s (and .json)", f)
	}
}
