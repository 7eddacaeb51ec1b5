package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// point is a place of a curve; lo and hi are the interval, infinite if unknown.
type point struct {
	x, y, lo, hi float64
	sign         verdict // drawn in place of a dot, if there is one
	said         string  // for who points at it
}

// series is a curve with its name.
type series struct {
	name   string
	points []point
}

// tick is a mark on an axis.
type tick struct {
	at   float64
	text string
}

// plot is a picture with two axes, as large on a phone as on a desk.
type plot struct {
	title    string // for who hears it
	modelled bool
	x, y     scale
	xs, ys   []tick
	xName    string
	zero     float64 // a line across at this value; NaN for none
	band     [2]float64
	dots     bool // points have marks
}

// Sizes of a plot.
const (
	plotWidth  = 360
	plotHeight = 228
	plotLeft   = 58
	plotRight  = 92 // room for the names of curves
	plotTop    = 22
	plotBottom = 36
	lineHeight = 13
)

// scaled says, for a title, that a scale is logarithmic.
func (p plot) scaled() string {
	switch {
	case p.x.log && p.y.log:
		return " (log scales)"
	case p.y.log:
		return " (log scale)"
	}
	return ""
}

func (p plot) px(v float64) float64 {
	return plotLeft + p.x.at(v)*(plotWidth-plotLeft-plotRight)
}

func (p plot) py(v float64) float64 {
	return plotTop + (1-p.y.at(v))*(plotHeight-plotTop-plotBottom)
}

// shades is how many tones a provenance's colour has.
const shades = 5

func (p plot) draw(all []series) template.HTML {
	var c canvas
	const right, bottom = plotWidth - plotRight, plotHeight - plotBottom
	c.open("svg", "class", "chart "+shape(p.modelled), "viewBox", fmt.Sprintf("0 0 %d %d", plotWidth, plotHeight), "role", "img", "aria-label", p.title)
	if p.band[1] > p.band[0] {
		top, low := p.py(p.band[1]), p.py(p.band[0])
		c.leaf("rect", "class", "band", "x", itoa(plotLeft), "y", px(top), "width", itoa(right-plotLeft), "height", px(low-top))
	}
	for _, t := range p.ys {
		y := p.py(t.at)
		c.leaf("line", "class", "grid", "x1", itoa(plotLeft), "x2", itoa(right), "y1", px(y), "y2", px(y))
		c.text("text", t.text, "class", "m", "x", itoa(plotLeft-5), "y", px(y+4), "text-anchor", "end")
	}
	if !math.IsNaN(p.zero) {
		y := p.py(p.zero)
		c.leaf("line", "class", "ref", "x1", itoa(plotLeft), "x2", itoa(right), "y1", px(y), "y2", px(y))
	}
	c.leaf("line", "class", "base", "x1", itoa(plotLeft), "x2", itoa(right), "y1", itoa(bottom), "y2", itoa(bottom))
	last := math.Inf(-1)
	for _, t := range p.xs {
		x := p.px(t.at)
		half := 3.3*float64(len([]rune(t.text))) + 3
		c.leaf("line", "class", "base", "x1", px(x), "x2", px(x), "y1", itoa(bottom), "y2", itoa(bottom+3))
		if x-half < last {
			continue // no room for its text
		}
		last = x + half
		c.text("text", t.text, "class", "m", "x", px(x), "y", itoa(bottom+15), "text-anchor", "middle")
	}
	c.text("text", p.xName, "class", "m", "x", itoa(right), "y", itoa(bottom+30), "text-anchor", "end")
	c.text("text", provenance(p.modelled), "class", "word", "x", itoa(plotWidth-2), "y", "11", "text-anchor", "end")
	for i, s := range all {
		p.curve(&c, s, i)
	}
	for i, l := range p.names(all) {
		c.text("text", l.text, "class", "name c"+itoa(min(i, shades-1)), "x", itoa(right+7), "y", px(l.at+4))
	}
	c.close("svg")
	return c.html()
}

func (p plot) curve(c *canvas, s series, i int) {
	class := "c" + itoa(min(i, shades-1))
	var line [][2]float64
	for _, q := range s.points {
		line = append(line, [2]float64{p.px(q.x), p.py(q.y)})
	}
	c.open("g", "class", class)
	if len(line) > 1 {
		c.leaf("path", "class", "line", "d", path(line))
	}
	for j, q := range s.points {
		x, y := line[j][0], line[j][1]
		if !math.IsInf(q.lo, 0) && !math.IsInf(q.hi, 0) && q.lo < q.hi {
			c.leaf("line", "class", "whisker", "x1", px(x), "x2", px(x), "y1", px(p.py(q.lo)), "y2", px(p.py(q.hi)))
		}
		if !p.dots {
			continue
		}
		c.open("g")
		c.text("title", q.said)
		if q.sign != "" {
			c.leaf("circle", "class", "disc", "cx", px(x), "cy", px(y), "r", "7")
			c.text("text", q.sign.Sign(), "class", "sign "+string(q.sign), "x", px(x), "y", px(y+3.8), "text-anchor", "middle")
		} else {
			c.leaf("circle", "class", "mid", "cx", px(x), "cy", px(y), "r", "3.5")
		}
		c.close("g")
	}
	c.close("g")
}

// names are the curves' names beside their ends, moved apart where they would lie
// on each other.
func (p plot) names(all []series) []tick {
	out := make([]tick, len(all))
	var order []int
	for i, s := range all {
		out[i].text = clip(s.name, 13)
		if n := len(s.points); n > 0 {
			out[i].at = p.py(s.points[n-1].y)
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(out[a].at, out[b].at) })
	for n, i := range order {
		if n > 0 {
			out[i].at = max(out[i].at, out[order[n-1]].at+lineHeight)
		}
	}
	// What was pushed out at the bottom goes up again.
	limit := float64(plotHeight - plotBottom)
	for n := len(order) - 1; n >= 0; n-- {
		out[order[n]].at = min(out[order[n]].at, limit)
		limit = out[order[n]].at - lineHeight
	}
	return out
}

// clip shortens a text to so many letters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
