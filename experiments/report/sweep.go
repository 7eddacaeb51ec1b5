package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/results"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
	"latlab.example/experiments/sweep"
)

// Sweep is what became of an answer along a parameter of a model.
type Sweep struct {
	Param  param.Param // with the value that the model has
	Points []sweep.Point
	Flips  []sweep.Flip // nil unless they were asked for
	Asked  bool         // for flips
}

// SweepText writes a row a value with each judged arm's effect and verdict, then
// where verdicts flip. It returns the error of w.
func SweepText(w io.Writer, s Sweep) error {
	var out bytes.Buffer
	first := s.Points[0]
	sweepHead(&out, first.Set, fmt.Sprintf("sweep of %s; the model itself has %s (%v)", s.Param.Name, s.Param.Text(), s.Param.Source))
	arms := sweep.Judged(first.Analysis)
	head := []string{s.Param.Name, "baseline " + first.Analysis.Unit.Name}
	for _, a := range arms {
		head = append(head, short(a.Arm, first.Set.Rows[0].Arm))
	}
	rows := [][]string{head}
	for _, p := range s.Points {
		row := []string{p.Text, baseline(p.Analysis)}
		for _, a := range sweep.Judged(p.Analysis) {
			row = append(row, fmt.Sprintf("%s %s", Change(a.Effect.Ratios[p.Analysis.Unit.Name]), a.Effect.Verdict))
		}
		rows = append(rows, row)
	}
	out.WriteString("\n" + heading(lab.Modelled) + "\n" + align(rows))
	if s.Asked {
		out.WriteString("\n")
		for _, f := range s.Flips {
			out.WriteString(wrap(label("flip"), short(f.Arm, first.Set.Rows[0].Arm)+": "+f.Flip.String()))
		}
		if len(s.Flips) == 0 {
			out.WriteString(wrap(label("flip"), fmt.Sprintf("none from %s to %s", first.Text, s.Points[len(s.Points)-1].Text)))
		}
	}
	sweepAssumptions(&out, first.Set)
	_, err := w.Write(out.Bytes())
	return err
}

// TornadoText writes, for each judged arm, which assumption moves its effect how
// far. It returns the error of w.
func TornadoText(w io.Writer, set runner.Set, all []sweep.Tornado) error {
	var out bytes.Buffer
	sweepHead(&out, set, "tornado: each parameter at both ends of its range, all others as they are")
	out.WriteString("\n" + heading(lab.Modelled) + "\n")
	for i, t := range all {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s: %s %s against the baseline\n", short(t.Arm, set.Rows[0].Arm), t.Unit.Name, Percent(t.Base))
		rows := [][]string{{"parameter", "from", "to", "effect at from", "at to", "swing", "source"}}
		for _, b := range t.Bars {
			rows = append(rows, []string{
				b.Param.Name, b.Param.TextOf(b.Param.Lo), b.Param.TextOf(b.Param.Hi),
				Percent(b.AtLo), Percent(b.AtHi), fmt.Sprintf("%.1f points", 100*b.Span()), b.Param.Source.Kind.String(),
			})
		}
		out.WriteString(align(rows))
	}
	sweepAssumptions(&out, set)
	_, err := w.Write(out.Bytes())
	return err
}

func sweepHead(out *bytes.Buffer, s runner.Set, what string) {
	out.WriteString(wrap("", fmt.Sprintf("%s on rig %s (%s): %s", s.Experiment.Name, s.Rig.Name(), s.Rig.Kind(), s.Experiment.Question)))
	out.WriteString(wrap(label("rule"), s.Experiment.Rule.String()))
	out.WriteString(wrap(label("varied"), what))
	out.WriteString(wrap(label("baseline"), strings.ReplaceAll(s.Rows[0].Arm.String(), "/", " ")))
	out.WriteString(wrap(label("run"), fmt.Sprintf("%d blocks at each value, seed %d", s.Blocks, s.Config.Seed)))
}

// sweepAssumptions lists what all rows assume, but not the parameters, which have
// just been varied.
func sweepAssumptions(out *bytes.Buffer, s runner.Set) {
	params, _ := s.Rig.Params()
	varied := make(map[string]bool)
	for _, a := range params.Assumptions() {
		varied[a] = true
	}
	out.WriteString("\n")
	for _, a := range s.Rig.Assumptions() {
		if !varied[a] {
			out.WriteString(wrap(label("assumes"), a))
		}
	}
}

// baseline is the baseline's figure.
func baseline(a stats.Analysis) string {
	for _, t := range a.Tables {
		for _, r := range t.Rows {
			if r.Effect == nil {
				return Figure(a.Unit, r.Figures[a.Unit.Name].Mid)
			}
		}
	}
	return unknown
}

// newSweep is a sweep as it is written.
func newSweep(s Sweep) results.Sweep {
	first := s.Points[0]
	out := results.Sweep{
		Experiment: first.Set.Experiment.Name, Rig: first.Set.Rig.Name(), Provenance: lab.Modelled.String(), Baseline: first.Set.Rows[0].Arm.String(),
		Parameter: s.Param.Name, Has: s.Param.Text(), Source: s.Param.Source.String(), Unit: first.Analysis.Unit.Name, Flips: []results.SweepFlip{},
	}
	for _, p := range s.Points {
		row := results.SweepPoint{Value: p.Value, Text: p.Text}
		for _, a := range sweep.Judged(p.Analysis) {
			row.Arms = append(row.Arms, results.SweepArm{Arm: a.Arm.String(), Ratio: results.NewInterval(a.Effect.Ratios[p.Analysis.Unit.Name]), Verdict: a.Effect.Verdict})
		}
		out.Points = append(out.Points, row)
	}
	for _, f := range s.Flips {
		out.Flips = append(out.Flips, results.SweepFlip{Arm: f.Arm.String(), Below: f.Below, Above: f.Above, From: f.From, To: f.To, Text: f.Flip.String()})
	}
	return out
}

// SweepJSON writes a sweep as one object. It returns the error of w.
func SweepJSON(w io.Writer, s Sweep) error { return writeJSON(w, newSweep(s)) }

// newTornados are tornados as they are written.
func newTornados(set runner.Set, all []sweep.Tornado) []results.Tornado {
	out := []results.Tornado{}
	for _, t := range all {
		row := results.Tornado{
			Experiment: set.Experiment.Name, Rig: set.Rig.Name(), Provenance: lab.Modelled.String(), Baseline: set.Rows[0].Arm.String(),
			Arm: t.Arm.String(), Unit: t.Unit.Name, Base: t.Base, Bars: []results.Bar{},
		}
		for _, b := range t.Bars {
			row.Bars = append(row.Bars, results.Bar{
				Parameter: b.Param.Name, From: b.Param.TextOf(b.Param.Lo), To: b.Param.TextOf(b.Param.Hi), AtFrom: b.AtLo, AtTo: b.AtHi, Source: b.Param.Source.String(),
			})
		}
		out = append(out, row)
	}
	return out
}

// TornadoJSON writes the tornados as one array. It returns the error of w.
func TornadoJSON(w io.Writer, set runner.Set, all []sweep.Tornado) error {
	return writeJSON(w, newTornados(set, all))
}
