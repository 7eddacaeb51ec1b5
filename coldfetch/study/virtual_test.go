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
const goldenModels = "ccae645a70b0c0a79a9e9e8546d6c884"

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

// The rules' verdicts on the study's questions: a second core matters where there is
// a neighbour, health is slow behind a blocked loop and behind unbounded work on one
// core, sharing cures a herd, and a full loop does more for more users only if they
// share builds.
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
		{"coldfetch/cores", set("cores", "1", "cores", "2", "concurrency", "10"), lab.Fails},
		{"coldfetch/cores", set("cores", "1", "cores", "2", "concurrency", "10", "neighbour", "40"), lab.Holds},
		{"coldfetch/cores", set("cores", "1", "cores", "2", "concurrency", "10", "mode", "goroutines"), lab.Holds},
		{"coldfetch/neighbour", set("neighbour", "40", "neighbour", "0", "cores", "1"), lab.Holds},
		{"coldfetch/neighbour", set("neighbour", "40", "neighbour", "0", "cores", "2"), lab.Fails},
		{"coldfetch/loop-blocking", set("mode", "loop", "mode", "offload-gil", "concurrency", "10"), lab.Holds},
		{"coldfetch/loop-blocking", set("mode", "goroutines", "mode", "bounded", "cores", "1", "concurrency", "100"), lab.Holds},
		{"coldfetch/herd", set("single-flight", "none", "single-flight", "pull+build"), lab.Holds},
		{"coldfetch/store-latency", set("mode", "loop", "mode", "goroutines", "store", "wan"), lab.Holds},
		{"coldfetch/store-latency", set("mode", "loop", "mode", "offload-gil", "store", "wan"), lab.Holds},
		{"coldfetch/planned-fixes", set("fixes", "none", "fixes", "off-loop", "concurrency", "10"), lab.Fails},
		{"coldfetch/planned-fixes", set("fixes", "none", "fixes", "cache", "concurrency", "10"), lab.Holds},
		{"coldfetch/planned-fixes", set("fixes", "none", "fixes", "gzip", "concurrency", "10"), lab.Fails},
		{"coldfetch/planned-fixes", set("fixes", "none", "fixes", "build", "concurrency", "10"), lab.Holds},
		{"coldfetch/ladder", set("concurrency", "1", "concurrency", "100", "sharing", "nothing"), lab.Fails},
		{"coldfetch/ladder", set("concurrency", "1", "concurrency", "100", "sharing", "look-up"), lab.Inconclusive},
		{"coldfetch/ladder", set("concurrency", "1", "concurrency", "100", "sharing", "build"), lab.Holds},
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
				base, is := inModel(t, e, arms[0], seed).Values(), inModel(t, e, arms[1], seed).Values()
				ratios := make(map[string]lab.Interval)
				for name, v := range is {
					r := v / base[name]
					ratios[name] = lab.Interval{Lo: r, Mid: r, Hi: r}
				}
				verdict, why := e.Rule.Judge(ratios, 0)
				if verdict != test.want {
					t.Errorf("%s, %s against %s, seed %d: %v: %s (%s), want %s", e.Name, arms[1], arms[0], seed, ratios[e.Rule.Unit().Name], verdict, why, test.want)
				}
			}
		}
	}
}

// What is assumed travels with the rig.
func TestModelStatesItsParameters(t *testing.T) {
	r, err := LoopBlocking.Rig("model")
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
