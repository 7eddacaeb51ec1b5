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
	f.heads = make([][]byte, len(specs))
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
	heads [][]byte // a column: what stands before its numbers in a record; nil until seen
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
	// Records of one kind have their bins in one order, mostly the specs', and
	// numbers of eight bytes: then only the values differ between rows.
	for next := 0; bins.Count > 0; {
		if next < len(f.heads) && f.number(row, next, &bins) {
			next++
			continue
		}
		head := bins.Data
		o, ok := bins.Next()
		if !ok {
			break
		}
		i, known := f.column(o.Name, next)
		if !known || o.Type == wire.Null {
			continue
		}
		next = i + 1
		c := &f.Cols[i]
		var err error
		switch c.Kind {
		case Ints:
			c.Ints[row], err = o.Type.Int(o.Value)
		case Floats:
			c.Floats[row], err = o.Type.Float(o.Value)
		case Texts:
			if o.Type != wire.String {
				err = fmt.Errorf("particle %d", o.Type)
			}
			from := len(f.bytes)
			f.bytes = append(f.bytes, o.Value...)
			f.texts = append(f.texts, text{int32(i), int32(row), from, len(f.bytes)})
		}
		if err != nil {
			return fmt.Errorf("aerospike: row %d, bin %s: %w: %v: %w", row, c.Bin, ErrColumn, c.Kind, err)
		}
		if c.Kind != Texts && len(o.Value) == 8 {
			f.heads[i] = head[:len(head)-len(bins.Data)-8]
		}
		c.Valid[row] = true
	}
	return nil
}

// number takes the first bin if it is column i's, with the very bytes before its
// value that this column's last number had: length, type and name.
func (f *filler) number(row, i int, bins *wire.Ops) bool {
	head, data := f.heads[i], bins.Data
	if head == nil || len(data) < len(head)+8 || string(data[:len(head)]) != string(head) {
		return false
	}
	v := binary.BigEndian.Uint64(data[len(head):])
	c := &f.Cols[i]
	if c.Kind == Ints {
		c.Ints[row] = int64(v)
	} else {
		c.Floats[row] = math.Float64frombits(v)
	}
	c.Valid[row] = true
	bins.Count, bins.Data = bins.Count-1, data[len(head)+8:]
	return true
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
