package labtest_test

import (
	"errors"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/common/metrics"
)

// registry is where a case plugs in: one line each.
var registry = []lab.Experiment{
	toy(faults{}),
}

func TestToyKeepsTheContract(t *testing.T) {
	for _, e := range registry {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}

func TestPlantedFaultsAreFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		plant faults
		want  []error
	}{
		{"unit without direction", faults{direction: true}, []error{labtest.ErrUnit}},
		{"outcome not declared", faults{undeclared: true}, []error{labtest.ErrUnit}},
		{"label that breaks a name", faults{name: true}, []error{labtest.ErrName}},
		{"no assumption", faults{assumptions: true}, []error{labtest.ErrAssumptions}},
		{"overlap on a track", faults{overlap: true}, []error{labtest.ErrTimeline, metrics.ErrOverlap}},
		{"stage not declared", faults{stage: true}, []error{labtest.ErrTimeline, metrics.ErrUndeclared}},
		{"stage longer than the operation", faults{outside: true}, []error{labtest.ErrTimeline, metrics.ErrOutside}},
		{"no timeline", faults{noTimeline: true}, []error{labtest.ErrTimeline}},
		{"seed does not replay", faults{seed: true}, []error{labtest.ErrReplay}},
		{"goroutine left", faults{leak: true}, []error{labtest.ErrLeak}},
		{"a device for each caller", faults{stateless: true}, []error{labtest.ErrSerial}},
		{"trial fails", faults{failing: true}, []error{labtest.ErrArm}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := labtest.Faults(t.Context(), toy(test.plant))
			all := errors.Join(report.Faults...)
			for _, want := range test.want {
				if !errors.Is(all, want) {
					t.Errorf("found %v, want %v", all, want)
				}
			}
			// Nothing else may be found: a check that fires on everything checks nothing.
			for _, f := range report.Faults {
				if !errors.Is(f, test.want[0]) {
					t.Errorf("found also: %v", f)
				}
			}
		})
	}
}

func TestRefusedAndMissingAreNoFaults(t *testing.T) {
	report := labtest.Faults(t.Context(), toy(faults{offTolerance: true}))
	if len(report.Faults) > 0 || len(report.Refused) == 0 {
		t.Errorf("off tolerance: faults %v, refused %v; want only refused rows", report.Faults, report.Refused)
	}
	report = labtest.Faults(t.Context(), toy(faults{unavailable: true}))
	if len(report.Faults) > 0 || len(report.Missing) != 1 {
		t.Errorf("unavailable: faults %v, missing %v; want one missing rig", report.Faults, report.Missing)
	}
}

// required records how Require ended a test.
type required struct {
	testing.TB
	failed, skipped bool
}

func (r *required) Helper()               {}
func (r *required) Fatalf(string, ...any) { r.failed = true; panic(r) }
func (r *required) Skipf(string, ...any)  { r.skipped = true; panic(r) }

func TestRequireFailsWhatMustNotBeSkipped(t *testing.T) {
	for _, test := range []struct {
		variable string
		failed   bool
	}{
		{"", false}, {"s3", false}, {"postgis", true}, {"s3,postgis", true}, {"postgis2", false},
	} {
		t.Setenv(labtest.RequireVariable, test.variable)
		r := &required{TB: t}
		func() {
			defer func() { _ = recover() }()
			labtest.Require(r, "postgis", errors.New("no server"))
		}()
		if r.failed != test.failed || r.skipped == test.failed {
			t.Errorf("%q: failed %v, skipped %v; want failed %v", test.variable, r.failed, r.skipped, test.failed)
		}
	}
}

func BenchmarkModelledToy(b *testing.B) {
	labtest.Bench(b, toy(faults{}), lab.Modelled, lab.Selection{})
}

// An experiment without factors has nothing to choose, and is checked all the same.
func TestWithoutFactors(t *testing.T) {
	e := toy(faults{})
	e.Factors, e.Rule = nil, lab.Rule{}
	if report := labtest.Faults(t.Context(), e); len(report.Faults) > 0 {
		t.Errorf("found %v", report.Faults)
	}
}
