package lab_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

type fixed time.Duration

func (f fixed) Trial(_ context.Context, t *lab.Trial) error {
	t.Ops, t.Took = 1, time.Duration(f)
	return nil
}
func (fixed) Close() error { return nil }

func TestModelsParametersAreAssumptionsAndCanBeVaried(t *testing.T) {
	table := param.New(param.Param{
		Name: "service", Value: int64(time.Millisecond), Hi: int64(time.Second),
		Source: param.Assumed("round"), What: "service time of a request",
	})
	rig := lab.Model("model", []string{"one channel"}, table, func(_ context.Context, _ lab.Arm, p param.Table) (lab.Subject, error) {
		return fixed(p.Time("service")), nil
	})
	other, err := table.SetText("service", "3ms")
	if err != nil {
		t.Fatal(err)
	}
	varied := rig.Vary("model-set", other)
	for _, test := range []struct {
		rig  lab.Rig
		took time.Duration
		says string
	}{
		{rig, time.Millisecond, "service = 1ms"},
		{varied, 3 * time.Millisecond, "instead of 1ms"},
	} {
		e := lab.Experiment{Name: "toy/model", Factors: []lab.Factor{keys}, Rigs: []lab.Rig{test.rig}}
		arms, err := e.Arms(test.rig, lab.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Open(t.Context(), test.rig, arms[0], host.Fingerprint{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(t.Context(), lab.Plan{N: 1})
		if err != nil || r.Took() != test.took {
			t.Errorf("%s took %v, %v, want %v", test.rig.Name(), r.Took(), err, test.took)
		}
		a := r.Stamp().Assumptions
		if a[0] != "one channel" || !slices.ContainsFunc(a, func(s string) bool { return strings.Contains(s, test.says) }) {
			t.Errorf("%s assumes %q, want %q in it", test.rig.Name(), a, test.says)
		}
		if got, ok := test.rig.Params(); !ok || got.Time("service") != test.took {
			t.Errorf("%s has parameters %v, %v", test.rig.Name(), got, ok)
		}
	}
	if varied.Name() != "model-set" {
		t.Errorf("name %q", varied.Name())
	}
	if _, ok := lab.Virtual("v", []string{"a"}, open).Params(); ok {
		t.Error("a rig without parameters has some")
	}
}
