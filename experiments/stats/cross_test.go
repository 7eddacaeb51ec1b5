package stats

import (
	"math"
	"testing"

	"latlab.example/common/lab"
)

func constant(ns int64) []int64 { return []int64{ns, ns, ns, ns, ns, ns} }

// Both settings double the time alone. What they do together is the table's.
func crossedSet(t *testing.T, together int64) Analysis {
	t.Helper()
	sel := lab.Selection{Set: map[string][]string{"strategy": {"loop", "batch"}, "keys": {"100", "1000"}}, Cross: []string{"strategy", "keys"}}
	return Analyse(scripted(t, lab.Faster(0.1), sel, 6, map[string][]int64{
		loop100: constant(1000), batch100: constant(2000), loop1000: constant(2000), batch1000: constant(together), "control": constant(1000),
	}, nil))
}

func TestInteractions(t *testing.T) {
	for _, test := range []struct {
		name     string
		together int64
		ratio    float64
		misleads bool
	}{
		{"they don't mind each other", 4000, 1, false},
		{"the second adds nothing", 2000, 0.5, true},
		{"together they are worse than each", 8000, 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := crossedSet(t, test.together)
			if len(a.Crossed.Interactions) != 1 {
				t.Fatalf("%d interactions, want 1", len(a.Crossed.Interactions))
			}
			i := a.Crossed.Interactions[0]
			if !near(i.AloneA.Mid, 2) || !near(i.AloneB.Mid, 2) || !near(i.Expected.Mid, 4) || !near(i.Together.Mid, float64(test.together)/1000) || !near(i.Ratio.Mid, test.ratio) {
				t.Errorf("%+v", i)
			}
			if got := i.Misleads(a.Floor); got != test.misleads {
				t.Errorf("misleads: %v", got)
			}
			if i.Misleads(math.Inf(1)) {
				t.Error("misleads by less than an unknown noise floor")
			}
			want := math.Sqrt(2 * float64(test.together) / 2000) // over both levels of the other
			for _, m := range a.Crossed.Main {
				if m.Combinations != 2 || !near(m.Ratio.Mid, want) {
					t.Errorf("main effect %+v, want %v", m, want)
				}
			}
			if len(a.Crossed.Main) != 2 || a.Crossed.Main[0].Provenance != lab.Modelled {
				t.Errorf("main effects %+v", a.Crossed.Main)
			}
		})
	}
}

func TestOneAtATimeIsNotCrossed(t *testing.T) {
	a := Analyse(scripted(t, lab.Faster(0.1), twoArms, 6, drift, nil))
	if len(a.Crossed.Main)+len(a.Crossed.Interactions) > 0 {
		t.Errorf("%+v", a.Crossed)
	}
}
