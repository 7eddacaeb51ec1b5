package aerospike

import (
	"encoding/binary"
	"fmt"
	"math"

	"latlab.example/aerospike/wire"
)

// Kind is the type of a column.
type Kind uint8

// The kinds.
const (
	Ints Kind = iota
	Floats
	Texts
)

func (k Kind) String() string { return [...]string{"integers", "floats", "texts"}[k] }

// Spec names a bin and the kind of its column.
type Spec struct {
	Bin  string
	Kind Kind
}

// Columns are rows turned round: one typed slice a bin, each of N values.
type Columns struct {
	N    int
	Cols []Column
}

// Column holds a bin's values in the slice of its kind. Where Valid is false the
// row or its bin isn't there, and the value, zero, means nothing.
type Column struct {
	Spec
	Ints   []int64
	Floats []float64
	Texts  []string
	Valid  []bool
}

// NewColumns fills columns from rows. A bin of another kind is an error; bins
// that no spec names are skipped.
func NewColumns(specs []Spec, rows []Row) (*Columns, error) {
	f := filler{Columns: &Columns{N: len(rows), Cols: make([]Column, len(specs))}}
	texts := 0
	for i, s := range specs {
		c := &f.Cols[i]
		c.Spec, c.Valid = s, make([]bool, len(rows))
		switch s.Kind {
		case Ints:
			c.Ints = make([]int64, len(rows))
		case Floats:
			c.Floats = make([]float64, len(rows))
		case Texts:
			c.Texts = make([]string, len(rows))
			texts++
		}
	}
	if texts > 0 {
		f.texts = make([]text, 0, texts*len(rows))
	}
	for i := range rows {
		var err error
		switch r := &rows[i]; {
		case r.state != Found:
		case r.rec != nil:
			err = f.fromMap(i, r.rec.Bins)
		default:
			err = f.fromBytes(i, r.bins)
		}
		if err != nil {
			return nil, err
		}
	}
	f.finish()
	return f.Columns, nil
}

// filler fills columns. Texts that are still bytes are gathered, so that all of
// them become one string.
type filler struct {
	*Columns
	bytes []byte
	texts []text
}

type text struct {
	col, row int32
	from, to int
}

func (f *filler) fromMap(row int, bins map[string]any) error {
	for i := range f.Cols {
		c := &f.Cols[i]
		v, ok := bins[c.Bin]
		if !ok || v == nil {
			continue
		}
		switch c.Kind {
		case Ints:
			var n int
			n, ok = v.(int)
			c.Ints[row] = int64(n)
		case Floats:
			c.Floats[row], ok = v.(float64)
		case Texts:
			c.Texts[row], ok = v.(string)
		}
		if !ok {
			return fmt.Errorf("aerospike: row %d, bin %s: %T: %w: %v", row, c.Bin, v, ErrColumn, c.Kind)
		}
		c.Valid[row] = true
	}
	return nil
}

func (f *filler) fromBytes(row int, bins wire.Ops) error {
	// Records of one kind have their bins in one order, mostly the specs'.
	next := 0
	for w := bins.Walk(); w.Next(); {
		i, known := f.column(w.Name(), next)
		if !known || w.Type() == wire.Null {
			continue
		}
		next = i + 1
		c, value := &f.Cols[i], w.Value()
		switch {
		case c.Kind == Floats && w.Type() == wire.Float && len(value) == 8:
			c.Floats[row] = math.Float64frombits(binary.BigEndian.Uint64(value))
		case c.Kind == Ints && w.Type() == wire.Int:
			n, err := wire.Int.Int(value)
			if err != nil {
				return fmt.Errorf("aerospike: row %d, bin %s: %w: %v: %w", row, c.Bin, ErrColumn, c.Kind, err)
			}
			c.Ints[row] = n
		case c.Kind == Texts && w.Type() == wire.String:
			from := len(f.bytes)
			f.bytes = append(f.bytes, value...)
			f.texts = append(f.texts, text{int32(i), int32(row), from, len(f.bytes)})
		default:
			return fmt.Errorf("aerospike: row %d, bin %s: particle %d of %d bytes: %w: %v", row, c.Bin, w.Type(), len(value), ErrColumn, c.Kind)
		}
		c.Valid[row] = true
	}
	return nil
}

// column finds a bin's column, guess first.
func (f *filler) column(bin []byte, guess int) (int, bool) {
	if guess < len(f.Cols) && f.Cols[guess].Bin == string(bin) {
		return guess, true
	}
	for i := range f.Cols {
		if f.Cols[i].Bin == string(bin) {
			return i, true
		}
	}
	return 0, false
}

func (f *filler) finish() {
	all := string(f.bytes)
	for _, t := range f.texts {
		f.Cols[t.col].Texts[t.row] = all[t.from:t.to]
	}
}
