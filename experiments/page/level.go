package page

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// level is a factor's setting as an arm's name has it.
type level struct{ factor, label string }

// levels are the parts of an arm's name: strategy=batch/keys=100.
func levels(arm string) []level {
	var all []level
	for part := range strings.SplitSeq(arm, "/") {
		factor, label, ok := strings.Cut(part, "=")
		if !ok {
			factor, label = "", part
		}
		all = append(all, level{factor, label})
	}
	return all
}

// number reads a label as a number: 100, 0.9, 50us, 4KiB. Units of one factor are
// the same, so that numbers of one factor may be compared.
func number(label string) (float64, bool) {
	if v, err := strconv.ParseFloat(label, 64); err == nil {
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	if d, err := time.ParseDuration(label); err == nil {
		return d.Seconds(), true
	}
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		if digits, ok := strings.CutSuffix(label, u.suffix); ok {
			v, err := strconv.ParseFloat(digits, 64)
			return v * u.bytes, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
		}
	}
	return 0, false
}

// differing are the levels in which an arm differs from the baseline.
func differing(arm, baseline string) []level {
	base := make(map[string]string)
	for _, l := range levels(baseline) {
		base[l.factor] = l.label
	}
	var all []level
	for _, l := range levels(arm) {
		if base[l.factor] != l.label {
			all = append(all, l)
		}
	}
	return all
}

// name is how a panel calls an arm: its differing levels, without the factor
// where a heading says it.
func name(ls []level, without string) string {
	if len(ls) == 0 {
		return "baseline"
	}
	var parts []string
	for _, l := range ls {
		if l.factor == without || l.factor == "" {
			parts = append(parts, l.label)
		} else {
			parts = append(parts, l.factor+"="+l.label)
		}
	}
	return strings.Join(parts, " ")
}
