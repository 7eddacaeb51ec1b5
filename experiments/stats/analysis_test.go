package stats

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
)

// scripted runs an experiment whose trials take the listed ns, by arm and block.
// The control has a list of its own. The outcome depth is the arm's, or none.
func scripted(t *testing.T, rule lab.Rule, sel lab.Selection, blocks int, ns map[string][]int64, depth map[string]float64) runner.Set {
	t.Helper()
	opened := make(map[string]bool)
	open := func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		name := a.String()
		if opened[name] {
			name = "control"
		}
		opened[name] = true
		trial := 0
		return toy.Subject(func(_ context.Context, tr *lab.Trial) error {
			tr.Ops, tr.Took = 1, time.Duration(ns[name][trial])
			if d, ok := depth[a.String()]; ok {
				tr.Observe(toy.Depth, d)
			}
			trial++
			return nil
		}), nil
	}
	rig := lab.Virtual("model", []string{"a script"}, open)
	e := lab.Experiment{Name: "toy/script", Factors: []lab.Factor{toy.Strategy, toy.Keys}, Outcomes: []lab.Unit{toy.Depth}, Rule: rule, Rigs: []lab.Rig{rig}}
	arms, err := e.Arms(rig, sel)
	if err != nil {
		t.Fatal(err)
	}
	s, err := runner.Run(t.Context(), runner.Config{Blocks: blocks, Budget: time.Hour}, e, rig, arms)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	loop100, batch100, same100 = "strategy=loop/keys=100", "strategy=batch/keys=100", "strategy=same/keys=100"
	loop1000, batch1000        = "strategy=loop/keys=1000", "strategy=batch/keys=1000"
)

var twoArms = lab.Selection{Set: map[string][]string{"strategy": {"loop", "batch"}, "keys": {"100"}}}

// The host slows down from block to block. Only pairing sees that the batch is
// always a little better than half.
var drift = map[string][]int64{
	loop100:   {1000, 2000, 3000, 4000, 5000, 6000},
	batch100:  {500, 1000, 1500, 2000, 2600, 3000},  // 0.5 save for 0.52
	"control": {1010, 2000, 3000, 4000, 5000, 5940}, // 1.01, 1, 1, 1, 1, 0.99
}

func rowOf(t *testing.T, a Analysis, arm string) Row {
	t.Helper()
	for _, table := range a.Tables {
		for _, r := range table.Rows {
			if r.Arm.String() == arm {
				return r
			}
		}
	}
	t.Fatalf("no row %s", arm)
	return Row{}
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-9 }

func TestAnalysePairsByBlock(t *testing.T) {
	a := Analyse(scripted(t, lab.Faster(0.10), twoArms, 6, drift, nil))
	if len(a.Tables) != 1 || len(a.Tables[0].Rows) != 2 || a.Tables[0].Provenance != lab.Modelled {
		t.Fatalf("tables %+v; want one modelled of two arms", a.Tables)
	}
	base, batch := rowOf(t, a, loop100), rowOf(t, a, batch100)
	if base.Effect != nil {
		t.Error("the baseline has an effect")
	}
	if f := base.Figures["sec/op"]; !near(f.Lo, 1e-6) || !near(f.Mid, 3.5e-6) || !near(f.Hi, 6e-6) {
		t.Errorf("baseline %+v; want 3.5us of 1 to 6", f)
	}
	i := batch.Effect.Ratios["sec/op"]
	if !near(i.Lo, 0.5) || !near(i.Mid, 0.5) || !near(i.Hi, 0.52) {
		t.Errorf("effect %+v; want 0.5 of 0.5 to 0.52", i)
	}
	if !near(a.Control.Lo, 0.99) || !near(a.Control.Mid, 1) || !near(a.Control.Hi, 1.01) {
		t.Errorf("control %+v; want 1 of 0.99 to 1.01", a.Control)
	}
	// 1/0.99 is the larger factor of the two: a gain of 1 %.
	if !near(a.Floor, 0.01) {
		t.Errorf("floor %v; want 0.01", a.Floor)
	}
	if !batch.Effect.Judged || batch.Effect.Verdict != lab.Holds || batch.Effect.Reason != "" {
		t.Errorf("verdict %q, %q; want holds", batch.Effect.Verdict, batch.Effect.Reason)
	}
	// The unpaired test isn't sure: the ranges overlap.
	if batch.Effect.P < 0.05 || batch.Effect.Holm != batch.Effect.P {
		t.Errorf("p %v, corrected %v; want the same of a single arm, above 0.05", batch.Effect.P, batch.Effect.Holm)
	}
}

func TestAnalyseTooFewBlocks(t *testing.T) {
	a := Analyse(scripted(t, lab.Faster(0.10), twoArms, 5, drift, nil))
	e := rowOf(t, a, batch100).Effect
	if i := e.Ratios["sec/op"]; !math.IsInf(i.Lo, -1) || !math.IsInf(i.Hi, 1) || !near(i.Mid, 0.5) {
		t.Errorf("effect %+v; want 0.5 with unknown bounds", i)
	}
	if !math.IsInf(a.Floor, 1) {
		t.Errorf("floor %v; want unknown", a.Floor)
	}
	if e.Verdict != lab.Inconclusive || e.Reason != "5 complete blocks; an interval needs at least 6" {
		t.Errorf("verdict %q, %q", e.Verdict, e.Reason)
	}
}

func TestAnalyseNoiseFloor(t *testing.T) {
	ns := map[string][]int64{loop100: drift[loop100], batch100: drift[batch100], "control": {400, 2000, 3000, 4000, 5000, 6000}}
	a := Analyse(scripted(t, lab.Faster(0.10), twoArms, 6, ns, nil))
	e := rowOf(t, a, batch100).Effect
	if !near(a.Floor, 0.6) || e.Verdict != lab.Inconclusive || !strings.Contains(e.Reason, "is not wholly above the noise floor of 60.0 %") {
		t.Errorf("floor %v, verdict %q, %q; want 0.6 and not clear of it", a.Floor, e.Verdict, e.Reason)
	}
}

func TestNoiseFloor(t *testing.T) {
	up := lab.Unit{Name: "rps", Better: lab.Up}
	for _, tt := range []struct {
		unit         lab.Unit
		lo, hi, want float64
	}{
		{lab.SecPerOp, 1, 1, 0},
		{lab.SecPerOp, 0.5, 1, 0.5},
		{lab.SecPerOp, 1, 2, 0.5},
		{up, 0.5, 1, 1},
		{up, 1, 2, 1},
		{up, -inf, inf, inf},
	} {
		if got := noiseFloor(tt.unit, lab.Interval{Lo: tt.lo, Mid: 1, Hi: tt.hi}); !near(got, tt.want) {
			t.Errorf("%s of [%v, %v]: %v; want %v", tt.unit.Name, tt.lo, tt.hi, got, tt.want)
		}
	}
}

func TestAnalyseJudgesTheFirstFactorOnly(t *testing.T) {
	six := func(v int64) []int64 { return []int64{v, v, v, v, v, v} }
	ns := map[string][]int64{
		loop100: six(1000), batch100: six(500), loop1000: six(10000), batch1000: six(9900), "control": six(1000),
	}
	sel := lab.Selection{Set: map[string][]string{"strategy": {"loop", "batch"}}, Cross: []string{"strategy", "keys"}}
	a := Analyse(scripted(t, lab.Faster(0.10), sel, 6, ns, nil))
	for _, tt := range []struct {
		arm, reference string
		ratio          float64
		verdict        lab.Verdict
	}{
		{batch100, loop100, 0.5, lab.Holds},
		{loop1000, loop100, 10, ""},
		{batch1000, loop1000, 0.99, lab.Fails},
	} {
		e := rowOf(t, a, tt.arm).Effect
		if e == nil {
			t.Errorf("%s: no effect", tt.arm)
		} else if e.Reference.String() != tt.reference || !near(e.Ratios["sec/op"].Mid, tt.ratio) || e.Verdict != tt.verdict || e.Judged != (tt.verdict != "") {
			t.Errorf("%s: %+v against %s; want %v, %q", tt.arm, e, e.Reference, tt.ratio, tt.verdict)
		}
	}
}

func TestAnalyseOneFactorAtATime(t *testing.T) {
	six := func(v int64) []int64 { return []int64{v, v, v, v, v, v} }
	ns := map[string][]int64{loop100: six(1000), batch100: six(500), same100: six(1000), loop1000: six(10000), "control": six(1000)}
	a := Analyse(scripted(t, lab.Faster(0.10), lab.Selection{}, 6, ns, nil))
	if e := rowOf(t, a, loop1000).Effect; e == nil || e.Judged || e.Reference.String() != loop100 {
		t.Errorf("keys=1000: effect %+v; want one against the baseline, not judged", e)
	}
	if e := rowOf(t, a, same100).Effect; e.Verdict != lab.Fails || e.P != 1 || e.Holm != 1 {
		t.Errorf("same: %+v; want fails with p 1", e)
	}
	// The smallest of the two that are judged. keys=1000 doesn't count.
	batch := rowOf(t, a, batch100).Effect
	if !near(batch.Holm, 2*batch.P) {
		t.Errorf("batch: p %v, corrected %v; want it times 2", batch.P, batch.Holm)
	}
	if e := rowOf(t, a, loop1000).Effect; !(e.P < 0.05) || !math.IsNaN(e.Holm) {
		t.Errorf("keys=1000: p %v, corrected %v; want it raw alone", e.P, e.Holm)
	}
}

func TestAnalyseAlso(t *testing.T) {
	six := func(v int64) []int64 { return []int64{v, v, v, v, v, v} }
	ns := map[string][]int64{loop100: six(1000), batch100: six(500), "control": six(1000)}
	rule := lab.Faster(0.10).Also(toy.Depth, lab.Up)
	for _, tt := range []struct {
		name    string
		depth   map[string]float64
		verdict lab.Verdict
	}{
		{"up", map[string]float64{loop100: 1, batch100: 8}, lab.Holds},
		{"not up", map[string]float64{loop100: 1, batch100: 1}, lab.Inconclusive},
		{"none on this rig", nil, lab.NotMeasurable},
		{"a reference of 0", map[string]float64{loop100: 0, batch100: 1}, lab.Inconclusive},
	} {
		a := Analyse(scripted(t, rule, twoArms, 6, ns, tt.depth))
		if e := rowOf(t, a, batch100).Effect; e.Verdict != tt.verdict || (e.Reason == "") != (tt.verdict == lab.Holds) {
			t.Errorf("%s: %q, %q; want %q", tt.name, e.Verdict, e.Reason, tt.verdict)
		}
	}
}

func TestAnalyseReferenceOfZero(t *testing.T) {
	six := func(v int64) []int64 { return []int64{v, v, v, v, v, v} }
	ns := map[string][]int64{loop100: six(1000), batch100: six(500), "control": six(1000)}
	a := Analyse(scripted(t, lab.Better(toy.Depth, 0.1), twoArms, 6, ns, map[string]float64{loop100: 0, batch100: 3}))
	e := rowOf(t, a, batch100).Effect
	if a.Unit != toy.Depth || e.Verdict != lab.Inconclusive || e.Reason != "the reference's queue-depth is 0, so there is no ratio" {
		t.Errorf("unit %s, verdict %q, %q", a.Unit.Name, e.Verdict, e.Reason)
	}
}

// On a real rig with a simulating level, the two arms are in tables of their own
// and the effect says that its other side is measured.
func TestAnalyseKeepsProvenancesApart(t *testing.T) {
	rig := toy.Locked.Rigs[0]
	arms, err := toy.Locked.Arms(rig, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	c := runner.Config{Blocks: 6, Budget: time.Hour, Host: host.Fingerprint{OS: "test"}}
	s, err := runner.Run(t.Context(), c, toy.Locked, rig, arms)
	if err != nil {
		t.Fatal(err)
	}
	a := Analyse(s)
	if len(a.Tables) != 2 || a.Tables[0].Provenance != lab.Modelled || a.Tables[1].Provenance != lab.Measured {
		t.Fatalf("tables %+v; want modelled, then measured", a.Tables)
	}
	held := a.Tables[0].Rows[0]
	if held.Arm.String() != "lock=held" || held.Effect.Provenance != lab.Measured || !near(held.Effect.Ratios["sec/op"].Mid, 3) {
		t.Errorf("row %s, effect %+v; want lock=held, 3 times a measured reference", held.Arm, held.Effect)
	}
	if len(a.Tables[1].Rows) != 1 || a.Tables[1].Rows[0].Arm.String() != "lock=none" {
		t.Errorf("measured rows %+v; want lock=none alone", a.Tables[1].Rows)
	}
}

func TestAnalyseNothing(t *testing.T) {
	rig, err := toy.Speed.Rig("server")
	if err != nil {
		t.Fatal(err)
	}
	arms, err := toy.Speed.Arms(rig, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	c := runner.Config{Blocks: 1, Budget: time.Hour, Host: host.Fingerprint{OS: "test"}}
	s, err := runner.Run(t.Context(), c, toy.Speed, rig, arms)
	if err != nil {
		t.Fatal(err)
	}
	if a := Analyse(s); len(a.Tables) != 0 || !math.IsInf(a.Floor, 1) {
		t.Errorf("%+v; want no tables and an unknown floor", a)
	}
}
