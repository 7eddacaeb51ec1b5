// Package dlrm is a deep learning recommendation model's forward pass, in plain
// Go: the work that a service does with the features it has read. Its weights
// are drawn, so its scores mean nothing; its cost is that of a trained model of
// the same shape.
//
//  1. Dense features go through the bottom layers, each followed by
//     a rectifier, to a vector as long as an embedding.
//  2. Each sparse feature picks a row of its table.
//  3. These vectors interact: the dot product of each pair.
//  4. The bottom vector and the products go through the top layers; the last has
//     one output and no rectifier. Its logistic function is the score.
//
// (Naumov et al., "Deep Learning Recommendation Model for Personalization and
// Recommendation Systems", 2019.)
//
// A [Model] doesn't change after it was made; any number of goroutines may score
// with it, each with a [Scratch] of its own.
package dlrm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// ErrShape occurs when layers and tables don't fit together; it comes wrapped
// with which.
var ErrShape = errors.New("not a model")

// Layer is a fully connected layer: Out rows of In weights each, and a bias a row.
type Layer struct {
	In, Out int
	Weights []float32
	Bias    []float32
}

// Table is an embedding table: rows of Dim numbers.
type Table struct {
	Dim    int
	Values []float32
}

// Model is a model's layers and tables.
type Model struct {
	Bottom []Layer
	Tables []Table // one a sparse feature
	Top    []Layer
}

// Shape is what New makes.
type Shape struct {
	Dense  int // features
	Sparse int // features
	Rows   int // of each table
	Dim    int // of an embedding
	Bottom []int
	Top    []int
}

// Study is the published study's shape: 8 dense and 5 sparse features,
// embeddings of 16, layers 128-64-16 below and 256-128-1 above. It doesn't say
// how many rows its tables have.
var Study = Shape{Dense: 8, Sparse: 5, Rows: 1000, Dim: 16, Bottom: []int{128, 64, 16}, Top: []int{256, 128, 1}}

// New draws a model's weights. The same seed gives the same model.
func New(s Shape, seed uint64) (*Model, error) {
	r := rand.New(rand.NewPCG(seed, 0x646c726d))
	draw := func(n, fan int) []float32 {
		scale := math.Sqrt(2 / float64(max(fan, 1)))
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() * scale)
		}
		return v
	}
	layers := func(in int, outs []int) (all []Layer) {
		for _, out := range outs {
			all = append(all, Layer{In: in, Out: out, Weights: draw(in*out, in), Bias: make([]float32, out)})
			in = out
		}
		return all
	}
	if s.Dense < 1 || s.Sparse < 0 || s.Rows < 1 || s.Dim < 1 {
		return nil, fmt.Errorf("dlrm: %w: %+v", ErrShape, s)
	}
	for _, n := range append(append([]int{}, s.Bottom...), s.Top...) {
		if n < 1 {
			return nil, fmt.Errorf("dlrm: %w: a layer of %d", ErrShape, n)
		}
	}
	m := &Model{Bottom: layers(s.Dense, s.Bottom)}
	for range s.Sparse {
		m.Tables = append(m.Tables, Table{Dim: s.Dim, Values: draw(s.Rows*s.Dim, s.Dim)})
	}
	m.Top = layers(s.Dim+pairs(s.Sparse+1), s.Top)
	return m, m.Check()
}

func pairs(n int) int { return n * (n - 1) / 2 }

// Check says whether layers and tables fit together.
func (m *Model) Check() error {
	if len(m.Bottom) == 0 || len(m.Top) == 0 {
		return fmt.Errorf("dlrm: %w: it needs a bottom and a top layer", ErrShape)
	}
	dim := m.Bottom[len(m.Bottom)-1].Out
	for i, t := range m.Tables {
		if t.Dim != dim || len(t.Values) == 0 || len(t.Values)%dim != 0 {
			return fmt.Errorf("dlrm: %w: table %d has %d values in rows of %d, the bottom vector has %d", ErrShape, i, len(t.Values), t.Dim, dim)
		}
	}
	in := dim + pairs(len(m.Tables)+1)
	if err := check("bottom", m.Bottom, m.Bottom[0].In); err != nil {
		return err
	}
	if err := check("top", m.Top, in); err != nil {
		return err
	}
	if out := m.Top[len(m.Top)-1].Out; out != 1 {
		return fmt.Errorf("dlrm: %w: the last top layer has %d outputs, want 1", ErrShape, out)
	}
	return nil
}

func check(name string, layers []Layer, in int) error {
	for i, l := range layers {
		if l.In != in || l.In < 1 || l.Out < 1 || len(l.Weights) != l.In*l.Out || len(l.Bias) != l.Out {
			return fmt.Errorf("dlrm: %w: %s layer %d takes %d of %d inputs, with %d weights and %d biases for %d outputs",
				ErrShape, name, i, l.In, in, len(l.Weights), len(l.Bias), l.Out)
		}
		in = l.Out
	}
	return nil
}

// Dense is the number of dense features.
func (m *Model) Dense() int { return m.Bottom[0].In }

// Sparse is the number of sparse features.
func (m *Model) Sparse() int { return len(m.Tables) }

// Scratch is the memory of a forward pass. One goroutine uses it at a time.
type Scratch struct{ a, b, in []float32 }

// NewScratch makes memory for passes of the model.
func (m *Model) NewScratch() *Scratch {
	wide := 0
	for _, layers := range [][]Layer{m.Bottom, m.Top} {
		for _, l := range layers {
			wide = max(wide, l.Out)
		}
	}
	return &Scratch{a: make([]float32, wide), b: make([]float32, wide), in: make([]float32, m.Top[0].In)}
}

// Score is the score of one candidate, 0 to 1. It takes Dense dense and Sparse
// sparse features; a sparse one beyond its table's rows starts again at the
// first. It panics on other numbers of features, which are errors in the program.
func (m *Model) Score(s *Scratch, dense []float32, sparse []uint32) float32 {
	if len(dense) != m.Dense() || len(sparse) != m.Sparse() {
		panic(fmt.Sprintf("dlrm: %d dense and %d sparse features, want %d and %d", len(dense), len(sparse), m.Dense(), m.Sparse()))
	}
	x := dense
	for i := range m.Bottom {
		x = m.Bottom[i].apply(x, s.next(x), true)
	}
	dim := len(x)
	in := s.in[:dim]
	copy(in, x)
	for i := -1; i < len(m.Tables); i++ {
		for j := i + 1; j < len(m.Tables); j++ {
			one := s.in[:dim]
			if i >= 0 {
				one = m.Tables[i].row(sparse[i])
			}
			in = append(in, dot(one, m.Tables[j].row(sparse[j])))
		}
	}
	x = in
	for i := range m.Top {
		x = m.Top[i].apply(x, s.next(x), i < len(m.Top)-1)
	}
	return float32(1 / (1 + math.Exp(-float64(x[0]))))
}

// next is memory that x isn't in.
func (s *Scratch) next(x []float32) []float32 {
	if len(x) > 0 && &x[0] == &s.a[0] {
		return s.b
	}
	return s.a
}

func (t *Table) row(i uint32) []float32 {
	rows := uint32(len(t.Values) / t.Dim)
	from := int(i%rows) * t.Dim
	return t.Values[from : from+t.Dim]
}

func (l *Layer) apply(x, y []float32, rectify bool) []float32 {
	y = y[:l.Out]
	for o := range y {
		v := l.Bias[o] + dot(l.Weights[o*l.In:(o+1)*l.In], x)
		if rectify && v < 0 {
			v = 0
		}
		y[o] = v
	}
	return y
}

// dot adds in four lines, which a processor does side by side.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
