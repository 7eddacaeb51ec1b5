package metrics

import (
	"math/rand/v2"
	"testing"
	"testing/quick"
)

func TestEnvironment(t *testing.T) {
	set := NewStageSet("x", "a")
	for _, tt := range []struct {
		env string
		on  bool
	}{
		{"1", true},
		{"true", true},
		{"yes", true},
		{"on", true},
		{"TRUE", true},
		{"Yes", true},
		{"oN", true},
		{" on ", true},
		{"", false},
		{"0", false},
		{"off", false},
		{"false", false},
		{"2", false},
		{"enable", false},
	} {
		t.Setenv(EnvStages, tt.env)
		if got := NewRecorder(set).On(); got != tt.on {
			t.Errorf("%s=%q: on is %v", EnvStages, tt.env, got)
		}
		if NewRecorder(set, WithSwitch(false)).On() || !NewRecorder(set, WithSwitch(true)).On() {
			t.Errorf("%s=%q beats WithSwitch", EnvStages, tt.env)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Setenv(EnvStages, "on")
	r := NewRecorder(NewStageSet("x", "a"))
	want := func(what string, on bool) {
		t.Helper()
		if r.On() != on {
			t.Errorf("%s: on is %v", what, r.On())
		}
	}
	want("environment", true)
	r.SetOn(false)
	want("run time beats the environment", false)
	s := r.Scope(true)
	want("a scope beats run time", true)
	r.SetOn(false)
	want("also what is set later", true)
	s.Close()
	want("run time again", false)
}

func TestScopeSurvivesPanic(t *testing.T) {
	r := NewRecorder(NewStageSet("x", "a"), WithSwitch(false))
	func() {
		defer func() { recover() }()
		defer r.Scope(true).Close()
		panic("in a scope")
	}()
	if r.On() {
		t.Error("the scope is still open after a panic")
	}
}

// Scopes opened and closed in any order, against a model that keeps a list.
func TestScopesAgainstModel(t *testing.T) {
	f := func(seed uint64) bool {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := NewRecorder(NewStageSet("x", "a"), WithSwitch(false))
		type opened struct {
			scope      *Scope
			on, closed bool
		}
		var (
			all  []*opened
			base bool
		)
		for range 60 {
			on := rng.IntN(2) == 0
			switch {
			case rng.IntN(10) == 0:
				r.SetOn(on)
				base = on
			case len(all) == 0 || rng.IntN(2) == 0:
				all = append(all, &opened{scope: r.Scope(on), on: on})
			default: // any scope, even one that is closed already
				o := all[rng.IntN(len(all))]
				o.scope.Close()
				o.closed = true
			}
			want := base
			for _, o := range all {
				if !o.closed {
					want = o.on
				}
			}
			if r.On() != want {
				return false
			}
		}
		return true
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
}
