package metrics

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// ErrLevel occurs when a label names no level of a toggle.
var ErrLevel = errors.New("no such level")

// Toggle is a named, typed choice; its first level is the baseline. It is
// declared once, in a package variable; after that it doesn't change and any
// number of goroutines may use it.
type Toggle[T any] struct {
	name      string
	levels    []T
	labels    []string
	simulates []string // by level: what a model stands for there, "" when real
}

// Choice is an arm of an experiment, as far as a toggle needs it: the label that
// was chosen for the toggle called name, and whether there is one.
type Choice interface {
	Level(name string) (label string, ok bool)
}

// NewToggle returns a toggle of the given levels. A level's label is what
// fmt.Sprint makes of it; durations are written with "us".
//
// It panics when there is no level, when two levels have one label, and when the
// name or a label is empty or holds a space, '/', '=' or anything but printable
// ASCII, since they become parts of benchmark names (strategy=pool). All of
// these are errors in the program.
func NewToggle[T any](name string, levels ...T) *Toggle[T] {
	if bad := nameError(name, "/="); bad != "" {
		panic(fmt.Sprintf("metrics: toggle %q: the name %s", name, bad))
	}
	if len(levels) == 0 {
		panic(fmt.Sprintf("metrics: toggle %q has no level", name))
	}
	t := &Toggle[T]{name: name, levels: slices.Clone(levels), simulates: make([]string, len(levels))}
	for i, l := range levels {
		s := label(l)
		if bad := nameError(s, "/="); bad != "" {
			panic(fmt.Sprintf("metrics: toggle %q: level %d: the label %q %s", name, i, s, bad))
		}
		if slices.Contains(t.labels, s) {
			panic(fmt.Sprintf("metrics: toggle %q: two levels have the label %q", name, s))
		}
		t.labels = append(t.labels, s)
	}
	return t
}

func label(v any) string {
	if d, ok := v.(time.Duration); ok {
		return ascii(d)
	}
	return fmt.Sprint(v)
}

// Simulates declares that the given levels put a model in place of what, which is
// real otherwise; an arm that chooses one is modelled on every rig. Levels are
// compared by label. It returns t, so that it can follow NewToggle. It panics
// when what is empty or the toggle has no such level.
func (t *Toggle[T]) Simulates(what string, levels ...T) *Toggle[T] {
	if what == "" {
		panic(fmt.Sprintf("metrics: toggle %q: Simulates doesn't say what", t.name))
	}
	for _, l := range levels {
		i := slices.Index(t.labels, label(l))
		if i < 0 {
			panic(fmt.Sprintf("metrics: toggle %q: %q simulates %s but isn't a level; the levels are %s",
				t.name, label(l), what, strings.Join(t.labels, ", ")))
		}
		t.simulates[i] = what
	}
	return t
}

// Name returns the toggle's name.
func (t *Toggle[T]) Name() string { return t.name }

// Len returns the number of levels.
func (t *Toggle[T]) Len() int { return len(t.levels) }

// Label returns the label of level i. It panics when there is no such level, as
// an index into a slice does.
func (t *Toggle[T]) Label(i int) string { return t.labels[i] }

// SimulatedBy returns what a model stands for in level i, or "" when the level is
// real. It panics when there is no such level.
func (t *Toggle[T]) SimulatedBy(i int) string { return t.simulates[i] }

// Levels returns a copy of the levels.
func (t *Toggle[T]) Levels() []T { return slices.Clone(t.levels) }

// Baseline returns the first level.
func (t *Toggle[T]) Baseline() T { return t.levels[0] }

// Parse returns the level with the given label. The error lists the levels and
// wraps [ErrLevel].
func (t *Toggle[T]) Parse(label string) (T, error) {
	if i := slices.Index(t.labels, label); i >= 0 {
		return t.levels[i], nil
	}
	var none T
	return none, fmt.Errorf("metrics: toggle %s: %w %q; the levels are %s", t.name, ErrLevel, label, strings.Join(t.labels, ", "))
}

// Of returns the level that c chose, or the baseline when c is nil or says
// nothing of the toggle. It panics when c chose a label that is no level: an arm
// is made from the toggle, so that is an error in the program, and any level
// taken in its place would put a wrong name on a result.
func (t *Toggle[T]) Of(c Choice) T {
	v, ok, err := t.chosen(c)
	switch {
	case err != nil:
		panic(err.Error())
	case ok:
		return v
	}
	return t.Baseline()
}

func (t *Toggle[T]) chosen(c Choice) (v T, ok bool, err error) {
	if c == nil {
		return v, false, nil
	}
	l, ok := c.Level(t.name)
	if !ok {
		return v, false, nil
	}
	v, err = t.Parse(l)
	return v, err == nil, err
}

// Resolve returns the level that applies: what c chose, else *option when it
// isn't nil, else the environment variable LATLAB_<NAME> (the name in upper case
// with '_' for '-') when it isn't empty, else the baseline. An option may be any
// value of T, a level or not.
//
// A label of c or of the environment that is no level is an error that wraps
// [ErrLevel]; for the environment it names the variable.
func (t *Toggle[T]) Resolve(c Choice, option *T) (T, error) {
	if v, ok, err := t.chosen(c); ok || err != nil {
		return v, err
	}
	if option != nil {
		return *option, nil
	}
	variable := "LATLAB_" + strings.ToUpper(strings.ReplaceAll(t.name, "-", "_"))
	if s := os.Getenv(variable); s != "" {
		v, err := t.Parse(s)
		if err != nil {
			err = fmt.Errorf("environment variable %s: %w; set it to one of these or unset it", variable, err)
		}
		return v, err
	}
	return t.Baseline(), nil
}
