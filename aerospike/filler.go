package aerospike

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/wire"
)

// filler fills columns. Texts that are still bytes are gathered, so that all of
// them become one string.
type filler struct {
	*Columns
	scratch *scratch
	wrong   error // a bin of another kind than its column
}

// scratch is a filler's memory that it gives back.
type scratch struct {
	bytes []byte
	texts []text
	heads []head
}

type text struct {
	col, row int32
	from, to int
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// newFiller makes columns of n rows, all of a kind in one piece of memory.
func newFiller(specs []Spec, n int) *filler {
	var of [Texts + 1]int
	for _, s := range specs {
		of[s.Kind]++
	}
	ints, floats, texts := make([]int64, of[Ints]*n), make([]float64, of[Floats]*n), make([]string, of[Texts]*n)
	valid := make([]bool, len(specs)*n)
	c := &Columns{N: n, States: make([]RowState, n), Cols: make([]Column, len(specs))}
	for i, s := range specs {
		col := Column{Spec: s}
		col.Valid, valid = valid[:n:n], valid[n:]
		switch s.Kind {
		case Ints:
			col.Ints, ints = ints[:n:n], ints[n:]
		case Floats:
			col.Floats, floats = floats[:n:n], floats[n:]
		case Texts:
			col.Texts, texts = texts[:n:n], texts[n:]
		}
		c.Cols[i] = col
	}
	f := &filler{Columns: c, scratch: scratches.Get().(*scratch)}
	s := f.scratch
	s.bytes, s.texts = s.bytes[:0], s.texts[:0]
	s.heads = append(s.heads[:0], make([]head, len(specs))...)
	return f
}

// release gives memory back.
func (f *filler) release() { scratches.Put(f.scratch) }

// finish makes the texts.
func (f *filler) finish() *Columns {
	all := string(f.scratch.bytes)
	for _, t := range f.scratch.texts {
		if c := &f.Cols[t.col]; c.Valid[t.row] {
			c.Texts[t.row] = all[t.from:t.to]
		}
	}
	return f.Columns
}

func (f *filler) pending(i int) bool { return f.States[i] == pending }

func (f *filler) lose(i int) {
	f.States[i] = Failed
	for c := range f.Cols {
		switch col := &f.Cols[c]; col.Kind {
		case Ints:
			col.Ints[i] = 0
		case Floats:
			col.Floats[i] = 0
		}
		f.Cols[c].Valid[i] = false
	}
}

// frame implements sink.
func (f *filler) frame(b []byte, node *as.Node, failed *failures) error {
	for len(b) > 0 {
		h, n, err := wire.ParseRowHead(b)
		if err != nil {
			return err
		}
		i, err := place(h, f.N, f)
		if err != nil {
			return err
		}
		f.States[i] = stateOf(h.Result, node, failed)
		if f.States[i] != Found { // whatever stands there isn't a record
			_, _, n, err := wire.ParseRow(b)
			if err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		if b, err = f.fromBytes(i, wire.Ops{Count: int(h.Ops), Data: b[n:]}); err != nil {
			if errors.Is(err, ErrColumn) {
				f.wrong = err // no fault of the node's
			}
			return err
		}
	}
	return nil
}

// head is what stands before the number in a bin of a column, as its last record
// had it: size, type and name. Most records of a set have the same, so that only
// values differ.
type head struct {
	size       int    // bytes before the value; zero until one was seen
	first      uint64 // the first eight bytes
	name, mask uint64 // the eight after them, of which the mask leaves the name
}

const opHead = 8

// learn keeps the head of a number of eight bytes, if its name isn't long.
func (h *head) learn(op []byte, name int) {
	if name == 0 || name > 8 || len(op) != opHead+name+8 {
		return
	}
	h.size = opHead + name
	h.mask = ^uint64(0) << (8 * (8 - name))
	h.first, h.name = binary.BigEndian.Uint64(op), binary.BigEndian.Uint64(op[opHead:])&h.mask
}

// fromBytes fills a row from the bins at the start of bins.Data, and returns
// what is left after them.
func (f *filler) fromBytes(row int, bins wire.Ops) ([]byte, error) {
	heads := f.scratch.heads
	data := bins.Data
	next := 0
	for left := bins.Count; left > 0; left-- {
		// Records of one kind have their bins in one order, mostly the specs'.
		if next < len(heads) {
			if h := &heads[next]; h.size > 0 && len(data) >= h.size+8 &&
				binary.BigEndian.Uint64(data) == h.first && binary.BigEndian.Uint64(data[opHead:])&h.mask == h.name {
				v := binary.BigEndian.Uint64(data[h.size:])
				c := &f.Cols[next]
				if c.Kind == Ints {
					c.Ints[row] = int64(v)
				} else {
					c.Floats[row] = math.Float64frombits(v)
				}
				c.Valid[row] = true
				data = data[h.size+8:]
				next++
				continue
			}
		}
		one := wire.Ops{Count: 1, Data: data}
		o, ok := one.Next()
		if !ok {
			return nil, fmt.Errorf("row %d: %w: a bin isn't whole, %d bytes are left", row, wire.ErrMalformed, len(data))
		}
		op := data[:len(data)-len(one.Data)]
		data = one.Data
		i, known := f.column(o.Name, next)
		if !known || o.Type == wire.Null {
			continue
		}
		next = i + 1
		if err := f.set(row, i, o); err != nil {
			return nil, err
		}
		if f.Cols[i].Kind != Texts {
			heads[i].learn(op, len(o.Name))
		}
	}
	return data, nil
}

// set takes one value.
func (f *filler) set(row, col int, o wire.Op) (err error) {
	c := &f.Cols[col]
	switch c.Kind {
	case Ints:
		c.Ints[row], err = o.Type.Int(o.Value)
	case Floats:
		c.Floats[row], err = o.Type.Float(o.Value)
	case Texts:
		if o.Type != wire.String {
			err = fmt.Errorf("particle %d", o.Type)
		}
		s := f.scratch
		from := len(s.bytes)
		s.bytes = append(s.bytes, o.Value...)
		s.texts = append(s.texts, text{int32(col), int32(row), from, len(s.bytes)})
	}
	if err != nil {
		return fmt.Errorf("aerospike: row %d, bin %s: %w: %v: %w", row, c.Bin, ErrColumn, c.Kind, err)
	}
	c.Valid[row] = true
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
