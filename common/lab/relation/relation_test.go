package relation_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/relation"
)

var bus = []relation.Relation{{
	Name: "bus-wins", Says: "the bus is faster than the way on foot", Rows: []string{"toy.bus", "toy.foot"},
	Published: "10 against 20 min", Modelled: "12 against 20 min", Verdict: lab.Holds, Why: "it comes every five minutes, as is assumed",
}}

func ExampleWrite() {
	relation.Write(os.Stdout, bus)
	// Output:
	// bus-wins: holds
	//   says       the bus is faster than the way on foot (toy.bus, toy.foot)
	//   published  10 against 20 min
	//   modelled   12 against 20 min
	//   because    it comes every five minutes, as is assumed
}

func TestWriteReturnsTheError(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	if err := relation.Write(w, bus); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}
