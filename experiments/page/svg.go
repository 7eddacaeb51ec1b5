package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// canvas writes SVG. Names of elements and attributes are constants of this
// package; values and texts are escaped here and nowhere else.
type canvas struct{ b strings.Builder }

// open starts an element. attrs are names and values in turn.
func (c *canvas) open(element string, attrs ...string) { c.tag(element, attrs, ">") }

// leaf is an element without content.
func (c *canvas) leaf(element string, attrs ...string) { c.tag(element, attrs, "/>") }

func (c *canvas) tag(element string, attrs []string, end string) {
	c.b.WriteString("<" + element)
	for i := 0; i+1 < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			c.b.WriteString(" " + attrs[i] + `="` + escape(attrs[i+1]) + `"`)
		}
	}
	c.b.WriteString(end)
}

func (c *canvas) close(element string) { c.b.WriteString("</" + element + ">") }

// text is an element with a text in it.
func (c *canvas) text(element, content string, attrs ...string) {
	c.open(element, attrs...)
	c.b.WriteString(escape(content))
	c.close(element)
}

// escape makes a text harmless, and drops what XML can't hold: control characters.
func escape(s string) string {
	return template.HTMLEscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		return r
	}, s))
}

// html is what was written: markup of this package around escaped values.
func (c *canvas) html() template.HTML { return template.HTML(c.b.String()) }

// px writes a length in the picture's own units, short.
func px(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// percent writes a share of the picture's width, so that a picture is as wide as
// the screen lets it be while its texts keep their size.
func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "0"
	}
	return strconv.FormatFloat(100*share, 'f', 2, 64) + "%"
}

func itoa(n int) string { return strconv.Itoa(n) }

// path joins points to a line.
func path(points [][2]float64) string {
	var s strings.Builder
	for i, p := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&s, "%s%s %s", letter, px(p[0]), px(p[1]))
	}
	return s.String()
}
