package registry_test

import (
	"errors"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

func TestMain(m *testing.M) {
	lab.Main(registry.All()...)
	os.Exit(m.Run())
}

// runsVariable is how many A/A runs of each experiment to make, on fakes too where
// it has no model, within ten minutes each; `make aa` makes 200. Without it the
// test makes as many as fit into a second.
const runsVariable = "LATLAB_AA_RUNS"

// An arm against itself, a fresh seed a trial: the test calls a difference at the
// 5 % level in 5 % of the runs.
func TestAA(t *testing.T) {
	const blocks = 10 // of a run
	planned, budget := 20, time.Second
	text, all := os.LookupEnv(runsVariable)
	if all {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q: want a number from 1 on", runsVariable, text)
		}
		planned, budget = n, 10*time.Minute
	}
	h, err := host.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range registry.All() {
		t.Run(e.Name, func(t *testing.T) {
			rig, ok := quickest(e, all)
			if !ok {
				t.Skip("it has no model; `make aa` takes its fake, and each run has an A/A control of its own")
			}
			arms, err := e.Arms(rig, short(e, rig))
			if err != nil {
				t.Fatal(err)
			}
			set, err := runner.Run(t.Context(), runner.Config{Seed: 1, Blocks: planned * blocks, Min: 1, Budget: budget, Host: h}, e, rig, arms[:1])
			if err != nil {
				t.Fatal(err)
			}
			if why := set.Rows[0].Refused; errors.Is(why, lab.ErrUnavailable) {
				t.Skip(why)
			} else if why != nil {
				t.Fatal(why)
			}
			runs := set.Blocks / blocks
			if runs == 0 {
				t.Skipf("%d blocks take longer than %v; `make aa` has time", blocks, budget)
			}
			unit := stats.Analyse(set).Unit
			_, a := set.Rows[0].Values(unit)
			_, b := set.Control().Values(unit)
			// A trial in which nothing happened that is counted has no figure.
			if got := min(len(a), len(b)); got < set.Blocks*9/10 {
				t.Fatalf("%d and %d figures of %d blocks", len(a), len(b), set.Blocks)
			} else {
				runs = got / blocks
			}
			called := 0
			for i := 0; i < runs*blocks; i += blocks {
				c, err := stats.Compare(stats.Sample{Unit: unit, Values: a[i : i+blocks]}, stats.Sample{Unit: unit, Values: b[i : i+blocks]})
				if err != nil {
					t.Fatal(err)
				}
				if c.P < 0.05 {
					called++
				}
			}
			t.Logf("rig %s: %d of %d runs call a difference", rig.Name(), called, runs)
			if most := atMost(runs); called > most {
				t.Errorf("rig %s: %d of %d runs call a difference where there is none, want at most %d", rig.Name(), called, runs, most)
			}
		})
	}
}

// atMost is how many of n runs may call a difference: a tenth of them, or where
// that is little, what comes by chance in one experiment of three thousand.
func atMost(n int) int {
	const level, chance = 0.05, 1.0 / 3000
	term, sum, k := math.Pow(1-level, float64(n)), 0.0, 0
	for sum += term; 1-sum > chance; sum += term {
		k++
		term *= float64(n-k+1) / float64(k) * level / (1 - level)
	}
	if n >= 200 { // a tenth comes by chance in one of a thousand
		return n / 10
	}
	return k
}

func TestAtMost(t *testing.T) {
	for n, want := range map[int]int{1: 1, 20: 5, 200: 20} {
		if got := atMost(n); got != want {
			t.Errorf("of %d runs: %d, want %d", n, got, want)
		}
	}
}

// short selects levels at which a trial on a fake is short, so that many fit in: what
// an arm is doesn't matter to one that is held against itself.
func short(e lab.Experiment, r lab.Rig) lab.Selection {
	if r.Kind() == lab.KindVirtual { // short enough
		return lab.Selection{}
	}
	set := make(map[string][]string)
	for _, f := range e.Factors {
		if level, ok := map[string]string{"users": "1", "path": "hit"}[f.Name()]; ok {
			set[f.Name()] = []string{level}
		}
	}
	return lab.Selection{Set: set}
}

// quickest is the experiment's first model, or its first fake.
func quickest(e lab.Experiment, slow bool) (lab.Rig, bool) {
	kinds := []lab.Kind{lab.KindVirtual}
	if slow {
		kinds = append(kinds, lab.KindBubble, lab.KindEmulated)
	}
	for _, kind := range kinds {
		for _, r := range e.Rigs {
			if r.Kind() == kind {
				return r, true
			}
		}
	}
	return lab.Rig{}, false
}
