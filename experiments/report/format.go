package report

import (
	"fmt"
	"math"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

const unknown = "unknown"

// Summary writes a figure with its interval: 105.3us [104.9, 105.8]. An interval
// that is the figure itself in so many digits is left out.
func Summary(u lab.Unit, s stats.Summary) string {
	if math.IsNaN(s.Mid) {
		return "-"
	}
	m := measureOf(u, s.Mid)
	mid, lo, hi := m.number(s.Mid), m.number(s.Lo), m.number(s.Hi)
	switch {
	case math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0):
		return mid + m.suffix + " [" + unknown + "]"
	case lo == mid && hi == mid:
		return mid + m.suffix
	}
	return fmt.Sprintf("%s%s [%s, %s]", mid, m.suffix, lo, hi)
}

// Figure writes a figure alone: 34.0KiB.
func Figure(u lab.Unit, v float64) string {
	m := measureOf(u, v)
	return m.number(v) + m.suffix
}

// measure is how figures of about one size are written.
type measure struct {
	scale  float64
	suffix string
	format string
}

func (m measure) number(v float64) string { return fmt.Sprintf(m.format, v*m.scale) }

// measureOf chooses for a figure of the unit what leaves few digits before the
// point. Units of bytes and of nanoseconds are told by their names: dev-write-bytes,
// B/op, p95-ns/op, health-max-ns.
func measureOf(u lab.Unit, v float64) measure {
	name, _, _ := strings.Cut(u.Name, "/")
	switch {
	case u.Name == lab.SecPerOp.Name:
		return seconds(v)
	case name == "B" || strings.HasSuffix(name, "bytes"):
		return byteSize(v)
	case name == "ns" || strings.HasSuffix(name, "-ns"):
		m := seconds(v / 1e9)
		m.scale /= 1e9
		return m
	}
	return measure{1, "", "%.4g"}
}

func seconds(v float64) measure {
	switch v = math.Abs(v); {
	case v < 1e-6:
		return measure{1e9, "ns", "%.4g"}
	case v < 1e-3:
		return measure{1e6, "us", "%.4g"}
	case v < 1:
		return measure{1e3, "ms", "%.4g"}
	}
	return measure{1, "s", "%.4g"}
}

func byteSize(v float64) measure {
	m := measure{1, "B", "%.4g"}
	for _, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(v)*m.scale < 1024 {
			break
		}
		m = measure{m.scale / 1024, suffix, "%.1f"}
	}
	return m
}

// Change writes a ratio as a change with its interval: -43.2% [-45.0, -41.1].
func Change(i lab.Interval) string {
	switch {
	case math.IsNaN(i.Mid):
		return unknown
	case math.IsInf(i.Lo, 0) || math.IsInf(i.Hi, 0):
		return Percent(i.Mid) + " [" + unknown + "]"
	case i.Lo == i.Hi:
		return Percent(i.Mid)
	}
	return fmt.Sprintf("%s [%+.1f, %+.1f]", Percent(i.Mid), 100*(i.Lo-1), 100*(i.Hi-1))
}

// Percent writes a ratio as a change: +2.5%.
func Percent(ratio float64) string {
	if math.IsNaN(ratio) {
		return unknown
	}
	return fmt.Sprintf("%+.1f%%", 100*(ratio-1))
}

// P writes a p-value; of 0 it says exact, since only exact units give it.
func P(p float64) string {
	switch {
	case math.IsNaN(p):
		return "-"
	case p == 0:
		return "exact"
	case p < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// floor writes a noise floor: as a gain, since a control that seems to take twice
// the time seems, the other way round, to gain half of it.
func floor(share float64) string {
	if math.IsInf(share, 0) {
		return unknown
	}
	return fmt.Sprintf("%.1f %% as a gain", 100*share)
}
