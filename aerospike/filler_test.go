package aerospike

import (
	"fmt"
	"reflect"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/wire"
)

var fuzzSpecs = []Spec{{"i", Ints}, {"f", Floats}, {"t", Texts}, {"a long name", Ints}}

const fuzzRows = 4

// someFrame is a frame of rows whose bins are in the specs' order, or not.
func someFrame() []byte {
	var b []byte
	for i := range fuzzRows {
		var bins wire.Ops
		add := func(name string, v any) {
			p, value, err := wire.AppendValue(nil, v)
			if err != nil {
				panic(err)
			}
			bins = bins.Append(wire.Op{Do: wire.OpRead, Type: p, Name: []byte(name), Value: value})
		}
		if i == 2 {
			add("other", true)
			add("t", "text")
		}
		add("i", i)
		add("f", float64(i)/3)
		if i != 2 {
			add("t", fmt.Sprint("text ", i))
		}
		add("a long name", -i)
		h := wire.Header{Timeout: uint32(i), Ops: uint16(bins.Count)}
		if i == 3 { // with bins all the same, which mean nothing
			h.Result = wire.NotFound
		}
		b = append(h.Append(b), bins.Data...)
	}
	return b
}

// byRows and straight are columns of a frame, by way of rows and without.
func byRows(frame []byte) (*Columns, error) {
	rows := make(rowSink, fuzzRows)
	for i := range rows {
		rows[i].state = pending
	}
	var failed failures
	if err := rows.frame(frame, new(as.Node), &failed); err != nil {
		return nil, err
	}
	return NewColumns(fuzzSpecs, rows)
}

func straight(frame []byte) (*Columns, error) {
	f := newFiller(fuzzSpecs, fuzzRows)
	defer f.release()
	for i := range f.States {
		f.States[i] = pending
	}
	var failed failures
	if err := f.frame(frame, new(as.Node), &failed); err != nil {
		return nil, err
	}
	return f.finish(), nil
}

func TestStraightIsAsByRows(t *testing.T) {
	one, err := byRows(someFrame())
	if err != nil {
		t.Fatal(err)
	}
	two, err := straight(someFrame())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, two) {
		t.Errorf("by rows %+v, straight %+v", one, two)
	}
	if c := one.Cols[3]; fmt.Sprint(c.Ints, c.Valid) != "[0 -1 -2 0] [true true true false]" {
		t.Errorf("a long name: %v %v", c.Ints, c.Valid)
	}
}

// Answers that break the protocol are errors: a row twice, a row that nobody
// asked for, a bin that isn't whole.
func TestFramesThatCannotBe(t *testing.T) {
	twice := wire.Header{Result: wire.NotFound}.Append(nil)
	twice = append(twice, twice...)
	half := someFrame()
	for name, frame := range map[string][]byte{
		"a row twice":        twice,
		"row 4 of 4":         wire.Header{Timeout: fuzzRows, Result: wire.NotFound}.Append(nil),
		"half a frame":       half[:len(half)-3],
		"bins that are lost": wire.Header{Ops: 2}.Append(nil),
	} {
		if _, err := straight(frame); err == nil {
			t.Errorf("%s: no error straight", name)
		}
		if _, err := byRows(frame); err == nil {
			t.Errorf("%s: no error by rows", name)
		}
	}
}

// FuzzColumns holds columns straight from a frame against those by way of rows.
// They may differ in which of two errors comes first, not in whether there is one.
func FuzzColumns(f *testing.F) {
	f.Add(someFrame())
	f.Add(wire.Header{Timeout: 1, Result: wire.ServerError}.Append(nil))
	f.Add([]byte{wire.HeaderSize})
	f.Fuzz(func(t *testing.T, frame []byte) {
		one, err1 := byRows(frame)
		two, err2 := straight(frame)
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("by rows: %v, straight: %v", err1, err2)
		}
		if err1 != nil {
			return
		}
		// As text, since floats that aren't numbers differ from themselves.
		if a, b := fmt.Sprintf("%+v", *one), fmt.Sprintf("%+v", *two); a != b {
			t.Fatalf("by rows %s, straight %s", a, b)
		}
	})
}
