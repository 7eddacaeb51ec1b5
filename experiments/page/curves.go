package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/results"
)

// Limits of curves: more would not be told apart.
const (
	maxSeries  = shades
	leastSteps = 3
)

// ladder is arms that differ in one factor that is a number.
type ladder struct {
	factor string
	levels []tick // in rising order
	series []rung
}

// rung is a curve of a ladder: arms of one level of the first factor.
type rung struct {
	name string
	arms []results.Arm // by level; an arm without a name where there is none
}

// ladders finds, for each factor that is a number, the arms that climb it: all
// other levels are the baseline's, but for the first factor, each level of which
// is a curve.
func (r run) ladders() []ladder {
	var all []ladder
	for _, f := range levels(r.baseline) {
		by := make(map[string]map[float64]results.Arm) // first factor's level, then the number
		text := make(map[float64]string)
		var order []string
		for _, a := range r.arms {
			at, own, ok := 0.0, "", true
			for _, l := range levels(a.Arm) {
				if l.factor == f.factor {
					at, ok = number(l.label)
					text[at] = l.label
				} else if l.factor == r.first {
					own = l.label
				}
				if !ok {
					break
				}
			}
			for _, d := range differing(a.Arm, r.baseline) {
				ok = ok && (d.factor == f.factor || d.factor == r.first)
			}
			if !ok {
				continue
			}
			if by[own] == nil {
				by[own] = make(map[float64]results.Arm)
				order = append(order, own)
			}
			by[own][at] = a
		}
		l := ladder{factor: f.factor}
		for at, label := range text {
			l.levels = append(l.levels, tick{at, typeset(label)})
		}
		slices.SortFunc(l.levels, func(a, b tick) int { return cmp.Compare(a.at, b.at) })
		for _, own := range order {
			if len(by[own]) < leastSteps || len(l.series) == maxSeries {
				continue
			}
			g := rung{name: r.call(own)}
			if l.factor == r.first {
				g.name = r.first
			}
			for _, t := range l.levels {
				g.arms = append(g.arms, by[own][t.at])
			}
			l.series = append(l.series, g)
		}
		if len(l.series) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// alongUnits are what is drawn along a ladder: the figure that is judged, then
// throughput and the 95th percentile if the experiment has them.
func (r run) alongUnits() []lab.Unit {
	units := []lab.Unit{r.unit}
	for _, u := range r.units {
		if u.Name != r.unit.Name && (strings.HasSuffix(u.Name, "/s") || strings.HasPrefix(u.Name, "p95") || u.Name == lab.SecPerOp.Name) {
			units = append(units, u)
		}
	}
	return units
}

// curves are the pictures of all ladders: first those on which an answer may flip,
// or one if there are none, then the others.
func (r run) curves() (first, others []figureView) {
	for _, l := range r.ladders() {
		var views []figureView
		for _, u := range r.alongUnits() {
			if v, ok := r.along(l, u); ok {
				views = append(views, v)
			}
		}
		flip, ok := r.breakEven(l)
		if ok {
			first = append(append(first, flip), views...)
		} else {
			others = append(others, views...)
		}
	}
	if n := min(len(others), len(r.alongUnits())); len(first) == 0 {
		first, others = others[:n], others[n:]
	}
	return first, others
}

// xScale is by logarithm where levels are above 0 and far apart.
func xScale(levels []tick) scale {
	lo, hi := levels[0].at, levels[len(levels)-1].at
	if lo > 0 && hi >= 8*lo {
		return scale{lo, hi, true}
	}
	return scale{lo, hi, false}
}

// along is a figure's median and interval at each level.
func (r run) along(l ladder, u lab.Unit) (figureView, bool) {
	t := &table{Caption: unitName(u) + " along " + l.factor + ", " + r.Meta.Provenance, Head: []string{l.factor}}
	cells := make([][]string, len(l.levels))
	for i, at := range l.levels {
		cells[i] = []string{at.text}
	}
	var all []series
	var ys []float64
	for _, g := range l.series {
		s := series{name: g.name}
		t.Head = append(t.Head, g.name)
		for i, a := range g.arms {
			sum := summarise(a, u)
			if sum.N == 0 {
				cells[i] = append(cells[i], "–")
				continue
			}
			mid, interval := summary(u, sum)
			cells[i] = append(cells[i], strings.TrimSpace(mid+" "+interval))
			s.points = append(s.points, point{x: l.levels[i].at, y: sum.Mid, lo: sum.Lo, hi: sum.Hi,
				said: fmt.Sprintf("%s at %s=%s: %s %s", g.name, l.factor, l.levels[i].text, mid, interval)})
			ys = append(ys, sum.Mid, sum.Lo, sum.Hi)
		}
		all = append(all, s)
	}
	if len(ys) == 0 {
		return figureView{}, false
	}
	t.Rows = cells
	p := plot{
		title:    fmt.Sprintf("%s: %s along %s; the table below has the figures", r.Meta.Provenance, unitName(u), l.factor),
		modelled: r.modelled(), x: xScale(l.levels), y: scaleFor(ys), xs: l.levels, xName: l.factor, zero: math.NaN(), dots: true,
	}
	for _, v := range p.y.ticks(5) {
		p.ys = append(p.ys, tick{v, tickText(u, v)})
	}
	return figureView{Title: unitName(u) + " along " + l.factor + p.scaled(), SVG: p.draw(all), Table: t}, true
}

// breakEven is the effect at each level, with the verdicts as marks: where one
// follows another the answer flips.
func (r run) breakEven(l ladder) (view figureView, ok bool) {
	t := &table{Caption: "effect on " + unitName(r.unit) + " and verdict along " + l.factor + ", " + r.Meta.Provenance, Head: []string{l.factor}}
	cells := make([][]string, len(l.levels))
	for i, at := range l.levels {
		cells[i] = []string{at.text}
	}
	var all []series
	for _, g := range l.series {
		s := series{name: g.name}
		var own []string
		for i, a := range g.arms {
			text := "–"
			if e := a.Effect; e != nil && e.Judged {
				iv := e.Ratios[r.unit.Name].Lab()
				if !math.IsNaN(iv.Mid) {
					mid, interval := change(iv)
					text = strings.TrimSpace(mid+" "+interval) + " " + string(e.Verdict)
					s.points = append(s.points, point{x: l.levels[i].at, y: iv.Mid, lo: iv.Lo, hi: iv.Hi, sign: verdict(e.Verdict),
						said: fmt.Sprintf("%s at %s=%s: %s", g.name, l.factor, l.levels[i].text, text)})
				}
			}
			own = append(own, text)
		}
		if len(s.points) < leastSteps {
			continue
		}
		t.Head = append(t.Head, g.name)
		for i := range cells {
			cells[i] = append(cells[i], own[i])
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return figureView{}, false
	}
	t.Rows = cells
	v := effects(all, r.Meta.Floor)
	v.title = fmt.Sprintf("%s: effect on %s along %s, with verdicts; the table below has the figures", r.Meta.Provenance, unitName(r.unit), l.factor)
	v.modelled, v.x, v.xs, v.xName = r.modelled(), xScale(l.levels), l.levels, l.factor
	view = figureView{Title: "effect on " + unitName(r.unit) + " along " + l.factor + v.scaled(), SVG: v.draw(all), Table: t}
	if note, some := flips(all, l); some {
		view.Note, view.Flips = note, l.factor
	} else {
		view.Note = note
	}
	return view, true
}

// effects is a plot of ratios: written as changes, with a line at none and the
// noise floor around it, as a band.
func effects(all []series, floor *float64) plot {
	var ys []float64
	for _, s := range all {
		for _, q := range s.points {
			ys = append(ys, q.y, q.lo, q.hi)
		}
	}
	p := plot{zero: 1, dots: true, y: ratioScale(ys)}
	for _, v := range p.y.ticks(5) {
		p.ys = append(p.ys, tick{v, percentChange(v)})
	}
	if floor != nil && *floor > 0.0005 && *floor < 1 {
		p.band = [2]float64{1 - *floor, 1 / (1 - *floor)}
		p.band[0], p.band[1] = max(p.band[0], p.y.lo), min(p.band[1], p.y.hi)
	}
	return p
}

// ratioScale covers ratios and 1, from the least of them rather than from 0.
func ratioScale(ratios []float64) scale {
	lo, hi := 1.0, 1.0
	for _, v := range ratios {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > 0 && hi > 6 {
		return logScale(lo, hi, 1.1)
	}
	room := max(0.06*(hi-lo), 0.01)
	return scale{lo - room, hi + room, false}
}

func percentChange(ratio float64) string {
	v := math.Round(100 * (ratio - 1))
	switch {
	case v == 0:
		return "0"
	case v > 0:
		return fmt.Sprintf("+%.0f\u202f%%", v)
	}
	return fmt.Sprintf("−%.0f\u202f%%", -v)
}

// flips says where verdicts follow each other, as the run printed it.
func flips(all []series, l ladder) (said string, some bool) {
	text := make(map[float64]string)
	for _, t := range l.levels {
		text[t.at] = t.text
	}
	var lines []string
	for _, s := range all {
		var parts []string
		for i := 0; i < len(s.points); {
			j := i
			var at []string
			for ; j < len(s.points) && s.points[j].sign == s.points[i].sign; j++ {
				at = append(at, text[s.points[j].x])
			}
			where := at[0]
			if len(at) == 2 {
				where += " and " + at[1]
			} else if len(at) > 2 {
				where += " to " + at[len(at)-1]
			}
			parts = append(parts, fmt.Sprintf("%s at %s", s.points[i].sign, where))
			i = j
		}
		some = some || len(parts) > 1
		lines = append(lines, s.name+": "+strings.Join(parts, ", "))
	}
	return strings.Join(lines, "; ") + ".", some
}
