package metrics

import (
	"fmt"
	"strings"
	"testing"
)

// mustPanic runs f and checks that it panics with a message that holds want.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic %q, want one that says %q", got, want)
		}
	}()
	f()
}

func TestStageSet(t *testing.T) {
	s := NewStageSet("store", "reserve", "submit", "wait")
	if s.Name() != "store" || s.Len() != 3 || s.Stage(1) != "submit" {
		t.Errorf("got %s, %d, %s", s.Name(), s.Len(), s.Stage(1))
	}
	if got := s.Stage(7); got != "undeclared(7)" {
		t.Errorf("stage 7 is %q", got)
	}
	if i, ok := s.Lookup("wait"); i != 2 || !ok {
		t.Errorf("Lookup(wait) = %d, %v", i, ok)
	}
	if _, ok := s.Lookup("seek"); ok {
		t.Error("Lookup finds a stage that isn't there")
	}
}

func TestStageSetNil(t *testing.T) {
	var s *StageSet
	if _, ok := s.Lookup("a"); ok || s.Name() != "" || s.Len() != 0 || s.Stage(0) != "undeclared(0)" {
		t.Error("a nil set isn't an empty one")
	}
}

func TestNewStageSetPanics(t *testing.T) {
	many := make([]string, maxStages+1)
	for i := range many {
		many[i] = fmt.Sprint("s", i)
	}
	for _, tt := range []struct {
		name   string
		set    string
		stages []string
		want   string
	}{
		{"no set name", "", []string{"a"}, "is empty"},
		{"no stage name", "x", []string{"a", ""}, "stage 1"},
		{"space", "x", []string{"disk read"}, "holds ' '"},
		{"not ASCII", "x", []string{"größe"}, "holds 'ö'"},
		{"twice", "x", []string{"a", "b", "a"}, "declared twice"},
		{"kept", "x", []string{Unattributed}, "is kept"},
		{"too many", "x", many, "65 stages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mustPanic(t, tt.want, func() { NewStageSet(tt.set, tt.stages...) })
		})
	}
	if got := NewStageSet("x", many[:maxStages]...).Len(); got != maxStages {
		t.Errorf("%d stages, want %d", got, maxStages)
	}
}
