package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/explore"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
)

func toys() *explore.Catalog {
	return explore.Models([]lab.Experiment{toy.Speed, toy.Saving, toy.Locked})
}

// Only rigs with parameters are offered; each parameter with its source.
func TestModels(t *testing.T) {
	c := toys()
	if len(c.Experiments) != 1 || c.Experiments[0].Name != "toy/saving" || c.Experiments[0].Case != "toy" {
		t.Fatalf("got %+v; want the one experiment with a model", c.Experiments)
	}
	m := c.Experiments[0].Models
	if len(m) != 1 || m[0].Rig != "model" || len(m[0].Factors) != 1 || len(m[0].Factors[0].Levels) != 3 {
		t.Fatalf("got %+v; want the model with its factor's three levels", m)
	}
	if p := m[0].Params[0]; p.Name != "saved" || p.Text != "0.3" || p.HiText != "0.9" || p.Kind != "assumed" || p.Source != "a toy" {
		t.Errorf("got %+v", p)
	}
	if want := []string{"a toy knows no queue"}; !reflect.DeepEqual(m[0].Assumes, want) {
		t.Errorf("beside its parameters it assumes %q; want %q", m[0].Assumes, want)
	}
}

// answers are those of a request.
func answers(t *testing.T, q explore.Request) (all []explore.Answer) {
	t.Helper()
	if err := toys().Run(t.Context(), q, func(a explore.Answer) bool {
		all = append(all, a)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// There is an answer a block, the verdict with the last, and no word of measured.
func TestRun(t *testing.T) {
	q := explore.Request{Experiment: "toy/saving", Levels: map[string]string{"strategy": "batch"}}
	all := answers(t, q)
	if len(all) != explore.Blocks {
		t.Fatalf("%d answers; want one a block", len(all))
	}
	for i, a := range all {
		last := i == len(all)-1
		if a.Blocks != i+1 || a.Final != last || (a.Verdict != "") != last || a.Provenance != "modelled" {
			t.Errorf("answer %d: %d blocks, final %v, verdict %q, %s", i, a.Blocks, a.Final, a.Verdict, a.Provenance)
		}
	}
	a := all[len(all)-1]
	if a.Verdict != "holds" || a.Now.Figures[0].Text != "8ms" || a.Reference.Figures[0].Text != "11ms" || a.Effects[0].Text != "-27.3%" || a.Now.Rate != "125 op/s" {
		t.Errorf("got %+v", a)
	}
	if want := "latlab run toy/saving --rig model --set strategy=loop,batch --blocks 6 --seed 1"; a.Command != want {
		t.Errorf("the command is %q; want %q", a.Command, want)
	}

	again := answers(t, q)
	for i := range again {
		again[i].Took, all[i].Took = 0, 0
	}
	if !reflect.DeepEqual(again, all) {
		t.Error("the same request gave other answers")
	}
}

// The baseline has nothing beside it, and no verdict.
func TestRunBaseline(t *testing.T) {
	all := answers(t, explore.Request{Experiment: "toy/saving", Rig: "model", Seed: 7})
	a := all[len(all)-1]
	if a.Reference != nil || a.Verdict != "" || a.Chosen != "loop" {
		t.Errorf("got %+v", a)
	}
	if !strings.HasSuffix(a.Command, "--set strategy=loop --blocks 6 --seed 7") {
		t.Errorf("the command is %q", a.Command)
	}
}

// A parameter moves the answer, is named as changed, and stands in the command.
func TestRunParam(t *testing.T) {
	q := explore.Request{Experiment: "toy/saving", Levels: map[string]string{"strategy": "batch"}, Params: map[string]string{"saved": "0.01", "wake": "1ms"}}
	all := answers(t, q)
	a := all[len(all)-1]
	if a.Verdict != "fails" || !reflect.DeepEqual(a.Changed, []string{"saved=0.01"}) || !strings.Contains(a.Command, " --param saved=0.01 --blocks") {
		t.Errorf("got %s, %q, %q", a.Verdict, a.Changed, a.Command)
	}
}

func TestRunErrors(t *testing.T) {
	const name = "toy/saving"
	for _, tt := range []struct {
		q    explore.Request
		want error
	}{
		{explore.Request{Experiment: "toy/speed"}, explore.ErrExperiment},
		{explore.Request{Experiment: name, Rig: "bare"}, lab.ErrRig},
		{explore.Request{Experiment: name, Levels: map[string]string{"strategy": "magic"}}, lab.ErrLevel},
		{explore.Request{Experiment: name, Levels: map[string]string{"magic": "loop"}}, lab.ErrFactor},
		{explore.Request{Experiment: name, Params: map[string]string{"magic": "1"}}, param.ErrParam},
		{explore.Request{Experiment: name, Params: map[string]string{"saved": "much"}}, param.ErrValue},
		{explore.Request{Experiment: name, Params: map[string]string{"wake": "-1s"}}, param.ErrValue},
		{explore.Request{Experiment: name, Params: map[string]string{"wake": "1h"}}, explore.ErrRequest},
	} {
		err := toys().Run(t.Context(), tt.q, func(explore.Answer) bool { t.Error("an answer"); return true })
		if !errors.Is(err, tt.want) || !explore.Asked(err) {
			t.Errorf("%+v gave %v; want %v, as the request's", tt.q, err, tt.want)
		}
	}
}

// A model that breaks on its values says so, and doesn't end the program.
func TestRunBreaks(t *testing.T) {
	broken := toy.Saving
	broken.Rigs = []lab.Rig{lab.Model("model", nil, toy.Parameters, func(context.Context, lab.Arm, param.Table) (lab.Subject, error) {
		return toy.Subject(func(context.Context, *lab.Trial) error { panic("no time is so long\nstack") }), nil
	})}
	err := explore.Models([]lab.Experiment{broken}).Run(t.Context(), explore.Request{Experiment: "toy/saving"}, func(explore.Answer) bool { return true })
	if !errors.Is(err, runner.ErrModel) || !explore.Asked(err) || !strings.HasSuffix(err.Error(), "these values: no time is so long") {
		t.Errorf("got %v", err)
	}
}

// Who has had enough ends the run; a context that ends gives the answer so far.
func TestRunEnds(t *testing.T) {
	n := 0
	if err := toys().Run(t.Context(), explore.Request{Experiment: "toy/saving"}, func(explore.Answer) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("%d answers after the second was enough, %v", n, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var last explore.Answer
	err := toys().Run(ctx, explore.Request{Experiment: "toy/saving"}, func(a explore.Answer) bool {
		if last = a; a.Blocks == 3 {
			cancel()
		}
		return true
	})
	if err != nil || !last.Final || last.Cut != "ended early, after 3 of 6 blocks" || last.Verdict != "" {
		t.Errorf("got %+v, %v", last, err)
	}
	err = toys().Run(ctx, explore.Request{Experiment: "toy/saving"}, func(explore.Answer) bool { t.Error("an answer"); return true })
	if !errors.Is(err, context.Canceled) || explore.Asked(err) {
		t.Errorf("a context that has ended gave %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"experiment":"toy/saving","levels":{"strategy":"batch"},"params":{"saved":"0.5"}}`)
	f.Add(`{"experiment":"toy/saving","params":{"wake":"9223372036854775807ns","saved":"1e300"}}`)
	f.Add(`[]`)
	c := toys()
	f.Fuzz(func(t *testing.T, text string) {
		q, err := explore.Read(strings.NewReader(text))
		if err != nil {
			if !explore.Asked(err) {
				t.Errorf("%q: %v isn't the request's", text, err)
			}
			return
		}
		err = c.Run(t.Context(), q, func(a explore.Answer) bool {
			if _, err := json.Marshal(a); err != nil {
				t.Errorf("%q: the answer has no JSON: %v", text, err)
			}
			return true
		})
		_ = err // a model may refuse what it is asked
	})
}

func TestReadIsBounded(t *testing.T) {
	if _, err := explore.Read(strings.NewReader(strings.Repeat(" ", explore.MaxRequest) + "{}")); !errors.Is(err, explore.ErrRequest) {
		t.Errorf("a request that is too long gave %v", err)
	}
}
