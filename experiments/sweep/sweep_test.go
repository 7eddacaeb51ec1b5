package sweep_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/sweep"
)

// saving is a job with the toy whose batch saves a share of the time.
func saving(t *testing.T, rig string) *sweep.Job {
	t.Helper()
	r, err := toy.Saving.Rig(rig)
	if err != nil {
		t.Fatal(err)
	}
	arms, err := toy.Saving.Arms(r, lab.Selection{Set: map[string][]string{"strategy": {"loop", "batch"}}})
	if err != nil {
		t.Fatal(err)
	}
	return &sweep.Job{
		Config:     runner.Config{Seed: 1, Blocks: 6, Min: time.Millisecond, Budget: time.Minute},
		Experiment: toy.Saving, Rig: r, Arms: arms,
	}
}

func TestPoints(t *testing.T) {
	j := saving(t, "model")
	points, err := j.Points(t.Context(), "saved", "0.8..0")
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 9 || points[0].Text != "0.8" || points[8].Text != "0" {
		t.Fatalf("%d points: %+v", len(points), points)
	}
	for _, p := range points {
		rows := sweep.Judged(p.Analysis)
		if len(rows) != 1 {
			t.Fatalf("%s: %d judged arms, want 1", p.Text, len(rows))
		}
		want := (11 - 10*float64(p.Value)/1e6) / 11
		if got := rows[0].Effect.Ratios[lab.SecPerOp.Name].Mid; math.Abs(got-want) > 1e-9 {
			t.Errorf("saved=%s: ratio %v, want %v", p.Text, got, want)
		}
	}
}

func TestFlipsAreWhereTheRuleSays(t *testing.T) {
	flips, err := saving(t, "model").Flips(t.Context(), "saved", "0..0.8")
	if err != nil {
		t.Fatal(err)
	}
	// 5 % of 11 ms are 0.055 of the loop's 10 ms, 10 % are 0.11.
	want := []struct {
		from, to lab.Verdict
		at       float64
	}{{lab.Fails, lab.Inconclusive, 0.055}, {lab.Inconclusive, lab.Holds, 0.11}}
	if len(flips) == 0 || flips[0].From != want[0].from || flips[len(flips)-1].To != want[1].to {
		t.Fatalf("flips %+v, want from fails to holds", flips)
	}
	last := flips[len(flips)-1]
	if at := float64(last.Above) / 1e6; at < 0.109 || at > 0.113 {
		t.Errorf("holds from %v, want 0.11", at)
	}
	if l, _ := last.Arm.Level("strategy"); l != "batch" {
		t.Errorf("arm %s, want batch", last.Arm)
	}
}

func TestTornadoSortsByWhatMovesMost(t *testing.T) {
	all, err := saving(t, "model").Tornado(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || len(all[0].Bars) != 2 || all[0].Bars[0].Param.Name != "saved" || all[0].Bars[1].Param.Name != "wake" {
		t.Fatalf("%+v, want saved before wake, and no bar for users", all)
	}
	if b := all[0].Bars[0]; math.Abs(b.AtLo-1) > 1e-9 || math.Abs(b.AtHi-2.0/11) > 1e-9 || math.Abs(all[0].Base-8.0/11) > 1e-9 {
		t.Errorf("saved moves the ratio from %v to %v about %v", b.AtLo, b.AtHi, all[0].Base)
	}
}

func TestErrors(t *testing.T) {
	if _, err := saving(t, "bare").Points(t.Context(), "saved", "0..1"); !errors.Is(err, sweep.ErrModel) {
		t.Errorf("%v, want ErrModel", err)
	}
	if _, err := saving(t, "bare").Tornado(t.Context()); !errors.Is(err, sweep.ErrModel) {
		t.Errorf("%v, want ErrModel", err)
	}
	if _, err := saving(t, "model").Points(t.Context(), "nothing", "0..1"); !errors.Is(err, param.ErrParam) {
		t.Errorf("%v, want ErrParam", err)
	}
	if _, err := saving(t, "model").Flips(t.Context(), "saved", "much"); !errors.Is(err, param.ErrValue) {
		t.Errorf("%v, want ErrValue", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := saving(t, "model").Points(ctx, "saved", "0..1"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want cancelled", err)
	}
}

func TestEachValueIsRunOnce(t *testing.T) {
	j := saving(t, "model")
	ran := 0
	open := toy.Saving.Rigs[0]
	table, _ := open.Params()
	j.Rig = lab.Model("model", nil, table, func(context.Context, lab.Arm, param.Table) (lab.Subject, error) {
		ran++
		return toy.Subject(func(_ context.Context, t *lab.Trial) error {
			t.Ops, t.Took = 1, time.Millisecond
			return nil
		}), nil
	})
	if _, err := j.Flips(t.Context(), "saved", "0..0.8"); err != nil {
		t.Fatal(err)
	}
	if want := 9 * (len(j.Arms) + 1); ran != want {
		t.Errorf("%d arms were opened, want %d", ran, want)
	}
}
