package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// Limits of distributions.
const (
	maxStages = 3 // those that most of the time goes to
	maxRidges = shades
	bins      = 64
)

// quantiles are the places of a percentile curve; the last ones need as many
// records.
var quantiles = []float64{0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999}

// nines is how a percentile lies on its axis: each further nine has the same room.
func nines(q float64) float64 { return -math.Log10(1 - q) }

// operation names the distribution of whole operations among those of stages.
const operation = "whole operation"

// stageDist is a stage's histogram in one arm.
type stageDist struct {
	arm  string
	dist metrics.Dist
}

// dists are, for each stage that matters, its distribution and its percentiles in
// the main arms.
func (r run) dists() (views []figureView, all *table) {
	weight := map[string]float64{operation: math.Inf(1)}
	by := make(map[string][]stageDist)
	var order []string
	add := func(stage, arm string, d metrics.Dist) {
		if d.Count() == 0 {
			return
		}
		if by[stage] == nil {
			order = append(order, stage)
		}
		if len(by[stage]) < maxRidges {
			by[stage] = append(by[stage], stageDist{arm, d})
		}
	}
	for _, a := range r.mainArms() {
		for _, s := range a.Path {
			weight[s.Stage] = max(weight[s.Stage], s.Percent)
		}
		if a.Times != nil {
			add(operation, r.short(a), *a.Times)
		}
		if a.Stages != nil {
			for _, s := range a.Stages.Stages {
				add(s.Name, r.short(a), s.Dist)
			}
		}
	}
	if len(order) == 0 {
		return nil, nil
	}
	all = &table{Caption: "Time of each operation and of each run of a stage, " + r.Meta.Provenance, Head: []string{"stage", "arm", "runs", "mean", "p50", "p95", "p99", "max"}}
	for _, s := range order {
		for _, d := range by[s] {
			all.Rows = append(all.Rows, []string{s, d.arm, fmt.Sprint(d.dist.Count()), nanos(d.dist.Mean()),
				nanos(float64(d.dist.Quantile(0.5))), nanos(float64(d.dist.Quantile(0.95))), nanos(float64(d.dist.Quantile(0.99))), nanos(float64(d.dist.Max()))})
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(weight[b], weight[a]) })
	for _, s := range order[:min(len(order), maxStages)] {
		curve, scaled := r.percentiles(s, by[s])
		views = append(views,
			figureView{Title: s + ", distribution (log scale)", Note: "Upright: the median.", SVG: r.ridges(s, by[s])},
			figureView{Title: s + ", percentiles" + scaled, SVG: curve})
	}
	return views, all
}

func (r run) percentiles(stage string, ds []stageDist) (svg template.HTML, scaled string) {
	var all []series
	var ys []float64
	far := 0.0
	for _, d := range ds {
		s := series{name: d.arm}
		for _, q := range quantiles {
			if q > 0.5 && float64(d.dist.Count())*(1-q) < 1 {
				break
			}
			v := float64(d.dist.Quantile(q))
			s.points = append(s.points, point{x: nines(q), y: v, lo: math.Inf(-1), hi: math.Inf(1)})
			ys = append(ys, v)
			far = max(far, nines(q))
		}
		all = append(all, s)
	}
	p := plot{
		title:    fmt.Sprintf("%s: percentiles of stage %s; the table below has the figures", r.Meta.Provenance, stage),
		modelled: r.modelled(), x: scale{0, max(far, nines(0.9)), false}, y: scaleFor(ys), xName: "percentile", zero: math.NaN(),
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
		if nines(q) <= far+0.01 {
			p.xs = append(p.xs, tick{nines(q), fmt.Sprintf("%g", 100*q)})
		}
	}
	for _, v := range p.y.ticks(5) {
		p.ys = append(p.ys, tick{v, tickText(lab.SecPerOp, v/1e9)})
	}
	return p.draw(all), p.scaled()
}

// ridges are the histograms above each other, on one scale of time.
func (r run) ridges(stage string, ds []stageDist) template.HTML {
	lo, hi := math.Inf(1), 0.0
	for _, d := range ds {
		lo, hi = min(lo, float64(d.dist.Quantile(0.001))), max(hi, float64(d.dist.Quantile(0.999)))
	}
	lo = max(lo, 1)
	hi = max(hi, lo*1.02)
	s := scale{lo / 1.1, hi * 1.1, true}
	const left, right, top = 12, plotWidth - 12, 24
	room := (plotHeight - top - 24) / max(len(ds), 3)
	bottom := top + room*len(ds)
	x := func(v float64) float64 { return left + s.at(v)*(right-left) }
	var c canvas
	c.open("svg", "class", "chart "+shape(r.modelled()), "viewBox", fmt.Sprintf("0 0 %d %d", plotWidth, bottom+24), "role", "img",
		"aria-label", fmt.Sprintf("%s: distribution of stage %s by arm; the table below has its percentiles", r.Meta.Provenance, stage))
	c.text("text", r.Meta.Provenance, "class", "word", "x", itoa(plotWidth-2), "y", "11", "text-anchor", "end")
	last := math.Inf(-1)
	for _, t := range s.ticks(6) {
		text := nanos(t)
		half := 3.3*float64(len([]rune(text))) + 4
		c.leaf("line", "class", "grid", "x1", px(x(t)), "x2", px(x(t)), "y1", itoa(top), "y2", itoa(bottom))
		if at := min(max(x(t), half), plotWidth-half); at-half > last {
			last = at + half
			c.text("text", text, "class", "m", "x", px(at), "y", itoa(bottom+15), "text-anchor", "middle")
		}
	}
	for i, d := range ds {
		base := float64(top + room*(i+1))
		counts := make([]float64, bins)
		peak := 0.0
		for b, n := range d.dist.Buckets() {
			k := min(int(s.at(float64(b.Mid()))*bins), bins-1)
			counts[k] += float64(n)
			peak = max(peak, counts[k])
		}
		first, end := bins, 0
		for k, n := range counts {
			if n > 0 {
				first, end = min(first, k), max(end, k)
			}
		}
		step := float64(right-left) / bins
		points := [][2]float64{{left + float64(first)*step, base}}
		for k := first; k <= end; k++ {
			y := base - float64(room-16)*counts[k]/peak
			points = append(points, [2]float64{left + float64(k)*step, y}, [2]float64{left + float64(k+1)*step, y})
		}
		points = append(points, [2]float64{left + float64(end+1)*step, base})
		c.open("g", "class", "c"+itoa(min(i, shades-1)))
		c.leaf("path", "class", "ridge", "d", path(points)+"Z")
		c.leaf("line", "class", "base", "x1", itoa(left), "x2", itoa(right), "y1", px(base), "y2", px(base))
		m := x(float64(d.dist.Quantile(0.5)))
		c.leaf("line", "class", "median", "x1", px(m), "x2", px(m), "y1", px(base-float64(room-16)), "y2", px(base))
		c.close("g")
		// Where the ridge leaves room.
		anchor, at := "start", float64(left)
		if m < (left+right)/2 {
			anchor, at = "end", right
		}
		c.text("text", clip(d.arm, 16), "class", "name c"+itoa(min(i, shades-1)), "x", px(at), "y", px(base-float64(room)+14), "text-anchor", anchor)
	}
	c.close("svg")
	return c.html()
}
