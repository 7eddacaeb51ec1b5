package stats

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
)

// noisy runs two arms whose times scatter by 10 %; the second takes less by the
// share saved.
func noisy(t *testing.T, seed uint64, blocks int, saved float64, enough func(runner.Set) bool) (runner.Set, Analysis) {
	t.Helper()
	rig := lab.Virtual("model", []string{"normal noise of 10 %"}, toy.Opens(func(_ context.Context, a lab.Arm, tr *lab.Trial) error {
		mean := 1e6
		if toy.Strategy.Of(a) == "batch" {
			mean *= 1 - saved
		}
		tr.Ops, tr.Took = 1, time.Duration(max(1, mean*(1+0.1*rand.New(rand.NewPCG(tr.Seed, seed)).NormFloat64())))
		return nil
	}))
	e := lab.Experiment{Name: "toy/noisy", Factors: []lab.Factor{toy.Strategy}, Rule: lab.Faster(0.01), Rigs: []lab.Rig{rig}}
	arms, err := e.Arms(rig, lab.Selection{Set: map[string][]string{"strategy": {"loop", "batch"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := runner.Run(t.Context(), runner.Config{Seed: seed, Blocks: blocks, Budget: time.Hour, Enough: enough}, e, rig, arms)
	if err != nil {
		t.Fatal(err)
	}
	return s, Analyse(s)
}

// Seeds are fixed, so these tests give the same counts each time.
func TestFalseAlarmsAndPower(t *testing.T) {
	const runs = 200
	for _, test := range []struct {
		saved       float64
		blocks      int
		least, most int // differences called at the 5 % level
	}{
		{0, 10, 0, 20},
		{0, 30, 0, 20},
		{0.10, 30, 190, runs},
	} {
		t.Run(fmt.Sprintf("%g in %d blocks", test.saved, test.blocks), func(t *testing.T) {
			called := 0
			for seed := range uint64(runs) {
				_, a := noisy(t, seed, test.blocks, test.saved, nil)
				if rowOf(t, a, "strategy=batch").Effect.P < 0.05 {
					called++
				}
			}
			t.Logf("%d of %d runs call a difference", called, runs)
			if called < test.least || called > test.most {
				t.Errorf("%d of %d runs call a difference, want %d to %d", called, runs, test.least, test.most)
			}
		})
	}
}

func TestNarrowEnough(t *testing.T) {
	const share = 0.08
	s, a := noisy(t, 1, 1000, 0.1, func(s runner.Set) bool { return Analyse(s).Within(share) })
	if !s.Narrow || s.Blocks >= 1000 || s.Blocks < NeedBlocks() {
		t.Fatalf("narrow %v after %d blocks", s.Narrow, s.Blocks)
	}
	for _, i := range []lab.Interval{a.Control, rowOf(t, a, "strategy=batch").Effect.Ratios[lab.SecPerOp.Name]} {
		if i.Hi > i.Mid*(1+share) || i.Lo < i.Mid*(1-share) {
			t.Errorf("%+v reaches further than %v", i, share)
		}
	}
	if s, _ := noisy(t, 1, 8, 0.1, func(s runner.Set) bool { return Analyse(s).Within(1e-6) }); s.Narrow || s.Blocks != 8 {
		t.Errorf("narrow %v after %d blocks, want all 8", s.Narrow, s.Blocks)
	}
}
