package report

import (
	"fmt"
	"math"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

const unknown = "unknown"

// Summary writes a figure with its interval: 105.3us [104.9, 105.8].
func Summary(u lab.Unit, s stats.Summary) string {
	if math.IsNaN(s.Mid) {
		return "-"
	}
	scale, suffix := 1.0, ""
	if u.Name == lab.SecPerOp.Name {
		scale, suffix = seconds(s.Mid)
	}
	mid := fmt.Sprintf("%.4g%s", s.Mid*scale, suffix)
	switch {
	case math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0):
		return mid + " [" + unknown + "]"
	case s.Lo == s.Hi:
		return mid
	}
	return fmt.Sprintf("%s [%.4g, %.4g]", mid, s.Lo*scale, s.Hi*scale)
}

// seconds chooses a unit in which the figure has at most three digits before the point.
func seconds(v float64) (scale float64, suffix string) {
	switch v = math.Abs(v); {
	case v < 1e-6:
		return 1e9, "ns"
	case v < 1e-3:
		return 1e6, "us"
	case v < 1:
		return 1e3, "ms"
	}
	return 1, "s"
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

// floor writes a noise floor.
func floor(share float64) string {
	if math.IsInf(share, 0) {
		return unknown
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
