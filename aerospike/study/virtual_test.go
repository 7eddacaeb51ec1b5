package study

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"testing"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/common/sim/param"
)

func TestModels(t *testing.T) {
	for _, e := range []lab.Experiment{GIL, GILGather, GILClients} {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}

// goldenModels is what the figures of the models' own arms digest to, on every
// machine. It changes only when a model does, and then committed results do.
const goldenModels = "1780f0664e752d75aca042f2e9deaa1a"

func TestModelsGiveTheSameEverywhere(t *testing.T) {
	digest := fnv.New128a()
	n := 0
	for _, e := range []lab.Experiment{GIL, GILGather, GILClients} {
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

// The rules' verdicts are what the study says: the lock costs a request more than
// a tenth, one read beats nine under it, and hardly without it.
func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		e    lab.Experiment
		set  map[string][]string
		want lab.Verdict
	}{
		{GIL, map[string][]string{"mode": {"gather"}}, lab.Holds},
		{GIL, map[string][]string{"mode": {"single"}}, lab.Holds},
		{GILGather, map[string][]string{"lock": {"held"}}, lab.Holds},
		{GILGather, map[string][]string{"lock": {"free"}}, lab.Fails},
		{GILClients, map[string][]string{"client": {"official", "async"}, "lock": {"free"}, "mode": {"gather"}}, lab.Holds},
	} {
		arms, err := test.e.Arms(test.e.Rigs[0], lab.Selection{Set: test.set})
		if err != nil {
			t.Fatal(err)
		}
		var verdict lab.Verdict
		var why string
		for seed := range uint64(3) {
			base, _ := inModel(t, test.e, arms[0], seed).Value(lab.SecPerOp)
			is, _ := inModel(t, test.e, arms[1], seed).Value(lab.SecPerOp)
			r := is / base
			verdict, why = test.e.Rule.Judge(map[string]lab.Interval{lab.SecPerOp.Name: {Lo: r, Mid: r, Hi: r}}, 0)
			if verdict != test.want {
				t.Errorf("%s, %s, seed %d: %s (%s), want %s", test.e.Name, arms[1], seed, verdict, why, test.want)
			}
		}
	}
}

// What is assumed travels with the rig.
func TestModelStatesItsParameters(t *testing.T) {
	r := GIL.Rigs[0]
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
