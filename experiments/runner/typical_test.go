package runner

import (
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/internal/toy"
)

// Of n operations whose times are in order the choice is near the middle, and no
// more than so many are kept.
func TestMedianOfThinned(t *testing.T) {
	f := func(n16 uint16) bool {
		n := int64(n16)%5000 + 1
		var some thinned
		for i := range n {
			some.add(metrics.Timeline{To: i})
		}
		m := some.median().To
		return len(some.kept) <= maxThinned && m >= n/2-n/16-1 && m <= n/2+n/16+1
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
	var none thinned
	if tl := none.median(); tl.Set != nil || tl.To != 0 {
		t.Errorf("no timelines gave %+v", tl)
	}
}

// Each row has a timeline, of the warm-up's length; a subject without timelines
// has none.
func TestTypical(t *testing.T) {
	for _, tt := range []struct {
		e    lab.Experiment
		rig  string
		want bool
	}{{toy.Speed, "model", true}, {toy.Saving, "model", false}} {
		r, err := tt.e.Rig(tt.rig)
		if err != nil {
			t.Fatal(err)
		}
		arms, err := tt.e.Arms(r, lab.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Run(t.Context(), Config{Blocks: 1, Budget: time.Hour}, tt.e, r, arms)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range s.Rows {
			if got := row.Typical.Set != nil && len(row.Typical.Intervals) > 0; got != tt.want {
				t.Errorf("%s %s: a timeline is there: %v", tt.e.Name, row.Arm, got)
			}
		}
	}
}

// A run that is asked for it keeps the times of all operations that count.
func TestTimes(t *testing.T) {
	r, err := toy.Speed.Rig("model")
	if err != nil {
		t.Fatal(err)
	}
	arms, err := toy.Speed.Arms(r, lab.Selection{Set: map[string][]string{"strategy": {"loop", "batch"}, "keys": {"100"}, "latency": {"50us"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []bool{false, true} {
		s, err := Run(t.Context(), Config{Seed: 1, Blocks: 3, Budget: time.Hour, Times: asked}, toy.Speed, r, arms)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range s.Rows {
			var ops uint64
			for _, trial := range row.Trials {
				ops += uint64(trial.Result.Ops())
			}
			if want := map[bool]uint64{true: ops}[asked]; row.Times.Count() != want {
				t.Errorf("asked %v: %s has the times of %d operations, want %d", asked, row.Arm, row.Times.Count(), want)
			}
		}
	}
}
