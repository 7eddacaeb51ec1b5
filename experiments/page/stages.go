package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/results"
)

// palette is the number of colours that stages have; the last is for all others.
const palette = 10

// hues gives each stage of the main arms a class for its colour: one of its own to
// those that most time goes to, in the order of the stages. What no stage covers is
// hatched. Stages that never run have none.
func (r run) hues() (stages []string, class map[string]string) {
	weight := make(map[string]float64)
	see := func(stage string, percent float64) {
		if _, ok := weight[stage]; !ok {
			stages = append(stages, stage)
		}
		weight[stage] = max(weight[stage], percent)
	}
	for _, a := range r.mainArms() {
		for _, s := range a.Path {
			see(s.Stage, s.Percent)
		}
		if t := a.Timeline; t != nil {
			for _, iv := range t.Intervals {
				see(t.Stages[iv[0]], 100*float64(iv[3]-iv[2])/float64(t.Took)/float64(len(t.Intervals)))
			}
		}
	}
	stages = slices.DeleteFunc(stages, func(s string) bool { return weight[s] <= 0 && s != metrics.Unattributed })
	byWeight := slices.Clone(stages)
	slices.SortStableFunc(byWeight, func(a, b string) int { return cmp.Compare(weight[b], weight[a]) })
	class = make(map[string]string)
	rank := 0
	for _, s := range byWeight {
		if s == metrics.Unattributed {
			class[s] = "un"
			continue
		}
		if class[s] = "s" + itoa(palette-1); rank < palette-1 {
			class[s] = ""
		}
		rank++
	}
	next := 0
	for _, s := range stages {
		if class[s] == "" {
			class[s] = "s" + itoa(next)
			next++
		}
	}
	return stages, class
}

// key names the colours of the stages.
func (r run) key() template.HTML {
	stages, class := r.hues()
	var c canvas
	c.open("ul", "class", "key", "aria-label", "colours of the stages")
	for _, s := range stages {
		c.open("li")
		c.open("svg", "width", "14", "height", "12", "class", "stages "+shape(r.modelled()), "aria-hidden", "true")
		c.leaf("rect", "x", "1", "y", "1", "width", "12", "height", "10", "class", class[s])
		c.close("svg")
		c.text("span", s)
		c.close("li")
	}
	c.close("ul")
	return c.html()
}

// mainArms are the baseline and the arms that differ from it in the first factor
// alone.
func (r run) mainArms() []results.Arm {
	var all []results.Arm
	for _, a := range r.arms {
		d := differing(a.Arm, r.baseline)
		if len(d) == 0 || len(d) == 1 && d[0].factor == r.first {
			all = append(all, a)
		}
	}
	return all
}

// short is how the main group calls an arm.
func (r run) short(a results.Arm) string {
	for _, l := range levels(a.Arm) {
		if l.factor == r.first {
			return r.call(l.label)
		}
	}
	return a.Arm
}

// call names a level of the first factor: a bare number or a yes says too little.
func (r run) call(label string) string {
	if _, ok := number(label); ok || label == "true" || label == "false" {
		return r.first + "=" + label
	}
	return label
}

// hideFrom is the ratio of the longest to the shortest operation from which bars
// on one scale would hide the short ones.
const hideFrom = 12

// bars says where the time of an operation went, by the critical path.
func (r run) bars() (bars *figureView) {
	var arms []results.Arm
	var least, most float64
	for _, a := range r.mainArms() {
		if whole := total(a.Path); whole > 0 {
			if len(arms) == 0 || whole < least {
				least = whole
			}
			most = max(most, whole)
			arms = append(arms, a)
		}
	}
	if len(arms) == 0 {
		return nil
	}
	alike := most > hideFrom*least
	var c canvas
	t := &table{Caption: "Time of an operation on the critical path, " + r.Meta.Provenance, Head: []string{"arm", "whole"}}
	for _, s := range arms[0].Path {
		t.Head = append(t.Head, s.Stage)
	}
	_, class := r.hues()
	c.open("div", "class", "bars")
	for _, a := range arms {
		whole := total(a.Path)
		cells := []string{r.short(a), nanos(whole)}
		c.open("div", "class", "barrow")
		c.text("div", r.short(a), "class", "barname")
		c.open("div", "class", "bar")
		c.open("svg", "class", "stages "+shape(r.modelled()), "width", "100%", "height", "36", "role", "img",
			"aria-label", fmt.Sprintf("%s, %s: %s an operation; the table below has each stage", provenance(r.modelled()), r.short(a), nanos(whole)))
		at, scaled := 0.0, whole/most
		if alike {
			scaled = 1
		}
		for _, s := range a.Path {
			width := s.NsOp / whole * scaled
			cells = append(cells, fmt.Sprintf("%s (%s)", nanos(s.NsOp), share(s.Percent)))
			if width > 0.0005 {
				c.open("rect", "x", percent(at), "y", "2", "width", percent(width), "height", "16", "class", class[s.Stage])
				c.text("title", fmt.Sprintf("%s: %s, %s", s.Stage, nanos(s.NsOp), share(s.Percent)))
				c.close("rect")
				label(&c, fmt.Sprintf("%s %s", s.Stage, share(s.Percent)), at, width)
			}
			at += width
		}
		c.close("svg")
		c.close("div")
		c.text("div", nanos(whole), "class", "barsum")
		c.close("div")
		t.Rows = append(t.Rows, cells)
	}
	c.close("div")
	note := "One scale: a longer bar took longer."
	if alike {
		note = fmt.Sprintf("Shares: every bar is one whole operation, since the longest took %.0f times the shortest. The time stands at the end.", most/least)
	}
	return &figureView{Title: "Where the time went", Note: note, SVG: c.html(), Table: t, Key: r.key()}
}

// label stands under its segment if there is room, on a wide screen or on any.
func label(c *canvas, text string, at, width float64) {
	const letter, narrow, wide = 6.6, 230, 520 // pixels
	need := letter * float64(len([]rune(text)))
	class := ""
	switch {
	case need > width*wide:
		return
	case need > width*narrow:
		class = "wide"
	}
	c.text("text", text, "x", percent(at+width/2), "y", "31", "text-anchor", "middle", "class", class)
}

func total(path []metrics.Row) float64 {
	sum := 0.0
	for _, s := range path {
		sum += s.NsOp
	}
	return sum
}

// Limits of a waterfall: an operation of a thousand tracks is no picture.
const (
	maxFalls = 4  // arms
	maxLanes = 36 // tracks of an arm
)

// falls draws one operation of each main arm: a lane a track, in the order in
// which they began.
func (r run) falls() []figureView {
	var all []figureView
	for _, a := range r.mainArms() {
		if t := a.Timeline; t != nil && len(t.Intervals) > 0 && len(all) < maxFalls {
			all = append(all, r.fall(a, *t))
		}
	}
	return all
}

func (r run) fall(a results.Arm, t results.Timeline) figureView {
	ivs := slices.Clone(t.Intervals)
	slices.SortStableFunc(ivs, func(a, b [4]int64) int {
		return cmp.Or(cmp.Compare(a[2], b[2]), cmp.Compare(a[1], b[1]), cmp.Compare(a[3], b[3]))
	})
	lane := make(map[int64]int)
	for _, iv := range ivs {
		if _, ok := lane[iv[1]]; !ok {
			lane[iv[1]] = len(lane)
		}
	}
	shown := min(len(lane), maxLanes)
	height := min(max(110/float64(shown), 3), 14)
	const width = 1000
	var c canvas
	c.open("svg", "class", "fall stages "+shape(r.modelled()), "viewBox", fmt.Sprintf("0 0 %d %s", width, px(height*float64(shown))),
		"preserveAspectRatio", "none", "height", px(height*float64(shown)), "width", "100%", "role", "img",
		"aria-label", fmt.Sprintf("%s, %s: one operation of %s on %s", provenance(r.modelled()), r.short(a), nanos(float64(t.Took)), many(len(lane), "track")))
	for _, gap := range gaps(ivs, t.Took) {
		x := width * float64(gap[0]) / float64(t.Took)
		if w := width * float64(gap[1]-gap[0]) / float64(t.Took); w >= 1 {
			c.leaf("rect", "class", "un", "x", px(x), "y", "0", "width", px(w), "height", px(height*float64(shown)))
		}
	}
	_, class := r.hues()
	boxes := make([]strings.Builder, len(t.Stages)) // one path a stage
	for _, iv := range ivs {
		n := lane[iv[1]]
		if n >= shown {
			continue
		}
		x := width * float64(iv[2]) / float64(t.Took)
		w := max(width*float64(iv[3]-iv[2])/float64(t.Took), 0.6)
		fmt.Fprintf(&boxes[iv[0]], "M%s %sh%sv%sh-%sz", px(x), px(height*float64(n)+0.5), px(w), px(height-1), px(w))
	}
	for i := range boxes {
		if d := boxes[i].String(); d != "" {
			c.leaf("path", "class", class[t.Stages[i]], "d", d)
		}
	}
	c.close("svg")
	c.open("svg", "class", "axis", "width", "100%", "height", "16", "aria-hidden", "true")
	s := scale{0, float64(t.Took), false}
	ticks := s.ticks(4)
	for _, v := range ticks {
		anchor := "middle"
		if v == 0 {
			anchor = "start"
		} else if s.at(v) > 0.93 {
			anchor = "end"
		}
		c.text("text", tickText(lab.SecPerOp, v/1e9), "x", percent(s.at(v)), "y", "12", "text-anchor", anchor)
	}
	c.close("svg")
	note := nanos(float64(t.Took)) + ", " + many(len(lane), "track")
	if shown < len(lane) {
		note += fmt.Sprintf(", the first %d of them", shown)
	}
	return figureView{Title: r.short(a), Note: note, SVG: c.html(), Table: fallTable(r, ivs, t)}
}

// gaps are the parts of an operation that no interval covers. ivs are in the order
// of their beginnings.
func gaps(ivs [][4]int64, took int64) (all [][2]int64) {
	end := int64(0)
	for _, iv := range ivs {
		if iv[2] > end {
			all = append(all, [2]int64{end, iv[2]})
		}
		end = max(end, iv[3])
	}
	if end < took {
		all = append(all, [2]int64{end, took})
	}
	return all
}

// fallTable sums a waterfall's stages, which overlap where tracks run at once.
func fallTable(r run, ivs [][4]int64, t results.Timeline) *table {
	out := &table{
		Caption: "Stages of this operation, " + r.Meta.Provenance,
		Head:    []string{"stage", "runs", "first begins at", "last ends at", "summed over tracks"},
	}
	for i, s := range t.Stages {
		n, from, to, sum := 0, t.Took, int64(0), int64(0)
		for _, iv := range ivs {
			if int(iv[0]) == i {
				n, from, to, sum = n+1, min(from, iv[2]), max(to, iv[3]), sum+iv[3]-iv[2]
			}
		}
		if n > 0 {
			out.Rows = append(out.Rows, []string{s, itoa(n), nanos(float64(from)), nanos(float64(to)), nanos(float64(sum))})
		}
	}
	free := int64(0)
	for _, g := range gaps(ivs, t.Took) {
		free += g[1] - g[0]
	}
	out.Rows = append(out.Rows, []string{metrics.Unattributed, "–", "–", "–", nanos(float64(free))})
	return out
}
