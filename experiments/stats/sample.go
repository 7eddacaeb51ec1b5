package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"latlab.example/common/lab"
)

// Confidence is the level of all intervals.
const Confidence = 0.95

// Errors of Compare.
var (
	// ErrMixed occurs when a modelled figure is set against a measured one.
	ErrMixed = errors.New("modelled and measured figures can't be compared")
	// ErrUnits occurs when figures of two units are compared.
	ErrUnits = errors.New("the units differ")
)

// Sample is the figures of one unit of one arm.
type Sample struct {
	Provenance lab.Provenance
	Unit       lab.Unit
	Values     []float64
}

// Summary is a median with its interval, in the unit's own measure. Of an exact
// unit it is the most frequent value with the range. Without values Mid is NaN;
// an unknown bound is infinite.
type Summary struct {
	Lo, Mid, Hi float64
	N           int
	Warning     string // as "exact distribution expected, but ..."; empty if there is none
}

// Summarize gives the sample's summary.
func (s Sample) Summarize() Summary {
	if len(s.Values) == 0 {
		return Summary{Lo: math.Inf(-1), Mid: math.NaN(), Hi: math.Inf(1)}
	}
	b := assume(s.Unit).Summary(sample(s.Values), Confidence)
	out := Summary{Lo: b.Lo, Mid: b.Center, Hi: b.Hi, N: len(s.Values)}
	if math.IsInf(b.Lo, 0) || math.IsInf(b.Hi, 0) {
		// With one value too few benchmath still bounds one side; a rule that
		// looks at that side only would not notice.
		out.Lo, out.Hi = math.Inf(-1), math.Inf(1)
	}
	if err := errors.Join(b.Warnings...); err != nil && s.Unit.Exact {
		out.Warning = err.Error()
	}
	return out
}

// Comparison is two samples side by side.
type Comparison struct {
	A, B Summary
	P    float64 // of the Mann-Whitney U test; of an exact unit 1 if the values are equal, else 0
}

// Change is B's median over A's: 1 if they are equal, NaN if only A's is 0.
func (c Comparison) Change() float64 {
	if c.A.Mid == c.B.Mid {
		return 1
	}
	if c.A.Mid == 0 {
		return math.NaN()
	}
	return c.B.Mid / c.A.Mid
}

// Compare sets two samples of one unit and one provenance side by side. The
// error wraps ErrMixed or ErrUnits.
func Compare(a, b Sample) (Comparison, error) {
	if a.Provenance != b.Provenance {
		return Comparison{}, fmt.Errorf("%s: %s against %s: %w; compare within one provenance", a.Unit.Name, a.Provenance, b.Provenance, ErrMixed)
	}
	if a.Unit != b.Unit {
		return Comparison{}, fmt.Errorf("%q against %q: %w; compare figures of one unit", a.Unit.Name, b.Unit.Name, ErrUnits)
	}
	return Comparison{A: a.Summarize(), B: b.Summarize(), P: pValue(a.Unit, a.Values, b.Values)}, nil
}

// Across sets two samples of one unit and different provenance side by side. P is
// NaN: a model's scatter says nothing about a host's. The error wraps ErrUnits.
func Across(a, b Sample) (Comparison, error) {
	if a.Unit != b.Unit {
		return Comparison{}, fmt.Errorf("%q against %q: %w; compare figures of one unit", a.Unit.Name, b.Unit.Name, ErrUnits)
	}
	return Comparison{A: a.Summarize(), B: b.Summarize(), P: math.NaN()}, nil
}

// pValue is NaN where a sample is empty.
func pValue(u lab.Unit, a, b []float64) float64 {
	switch {
	case len(a) == 0 || len(b) == 0:
		return math.NaN()
	case u.Exact:
		if sa, sb := (Sample{Unit: u, Values: a}).Summarize(), (Sample{Unit: u, Values: b}).Summarize(); sa.Mid != sb.Mid {
			return 0
		}
		return 1
	}
	// It answers 1 when all values of both samples are the same.
	// With ties its sum of both tails can come out above 1.
	return min(1, benchmath.AssumeNothing.Compare(sample(a), sample(b)).P)
}

func assume(u lab.Unit) benchmath.Assumption {
	if u.Exact {
		return benchmath.AssumeExact
	}
	return benchmath.AssumeNothing
}

// sample copies the values, since NewSample sorts them in place.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// NeedBlocks is the smallest number of blocks for which an interval is known.
func NeedBlocks() int {
	for n := 2; ; n++ {
		if s := (Sample{Values: make([]float64, n)}).Summarize(); !math.IsInf(s.Lo, 0) {
			return n
		}
	}
}
