package report

import (
	"context"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

func TestRunsFoldNeighbours(t *testing.T) {
	got := runs([]step{{"1", lab.Fails}, {"2", lab.Fails}, {"4", lab.Inconclusive}, {"8", lab.Holds}, {"16", lab.Holds}})
	if want := "fails at 1, 2; inconclusive at 4; holds at 8, 16"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// always takes 1 ms a key, or on many channels half of that with the batch.
type always struct{ took time.Duration }

func (a always) Trial(_ context.Context, t *lab.Trial) error {
	t.Ops, t.Took = 1, a.took
	return nil
}
func (always) Close() error { return nil }

// The line says where the verdict changes along the channels.
func TestFlipsAlongAFactor(t *testing.T) {
	strategy := lab.NewFactor("strategy", "loop", "batch")
	channels := lab.Channels(1, 2, 4)
	r := lab.Virtual("model", []string{"a toy"}, func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		took := time.Millisecond
		if strategy.Of(a) == "batch" && channels.Of(a) >= 4 {
			took /= 2
		}
		return always{took}, nil
	}).With(channels)
	e := lab.Experiment{Name: "toy/flip", Factors: []lab.Factor{strategy}, Rule: lab.Faster(0.10), Rigs: []lab.Rig{r}, Cross: []string{"strategy", "channels"}}
	arms, err := e.Arms(r, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := runner.Run(t.Context(), runner.Config{Blocks: 8, Budget: time.Hour}, e, r, arms)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{Run: Run{Set: set, Analysis: stats.Analyse(set)}}
	lines := p.flips(p.Analysis.Tables[0])
	if want := "strategy=batch along channels: fails at 1, 2; holds at 4"; len(lines) != 1 || lines[0] != want {
		t.Errorf("got %q, want %q", lines, want)
	}
}
