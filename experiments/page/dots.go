package page

import (
	"fmt"
	"html/template"
	"math"

	"latlab.example/common/lab"
	"latlab.example/experiments/results"
	"latlab.example/experiments/stats"
)

// inset keeps marks at the ends of a plot whole.
const inset = 0.015

// across is where a value lies in a plot that is as wide as its cell.
func (s scale) across(v float64) string { return percent(inset + (1-2*inset)*s.at(v)) }

// shape is the class of marks of a provenance: hollow and dashed, or filled and
// solid.
func shape(modelled bool) string {
	if modelled {
		return "mod"
	}
	return "mea"
}

// axis is the scale above a column of plots.
func axis(s scale, u lab.Unit) template.HTML {
	return axisOf(s, func(v float64) string { return tickText(u, v) })
}

// axisOf leaves out texts that would lie on each other: on a narrow screen, or on
// any.
func axisOf(s scale, text func(float64) string) template.HTML {
	const letter, narrow, wide = 6.8, 220, 330 // pixels
	var c canvas
	c.open("svg", "class", "axis", "width", "100%", "height", "16", "aria-hidden", "true")
	lastNarrow, lastWide := math.Inf(-1), math.Inf(-1)
	for _, t := range s.ticks(5) {
		at, label, anchor := s.at(t), text(t), "middle"
		from := -0.5
		switch {
		case at < 0.06:
			anchor, from = "start", 0
		case at > 0.93:
			anchor, from = "end", -1
		}
		size := letter * float64(len([]rune(label)))
		if at*wide+from*size < lastWide {
			continue
		}
		class := "wide"
		if at*narrow+from*size >= lastNarrow {
			class, lastNarrow = "", at*narrow+(from+1)*size+letter
		}
		lastWide = at*wide + (from+1)*size + letter
		c.text("text", label, "x", s.across(t), "y", "12", "text-anchor", anchor, "class", class)
	}
	c.close("svg")
	return c.html()
}

// tickText is a value on an axis, where 0 needs no unit.
func tickText(u lab.Unit, v float64) string {
	if v == 0 {
		return "0"
	}
	return figure(u, v)
}

// dot draws an arm: a faint tick a trial (× if it was disturbed), a line for the
// interval, a dot for the median, and a hair line where the reference lies.
func dot(s scale, u lab.Unit, a results.Arm, sum stats.Summary, ref float64, modelled bool) template.HTML {
	var c canvas
	c.open("svg", "class", "plot "+shape(modelled), "role", "img",
		"aria-label", fmt.Sprintf("%s: median %s", provenance(modelled), spoken(u, sum)))
	for _, t := range s.ticks(5) {
		c.leaf("line", "class", "grid", "x1", s.across(t), "x2", s.across(t), "y1", "0", "y2", "100%")
	}
	if !math.IsNaN(ref) {
		c.leaf("line", "class", "ref", "x1", s.across(ref), "x2", s.across(ref), "y1", "0", "y2", "100%")
	}
	for _, t := range a.Trials {
		v, ok := t.Values[u.Name]
		switch {
		case !ok:
		case t.Dirty != "":
			c.text("text", "×", "class", "dirty", "x", s.across(v), "y", "30", "text-anchor", "middle")
		default:
			c.leaf("line", "class", "trial", "x1", s.across(v), "x2", s.across(v), "y1", "22", "y2", "29")
		}
	}
	if sum.N > 0 {
		if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
			c.leaf("line", "class", "whisker", "x1", s.across(sum.Lo), "x2", s.across(sum.Hi), "y1", "13", "y2", "13")
		}
		c.leaf("circle", "class", "mid", "cx", s.across(sum.Mid), "cy", "13", "r", "4.5")
	}
	c.close("svg")
	return c.html()
}

func provenance(modelled bool) string {
	if modelled {
		return lab.Modelled.String()
	}
	return lab.Measured.String()
}

// spoken is a summary for who hears the page.
func spoken(u lab.Unit, s stats.Summary) string {
	mid, _ := summary(u, s)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return mid + ", interval unknown"
	}
	return fmt.Sprintf("%s, interval %s to %s", mid, figure(u, s.Lo), figure(u, s.Hi))
}
