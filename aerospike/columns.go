package aerospike

import (
	"fmt"
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

// Columns are rows turned round: one typed slice a bin, each of N values, and
// the state of each row.
type Columns struct {
	N      int
	States []RowState
	Cols   []Column
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
	f := newFiller(specs, len(rows))
	defer f.release()
	for i := range rows {
		var err error
		r := &rows[i]
		f.States[i] = r.state
		switch {
		case r.state != Found:
		case r.rec != nil:
			err = f.fromMap(i, r.rec.Bins)
		default:
			_, err = f.fromBytes(i, r.ops())
		}
		if err != nil {
			return nil, err
		}
	}
	return f.finish(), nil
}

// cut is the columns of rows from to before to. They share memory.
func (c *Columns) cut(from, to int) *Columns {
	part := &Columns{N: to - from, States: c.States[from:to:to], Cols: make([]Column, len(c.Cols))}
	for i, col := range c.Cols {
		p := Column{Spec: col.Spec, Valid: col.Valid[from:to:to]}
		switch col.Kind {
		case Ints:
			p.Ints = col.Ints[from:to:to]
		case Floats:
			p.Floats = col.Floats[from:to:to]
		case Texts:
			p.Texts = col.Texts[from:to:to]
		}
		part.Cols[i] = p
	}
	return part
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
