package dlrm_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"testing/quick"

	"latlab.example/aerospike/dlrm"
)

// tiny is small enough to be worked out by hand.
func tiny() *dlrm.Model {
	return &dlrm.Model{
		Bottom: []dlrm.Layer{
			{In: 2, Out: 2, Weights: []float32{1, 2, -1, 0}, Bias: []float32{0, 0.5}},
			{In: 2, Out: 2, Weights: []float32{0.5, 0, 1, 1}, Bias: []float32{1, -2}},
		},
		Tables: []dlrm.Table{
			{Dim: 2, Values: []float32{1, 0, 2, -1}},
			{Dim: 2, Values: []float32{0, 3, 1, 1, -1, 2}},
		},
		Top: []dlrm.Layer{
			{In: 5, Out: 2, Weights: []float32{1, 0, 0.5, 0, 1, 0, 1, 0, 1, 0}, Bias: []float32{-5, 0}},
			{In: 2, Out: 1, Weights: []float32{0.5, -0.25}, Bias: []float32{0.1}},
		},
	}
}

// By hand, for dense (1, 2) and sparse (1, 2):
//
//	bottom 1   (1*1 + 2*2 + 0, -1*1 + 0.5) = (5, -0.5), rectified (5, 0)
//	bottom 2   (0.5*5 + 1, 5 + 0 - 2) = (3.5, 3)
//	rows       (2, -1) and (-1, 2)
//	products   3.5*2 - 3 = 4;  -3.5 + 3*2 = 2.5;  -2 - 2 = -4
//	top 1      3.5 + 0.5*4 + 1*-4 - 5 = -3.5, rectified 0;  3 + 2.5 = 5.5
//	top 2      0.5*0 - 0.25*5.5 + 0.1 = -1.275
//	score      1 / (1 + e^1.275) = 0.21840...
func TestByHand(t *testing.T) {
	m := tiny()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	s := m.NewScratch()
	for range 2 { // the scratch keeps nothing
		got := m.Score(s, []float32{1, 2}, []uint32{1, 2})
		if want := 1 / (1 + math.Exp(1.275)); math.Abs(float64(got)-want) > 1e-6 {
			t.Errorf("score %v, want %v", got, want)
		}
	}
	// Row 4 of three is row 1; row 3 of two is row 1.
	if a, b := m.Score(s, []float32{1, 2}, []uint32{3, 4}), m.Score(s, []float32{1, 2}, []uint32{1, 1}); a != b {
		t.Errorf("rows beyond the table: %v, want %v", a, b)
	}
}

// The study's shape has 31 inputs to its top layers, gives the same scores for a
// seed, by any number of goroutines, and scores between 0 and 1.
func TestStudysShape(t *testing.T) {
	m, err := dlrm.New(dlrm.Study, 7)
	if err != nil {
		t.Fatal(err)
	}
	if in := m.Top[0].In; in != 16+15 {
		t.Errorf("%d inputs to the top layers, want 31", in)
	}
	again, err := dlrm.New(dlrm.Study, 7)
	if err != nil {
		t.Fatal(err)
	}
	other, err := dlrm.New(dlrm.Study, 8)
	if err != nil {
		t.Fatal(err)
	}
	dense, sparse := []float32{1, 2, 3, 4, 5, 6, 7, 8}, []uint32{0, 10, 999, 1000, 1 << 31}
	first := m.Score(m.NewScratch(), dense, sparse)
	if got := again.Score(again.NewScratch(), dense, sparse); got != first {
		t.Errorf("the same seed scores %v, then %v", first, got)
	}
	if got := other.Score(other.NewScratch(), dense, sparse); got == first {
		t.Errorf("another seed scores %v too", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := m.NewScratch()
			for range 50 {
				if got := m.Score(s, dense, sparse); got != first {
					t.Errorf("beside others: %v, want %v", got, first)
				}
			}
		})
	}
	wg.Wait()
	s := m.NewScratch()
	within := func(d [8]float32, p [5]uint32) bool {
		for i := range d {
			d[i] = float32(math.Mod(float64(d[i]), 100))
		}
		score := m.Score(s, d[:], p[:])
		return score >= 0 && score <= 1
	}
	if err := quick.Check(within, nil); err != nil {
		t.Error(err)
	}
}

func TestModelsThatCannotBe(t *testing.T) {
	spoil := map[string]func(*dlrm.Model){
		"no top":            func(m *dlrm.Model) { m.Top = nil },
		"a table too wide":  func(m *dlrm.Model) { m.Tables[0].Dim = 4 },
		"half a row":        func(m *dlrm.Model) { m.Tables[1].Values = m.Tables[1].Values[:5] },
		"an empty table":    func(m *dlrm.Model) { m.Tables[1].Values = nil },
		"a weight less":     func(m *dlrm.Model) { m.Bottom[1].Weights = m.Bottom[1].Weights[:3] },
		"a bias less":       func(m *dlrm.Model) { m.Top[0].Bias = m.Top[0].Bias[:1] },
		"layers apart":      func(m *dlrm.Model) { m.Bottom[1].In = 3 },
		"a table too few":   func(m *dlrm.Model) { m.Tables = m.Tables[:1] },
		"two scores":        func(m *dlrm.Model) { m.Top = m.Top[:1] },
		"nothing at bottom": func(m *dlrm.Model) { m.Bottom = nil },
	}
	for name, f := range spoil {
		m := tiny()
		f(m)
		if err := m.Check(); !errors.Is(err, dlrm.ErrShape) {
			t.Errorf("%s: %v, want ErrShape", name, err)
		}
	}
	for _, s := range []dlrm.Shape{{}, {Dense: 1, Rows: 1, Dim: 2, Bottom: []int{3}, Top: []int{1}}, {Dense: 1, Rows: 1, Dim: 1, Bottom: []int{0}, Top: []int{1}}} {
		if _, err := dlrm.New(s, 1); !errors.Is(err, dlrm.ErrShape) {
			t.Errorf("%+v: %v, want ErrShape", s, err)
		}
	}
}

// BenchmarkScore is the study's shape, one candidate.
func BenchmarkScore(b *testing.B) {
	m, err := dlrm.New(dlrm.Study, 1)
	if err != nil {
		b.Fatal(err)
	}
	s := m.NewScratch()
	dense, sparse := make([]float32, 8), make([]uint32, 5)
	b.ReportAllocs()
	for b.Loop() {
		m.Score(s, dense, sparse)
	}
}
