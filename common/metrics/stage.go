package metrics

import "fmt"

// Stage is the index of a stage in its [StageSet]. A case declares its stages
// as constants with iota, in the order of the names that it gives to
// [NewStageSet].
type Stage uint8

// Unattributed names the part of an operation's time that no stage covers. No
// stage may take this name.
const Unattributed = "unattributed"

// maxStages bounds a set. More than this is no longer a table that one reads.
const maxStages = 64

// StageSet names the stages of a case, once and in order. It doesn't change
// after it is made, so any number of goroutines may use it. The methods of a
// nil set answer as those of a set without stages.
type StageSet struct {
	name   string
	stages []string
}

// NewStageSet returns a set called name of the given stages.
//
// It panics when the set or a stage has no name, when a name holds a space or
// anything but printable ASCII (names become benchmark units, which end at a
// space), when a stage appears twice or is called [Unattributed], and when
// there are more than 64 stages. All of these are errors in the program.
func NewStageSet(name string, stages ...string) *StageSet {
	if bad := nameError(name, ""); bad != "" {
		panic(fmt.Sprintf("metrics: stage set %q: the name %s", name, bad))
	}
	if len(stages) > maxStages {
		panic(fmt.Sprintf("metrics: stage set %q: %d stages, at most %d fit", name, len(stages), maxStages))
	}
	seen := make(map[string]bool, len(stages))
	for i, s := range stages {
		switch bad := nameError(s, ""); {
		case bad != "":
			panic(fmt.Sprintf("metrics: stage set %q: stage %d (%q): the name %s", name, i, s, bad))
		case s == Unattributed:
			panic(fmt.Sprintf("metrics: stage set %q: stage %d: the name %q is kept for time that no stage covers", name, i, s))
		case seen[s]:
			panic(fmt.Sprintf("metrics: stage set %q: stage %q is declared twice", name, s))
		}
		seen[s] = true
	}
	return &StageSet{name: name, stages: append([]string(nil), stages...)}
}

// Name returns the name of the set.
func (s *StageSet) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Len returns the number of stages.
func (s *StageSet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.stages)
}

// Stage returns the name of stage i, or "undeclared(7)" when the set has no
// stage 7.
func (s *StageSet) Stage(i Stage) string {
	if int(i) >= s.Len() {
		return fmt.Sprintf("undeclared(%d)", i)
	}
	return s.stages[i]
}

// Lookup returns the stage called name, and whether there is one.
func (s *StageSet) Lookup(name string) (Stage, bool) {
	for i := range s.Len() {
		if s.stages[i] == name {
			return Stage(i), true
		}
	}
	return 0, false
}

// same reports whether two sets have the same name and stages.
func (s *StageSet) same(o *StageSet) bool {
	if s == o {
		return true
	}
	if s.Name() != o.Name() || s.Len() != o.Len() {
		return false
	}
	for i := range s.Len() {
		if s.stages[i] != o.stages[i] {
			return false
		}
	}
	return true
}

// nameError says what is wrong with a name that ends up in benchmark output,
// or returns "". The characters in not are refused too.
func nameError(name, not string) string {
	if name == "" {
		return "is empty"
	}
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return fmt.Sprintf("holds %q: only printable ASCII without spaces survives in benchmark output", c)
		}
		for _, n := range not {
			if c == n {
				return fmt.Sprintf("holds %q, which ends a key or a value in a benchmark name", c)
			}
		}
	}
	return ""
}
