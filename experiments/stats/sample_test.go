package stats

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"latlab.example/common/lab"
)

var inf = math.Inf(1)

func TestSummarize(t *testing.T) {
	exact := lab.Unit{Name: "writes/op", Exact: true}
	for _, tt := range []struct {
		name        string
		unit        lab.Unit
		values      []float64
		lo, mid, hi float64
	}{
		// The interval of the median of n values runs from the k-th smallest to
		// the k-th largest; the chance that the median lies outside is
		// 2*P(Binomial(n, 1/2) < k). n=6, k=1: 2/64 = 3.1 %.
		{"six", lab.SecPerOp, []float64{6, 5, 4, 3, 2, 1}, 1, 3.5, 6},
		// n=5, k=1: 2/32 = 6.3 %, so there is none.
		{"five", lab.SecPerOp, []float64{1, 2, 3, 4, 5}, -inf, 3, inf},
		// n=9, k=2: 2*(1+9)/512 = 3.9 %.
		{"nine", lab.SecPerOp, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 2, 5, 8},
		{"exact", exact, []float64{4}, 4, 4, 4},
		{"exact but not", exact, []float64{4, 4, 5}, 4, 4, 5},
	} {
		s := Sample{Unit: tt.unit, Values: tt.values}.Summarize()
		if s.Lo != tt.lo || s.Mid != tt.mid || s.Hi != tt.hi || s.N != len(tt.values) {
			t.Errorf("%s: %+v; want %v, %v, %v", tt.name, s, tt.lo, tt.mid, tt.hi)
		}
		if warned := s.Warning != ""; warned != (tt.name == "exact but not") {
			t.Errorf("%s: warning %q", tt.name, s.Warning)
		}
	}
	if s := (Sample{Unit: lab.SecPerOp}).Summarize(); !math.IsNaN(s.Mid) || s.Lo != -inf || s.Hi != inf {
		t.Errorf("no values: %+v; want unknown", s)
	}
	if n := NeedBlocks(); n != 6 {
		t.Errorf("NeedBlocks() = %d; want 6, by the binomial of five and six", n)
	}
}

func TestSummarizeLeavesValuesAlone(t *testing.T) {
	v := []float64{3, 1, 2}
	Sample{Unit: lab.SecPerOp, Values: v}.Summarize()
	if !slices.Equal(v, []float64{3, 1, 2}) {
		t.Errorf("the values became %v", v)
	}
}

func TestCompare(t *testing.T) {
	a := Sample{Unit: lab.SecPerOp, Values: []float64{1, 2, 3, 4, 5, 6}}
	b := Sample{Unit: lab.SecPerOp, Values: []float64{11, 12, 13, 14, 15, 16}}
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	// All of b above all of a: 1 of the 12!/(6!6!) = 924 orders, on two sides.
	if want := 2.0 / 924; math.Abs(c.P-want) > 1e-9 {
		t.Errorf("p = %v; want %v", c.P, want)
	}
	if want := 13.5 / 3.5; c.Change() != want {
		t.Errorf("change %v; want %v", c.Change(), want)
	}
	if c, err = Compare(a, a); err != nil || c.P < 0.9 {
		t.Errorf("of itself: p = %v, %v; want about 1", c.P, err)
	}
}

func TestCompareExact(t *testing.T) {
	four, five := Sample{Unit: lab.Writes, Values: []float64{4}}, Sample{Unit: lab.Writes, Values: []float64{5, 5}}
	if c, err := Compare(four, five); err != nil || c.P != 0 {
		t.Errorf("4 against 5: p = %v, %v; want 0: any difference is real", c.P, err)
	}
	if c, err := Compare(four, four); err != nil || c.P != 1 {
		t.Errorf("4 against 4: p = %v, %v; want 1", c.P, err)
	}
}

func TestChangeOfZero(t *testing.T) {
	for _, tt := range []struct{ a, b, want float64 }{{2, 1, 0.5}, {0, 0, 1}, {1, 0, 0}, {0, 1, math.NaN()}} {
		c := Comparison{A: Summary{Mid: tt.a}, B: Summary{Mid: tt.b}}
		if got := c.Change(); got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) {
			t.Errorf("from %v to %v: %v; want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	modelled := Sample{Provenance: lab.Modelled, Unit: lab.SecPerOp, Values: []float64{1}}
	measured := Sample{Provenance: lab.Measured, Unit: lab.SecPerOp, Values: []float64{1}}
	_, err := Compare(modelled, measured)
	if !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), "compare within one provenance") {
		t.Errorf("modelled against measured: %v; want ErrMixed and what to do", err)
	}
	other := measured
	other.Unit = lab.Writes
	if _, err := Compare(measured, other); !errors.Is(err, ErrUnits) {
		t.Errorf("two units: %v; want ErrUnits", err)
	}
}

func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.02}, []float64{0.02}},
		{[]float64{0.01, 0.04, 0.03}, []float64{0.03, 0.06, 0.06}},
		{[]float64{0.5, 0.6}, []float64{1, 1}},
		{[]float64{nan, 0.01, 0.02}, []float64{nan, 0.02, 0.02}},
	} {
		got := Holm(tt.p)
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool {
			return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
		}) {
			t.Errorf("Holm(%v) = %v; want %v", tt.p, got, tt.want)
		}
	}
}

func TestHolmNeverLowersAndKeepsOrder(t *testing.T) {
	f := func(raw []uint16) bool {
		p := make([]float64, len(raw))
		for i, v := range raw {
			p[i] = float64(v) / math.MaxUint16
		}
		h := Holm(p)
		for i := range p {
			if h[i] < p[i] || h[i] > 1 {
				return false
			}
			for j := range p {
				if p[i] < p[j] && h[i] > h[j] {
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
}
