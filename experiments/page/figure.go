package page

import (
	"math"
	"regexp"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/report"
	"latlab.example/experiments/stats"
)

// summary is a median with its interval, in two texts, as the run printed them.
func summary(u lab.Unit, s stats.Summary) (mid, interval string) {
	u, by := plain(u)
	s.Lo, s.Mid, s.Hi = s.Lo*by, s.Mid*by, s.Hi*by
	mid, interval, _ = strings.Cut(report.Summary(u, s), " [")
	if interval != "" {
		interval = "[" + interval
	}
	return typeset(mid), typeset(interval)
}

// figure is a value alone.
func figure(u lab.Unit, v float64) string {
	u, by := plain(u)
	return typeset(report.Figure(u, v*by))
}

// plain is the unit of which report writes figures readably: one that counts
// nanoseconds is written as a time.
func plain(u lab.Unit) (lab.Unit, float64) {
	if strings.Contains(u.Name, "-ns/") {
		return lab.SecPerOp, 1e-9
	}
	return u, 1
}

// unitName is the unit as a heading: p95-ns/op is a p95/op once its figures have
// units of their own.
func unitName(u lab.Unit) string {
	if u.Name == lab.SecPerOp.Name {
		return "time/op"
	}
	return strings.Replace(u.Name, "-ns/", "/", 1)
}

// change is an effect in two texts.
func change(i lab.Interval) (mid, interval string) {
	if math.IsNaN(i.Mid) {
		return "effect unknown", ""
	}
	mid, interval, _ = strings.Cut(report.Change(i), " [")
	if interval != "" {
		interval = "[" + interval
	}
	return typeset(mid), typeset(interval)
}

var (
	minus  = regexp.MustCompile(`(^|[^\w)])-(\d)`)
	suffix = regexp.MustCompile(`(\d) ?(us|ns|ms|s|%|B|KiB|MiB|GiB|TiB)(\W|$)`)
)

// typeset puts typographic signs in place of those of a terminal: a true minus, a
// micro sign, a narrow space before a unit.
func typeset(s string) string {
	if s == "-" {
		return "–"
	}
	s = minus.ReplaceAllString(s, "$1−$2")
	s = suffix.ReplaceAllString(s, "$1\u202f$2$3")
	return strings.ReplaceAll(s, "\u202fus", "\u202fµs")
}

// nanos is a time of a histogram or a timeline.
func nanos(ns float64) string { return figure(lab.SecPerOp, ns/1e9) }

// share is a percentage of a whole.
func share(p float64) string {
	switch {
	case p == 0:
		return "0"
	case p < 0.1:
		return "<\u202f0.1\u202f%"
	}
	return report.Figure(lab.Unit{}, math.Round(p*10)/10) + "\u202f%"
}
