// The race detector takes gigabytes for the coroutines of so many runs, each of
// which runs one at a time anyhow. TestExperiments runs short ones under it.
//
//go:build !race

package study

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"testing"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

// modelled are the experiments with the model alone, of those that have it.
func modelled(t *testing.T) (all []lab.Experiment) {
	t.Helper()
	for _, e := range Experiments {
		if r, err := e.Rig("model"); err == nil {
			e.Rigs = []lab.Rig{r}
			all = append(all, e)
		}
	}
	return all
}

// goldenModels is what the figures of all models' own arms digest to, on every
// machine. It changes only when a model does, and then committed results do.
const goldenModels = "ac73638256240f443e7413a96687721d"

func TestModelsGiveTheSameEverywhere(t *testing.T) {
	digest := fnv.New128a()
	n, began := 0, time.Now()
	for _, e := range modelled(t) {
		arms, err := e.Arms(e.Rigs[0], lab.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range arms {
			n++
			values := inModel(t, e, a, 1).Values()
			for _, name := range slices.Sorted(maps.Keys(values)) {
				fmt.Fprintln(digest, e.Name, a, name, values[name])
			}
		}
	}
	t.Logf("%d arms in %v", n, time.Since(began))
	if got := fmt.Sprintf("%x", digest.Sum(nil)); got != goldenModels {
		t.Errorf("%d arms digest to %s, want %s", n, got, goldenModels)
	}
}

func inModel(t *testing.T, e lab.Experiment, a lab.Arm, seed uint64) lab.Result {
	t.Helper()
	s, err := e.Open(t.Context(), e.Rigs[0], a, host.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Run(t.Context(), lab.Plan{Seed: seed})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return res
}

// The rules' verdicts on the study's questions: a line a row costs, a larger pool
// helps where connections are held without CPU, and not where they aren't; and an
// overload stays with each feedback but thrashing, and not without.
func TestVerdicts(t *testing.T) {
	set := func(kv ...string) map[string][]string {
		m := make(map[string][]string)
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = append(m[kv[i]], kv[i+1])
		}
		return m
	}
	for _, test := range []struct {
		experiment string
		set        map[string][]string
		want       lab.Verdict // of the second level against the first
	}{
		{"spatial/rowlog", set("rowlog", "row", "rowlog", "off", "users", "75"), lab.Holds},
		{"spatial/pool-size", set("pool", "10", "pool", "15", "users", "210"), lab.Holds},
		{"spatial/pool-size", set("pool", "10", "pool", "15", "users", "75"), lab.Fails},
		{"spatial/pool-size", set("pool", "10", "pool", "15", "hold", "none", "users", "150"), lab.Fails},
		{"spatial/spin-vs-park", set("acquire", "spin", "acquire", "park"), lab.Holds},
		{"spatial/nested-acquire", set("nested", "true", "nested", "false"), lab.Holds},
		{"spatial/feedback", set("approach", "down", "approach", "up", "feedback", "none"), lab.Fails},
		{"spatial/feedback", set("approach", "down", "approach", "up", "feedback", "retries"), lab.Holds},
		{"spatial/feedback", set("approach", "down", "approach", "up", "feedback", "nested", "pool", "30"), lab.Holds},
		{"spatial/feedback", set("approach", "down", "approach", "up", "feedback", "nested", "pool", "15"), lab.Fails}, // it tips either way
		{"spatial/feedback", set("approach", "down", "approach", "up", "feedback", "spin"), lab.Holds},
		{"spatial/feedback", set("approach", "down", "approach", "up", "feedback", "inflation"), lab.Fails},
	} {
		for _, e := range modelled(t) {
			if e.Name != test.experiment {
				continue
			}
			arms, err := e.Arms(e.Rigs[0], lab.Selection{Set: test.set, Cross: []string{e.Factors[0].Name()}})
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(2) {
				base, _ := inModel(t, e, arms[0], seed).Value(lab.SecPerOp)
				is, _ := inModel(t, e, arms[1], seed).Value(lab.SecPerOp)
				r := is / base
				verdict, why := e.Rule.Judge(map[string]lab.Interval{lab.SecPerOp.Name: {Lo: r, Mid: r, Hi: r}}, 0)
				if verdict != test.want {
					t.Errorf("%s, %s against %s, seed %d: %.4f s against %.4f: %s (%s), want %s", e.Name, arms[1], arms[0], seed, is, base, verdict, why, test.want)
				}
			}
		}
	}
}

// What is assumed travels with the rig.
func TestModelStatesItsParameters(t *testing.T) {
	r, err := PoolSize.Rig("model")
	if err != nil {
		t.Fatal(err)
	}
	params, ok := r.Params()
	if !ok {
		t.Fatal("the rig has no parameters")
	}
	for _, p := range params.Params() {
		if !slices.Contains(r.Assumptions(), p.String()) {
			t.Errorf("%s isn't among the assumptions", p.Name)
		}
		if p.Source.Kind == param.IsSet {
			t.Errorf("%s was set", p.Name)
		}
	}
}
