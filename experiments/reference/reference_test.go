package reference_test

import (
	"bytes"
	"flag"
	"runtime"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/experiments/reference"
	"latlab.example/experiments/registry"
)

var update = flag.Bool("update", false, "write the reference files anew")

// The first block of every model is what was committed, on every machine, and in a
// browser's WebAssembly too. -update runs all blocks.
func TestSameEverywhere(t *testing.T) {
	if *update {
		if err := reference.Make(t.Context(), registry.All(), "."); err != nil {
			t.Fatal(err)
		}
		t.Skip("written; run again without -update")
	}
	rigs := 0
	err := reference.Rigs(registry.All(), func(e lab.Experiment, r lab.Rig) error {
		rigs++
		t.Run(e.Name+" "+r.Name(), func(t *testing.T) {
			want, err := reference.Committed(e, r)
			if err != nil {
				t.Fatalf("%v; make reference", err)
			}
			set, err := reference.Run(t.Context(), e, r, 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := reference.Text(set)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(want, got) {
				t.Errorf("on %s/%s the first block is another; if the model was meant to change: make reference\ngot\n%.600s\nwant\n%.600s", runtime.GOOS, runtime.GOARCH, got, want)
			}
		})
		return nil
	})
	if err != nil || rigs == 0 {
		t.Errorf("%d rigs, %v", rigs, err)
	}
}
