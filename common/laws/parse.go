package laws

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are what a figure may end in, with the factor to seconds or, for %, to a
// share.
var units = []struct {
	suffix string
	factor float64
	time   bool
}{
	// "ms" before "s", and so on.
	{"ns", 1e-9, true},
	{"us", 1e-6, true},
	{"µs", 1e-6, true},
	{"ms", 1e-3, true},
	{"min", 60, true},
	{"s", 1, true},
	{"m", 60, true},
	{"h", 3600, true},
	{"%", 1e-2, false},
}

// ParseNumber reads a figure as it was published: "46.27", or "20.32%" for
// 0.2032. What was rounded may be off by half a unit of its last digit, so
// "46.27" lies from 46.265 to 46.275. The error wraps [ErrArgument].
func ParseNumber(s string) (Interval, error) { return parseAlone(s, false) }

// ParseTime reads a time as it was published, "10ms", in seconds: from 0.0095 to
// 0.0105. Units are ns, us, ms, s, min (or m) and h; only "0" needs none, and is
// exact. The error wraps [ErrArgument].
func ParseTime(s string) (Interval, error) { return parseAlone(s, true) }

func parseAlone(s string, isTime bool) (Interval, error) {
	v, err := parseFigure(s, isTime)
	if err != nil {
		err = fmt.Errorf("laws: figure %w", err)
	}
	return v, err
}

// figureError says what is wrong with a figure, so that the figure's name can
// stand before it. It wraps ErrArgument without repeating its text.
type figureError struct{ figure, why string }

func (e figureError) Error() string { return fmt.Sprintf("%q: %s", e.figure, e.why) }
func (e figureError) Unwrap() error { return ErrArgument }

func parseFigure(s string, isTime bool) (Interval, error) {
	number, factor, hasUnit := strings.TrimSpace(s), 1.0, false
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok && u.time == isTime {
			number, factor, hasUnit = strings.TrimSpace(rest), u.factor, true
			break
		}
	}
	// ParseFloat takes more than figures are written in: signs, exponents, hex.
	if number == "" || strings.Trim(number, "0123456789.") != "" {
		example := `"46.27" or "20.32%"`
		if isTime {
			example = `"10ms" or "1.5s"`
		}
		return Interval{}, figureError{s, "write it like " + example}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(v*factor, 0) {
		return Interval{}, figureError{s, "not a decimal number"}
	}
	if isTime && !hasUnit {
		if v != 0 {
			return Interval{}, figureError{s, "a time needs a unit: ns, us, ms, s, min or h"}
		}
		return Exact(0), nil
	}
	decimals := 0
	if dot := strings.IndexByte(number, '.'); dot >= 0 {
		decimals = len(number) - dot - 1
	}
	half := 0.5 * math.Pow10(-decimals)
	return Interval{max(0, v-half) * factor, (v + half) * factor}, nil
}
