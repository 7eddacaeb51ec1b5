package page

import (
	"fmt"
	"math"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/results"
)

// sensitivity is what a model's own parameters do to its answers.
type sensitivity struct {
	ID, Name string // of the experiment
	Rig      string
	Views    []figureView
}

// sensitivities are those of the sweeps and tornados, by experiment and rig in the
// order in which they come.
func sensitivities(sweeps []results.Sweep, tornados []results.Tornado) []sensitivity {
	var all []sensitivity
	at := make(map[[2]string]int)
	add := func(experiment, rig string, v figureView) {
		key := [2]string{experiment, rig}
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			all = append(all, sensitivity{Name: experiment, Rig: rig})
		}
		all[i].Views = append(all[i].Views, v)
	}
	for _, s := range sweeps {
		add(s.Experiment, s.Rig, sweepView(s))
	}
	for _, t := range tornados {
		add(t.Experiment, t.Rig, tornadoView(t))
	}
	return all
}

// sweepView draws the effect of each judged arm along the parameter, and marks the
// verdicts.
func sweepView(s results.Sweep) figureView {
	l := ladder{factor: s.Parameter}
	t := &table{Caption: fmt.Sprintf("effect on %s and verdict along %s, %s", unitName(lab.Unit{Name: s.Unit}), s.Parameter, s.Provenance), Head: []string{s.Parameter}}
	index := make(map[string]int)
	var all []series
	for _, p := range s.Points {
		l.levels = append(l.levels, tick{float64(p.Value), typeset(p.Text)})
		for _, a := range p.Arms {
			if _, ok := index[a.Arm]; !ok && len(all) < maxSeries {
				index[a.Arm] = len(all)
				short := name(differing(a.Arm, s.Baseline), levels(s.Baseline)[0].factor)
				all = append(all, series{name: short})
				t.Head = append(t.Head, short)
			}
		}
	}
	for _, p := range s.Points {
		cells := make([]string, len(all)+1)
		cells[0] = typeset(p.Text)
		for i := range all {
			cells[i+1] = "–"
		}
		for _, a := range p.Arms {
			i, ok := index[a.Arm]
			iv := a.Ratio.Lab()
			if !ok || math.IsNaN(iv.Mid) {
				continue
			}
			mid, interval := change(iv)
			cells[i+1] = strings.TrimSpace(mid+" "+interval) + " " + string(a.Verdict)
			all[i].points = append(all[i].points, point{x: float64(p.Value), y: iv.Mid, lo: iv.Lo, hi: iv.Hi, sign: verdict(a.Verdict),
				said: fmt.Sprintf("%s at %s=%s: %s", all[i].name, s.Parameter, p.Text, cells[i+1])})
		}
		t.Rows = append(t.Rows, cells)
	}
	v := effects(all, nil)
	v.title = fmt.Sprintf("%s: effect on %s along parameter %s; the table below has the figures", s.Provenance, unitName(lab.Unit{Name: s.Unit}), s.Parameter)
	v.modelled, v.x, v.xs, v.xName = true, xScale(l.levels), l.levels, s.Parameter
	note := fmt.Sprintf("The model itself has %s (%s).", typeset(s.Has), s.Source)
	for _, f := range s.Flips {
		note += " " + name(differing(f.Arm, s.Baseline), levels(s.Baseline)[0].factor) + ", " + typeset(f.Text) + "."
	}
	return figureView{Title: "effect on " + unitName(lab.Unit{Name: s.Unit}) + " along " + s.Parameter + v.scaled(), Note: note, SVG: v.draw(all), Table: t}
}

// tornadoView draws, for each parameter, from where to where it moves the effect;
// the one that moves most is at the top.
func tornadoView(t results.Tornado) figureView {
	all := []float64{1, t.Base}
	for _, b := range t.Bars {
		all = append(all, b.AtFrom, b.AtTo)
	}
	s := ratioScale(all)
	unit := unitName(lab.Unit{Name: t.Unit})
	arm := name(differing(t.Arm, t.Baseline), levels(t.Baseline)[0].factor)
	out := &table{Caption: "effect on " + unit + " with a parameter at the ends of its range, " + t.Provenance,
		Head: []string{"parameter", "from", "to", "effect at from", "effect at to", "source"}}
	var c canvas
	c.open("div", "class", "bars")
	c.open("div", "class", "barrow")
	c.text("div", "", "class", "barname")
	c.open("div", "class", "bar")
	c.b.WriteString(string(axisOf(s, percentChange)))
	c.close("div")
	c.text("div", "", "class", "barsum")
	c.close("div")
	for _, b := range t.Bars {
		c.open("div", "class", "barrow")
		c.text("div", b.Parameter, "class", "barname")
		c.open("div", "class", "bar")
		c.open("svg", "class", "tornado mod", "width", "100%", "height", "30", "role", "img", "aria-label",
			fmt.Sprintf("modelled: %s from %s to %s moves the effect from %s to %s", b.Parameter, b.From, b.To, percentChange(b.AtFrom), percentChange(b.AtTo)))
		c.leaf("line", "class", "grid", "x1", s.across(1), "x2", s.across(1), "y1", "0", "y2", "30")
		c.leaf("line", "class", "ref", "x1", s.across(t.Base), "x2", s.across(t.Base), "y1", "0", "y2", "30")
		from, to := b.AtFrom, b.AtTo
		c.leaf("line", "class", "whisker", "x1", s.across(from), "x2", s.across(to), "y1", "10", "y2", "10")
		c.leaf("circle", "class", "mid", "cx", s.across(from), "cy", "10", "r", "3.5")
		c.leaf("circle", "class", "mid", "cx", s.across(to), "cy", "10", "r", "3.5")
		left, right, a, z := "end", "start", typeset(b.From), typeset(b.To)
		if from > to {
			left, right = right, left
		}
		if math.Abs(s.at(from)-s.at(to)) > 0.02 {
			c.text("text", a, "class", "m wide", "x", s.across(from), "y", "25", "text-anchor", within(s.at(from), left))
			c.text("text", z, "class", "m wide", "x", s.across(to), "y", "25", "text-anchor", within(s.at(to), right))
		}
		c.close("svg")
		c.close("div")
		c.text("div", fmt.Sprintf("%.0f points", 100*math.Abs(b.AtFrom-b.AtTo)), "class", "barsum")
		c.close("div")
		out.Rows = append(out.Rows, []string{b.Parameter, typeset(b.From), typeset(b.To), percentChange(b.AtFrom), percentChange(b.AtTo), b.Source})
	}
	c.close("div")
	return figureView{
		Title: "what moves the effect of " + arm + " on " + unit,
		Note:  "Each parameter at both ends of its range, all others as they are. Upright: the effect as the model stands, " + percentChange(t.Base) + ".",
		SVG:   c.html(), Table: out, Wide: true,
	}
}

// within turns a text inwards at the edges of a plot.
func within(at float64, anchor string) string {
	switch {
	case at < 0.1:
		return "start"
	case at > 0.9:
		return "end"
	}
	return anchor
}
