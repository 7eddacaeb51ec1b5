package lab

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"latlab.example/common/metrics"
)

// A Factor can be chosen; its first level is the baseline. *metrics.Toggle is
// a factor for every type, and the usual way to make one.
type Factor interface {
	Name() string
	Len() int
	Label(i int) string
	// SimulatedBy says what level i puts a model in place of; empty if nothing.
	SimulatedBy(i int) string
}

// NewFactor makes a factor that only the experiment knows: the size of a
// batch, say, where a toggle is read by the case's real code too.
func NewFactor[T any](name string, levels ...T) *metrics.Toggle[T] {
	return metrics.NewToggle(name, levels...)
}

// Names of device factors that the checks in labtest understand.
const (
	latencyName  = "latency"
	channelsName = "channels"
)

// Latency is the device factor of fakes that serve each request in a chosen time.
func Latency(levels ...time.Duration) *metrics.Toggle[time.Duration] {
	return metrics.NewToggle(latencyName, levels...)
}

// Channels is the device factor of fakes that serve at most so many requests at once.
func Channels(levels ...int) *metrics.Toggle[int] { return metrics.NewToggle(channelsName, levels...) }

// Bytes is a size as a factor's level. It prints as 64B, 4KiB or 1MiB, without
// a space, since labels stand in benchmark names.
type Bytes int64

func (b Bytes) String() string {
	switch {
	case b >= 1<<20 && b%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", b>>20)
	case b >= 1<<10 && b%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", b>>10)
	}
	return fmt.Sprintf("%dB", int64(b))
}

// Errors of a selection. Both come wrapped with what was asked for and what there is.
var (
	// ErrFactor occurs when an experiment on a rig has no factor of that name.
	ErrFactor = errors.New("no such factor")
	// ErrLevel occurs when a factor has no level of that label.
	ErrLevel = metrics.ErrLevel
)

// Arm is one level of each factor of an experiment and its rig. The zero Arm
// has no factors, so that every toggle reads its baseline from it.
type Arm struct {
	factors []Factor
	level   map[string]string
}

// Level gives the label that the arm chose for the factor. It makes Arm a
// metrics.Choice: toggle.Of(arm) is the typed level.
func (a Arm) Level(name string) (label string, ok bool) {
	label, ok = a.level[name]
	return label, ok
}

// All yields the arm's factors and labels in the experiment's order.
func (a Arm) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, f := range a.factors {
			if !yield(f.Name(), a.level[f.Name()]) {
				return
			}
		}
	}
}

// String is the arm's part of a benchmark name: strategy=batch/keys=100.
func (a Arm) String() string {
	var parts []string
	for name, label := range a.All() {
		parts = append(parts, name+"="+label)
	}
	return strings.Join(parts, "/")
}

// Differs names the factors in which two arms of one experiment and rig differ.
func (a Arm) Differs(b Arm) []string {
	var names []string
	for name, label := range a.All() {
		if other, _ := b.Level(name); other != label {
			names = append(names, name)
		}
	}
	return names
}

// At is the same arm with another level of one factor.
func (a Arm) At(name, label string) (Arm, error) {
	for _, f := range a.factors {
		if f.Name() == name {
			if err := hasLevel(f, label); err != nil {
				return Arm{}, err
			}
			level := maps.Clone(a.level)
			level[name] = label
			return Arm{a.factors, level}, nil
		}
	}
	return Arm{}, noFactor(name, a.factors)
}

// simulations lists what the chosen levels put a model in place of.
func (a Arm) simulations() []string {
	var sim []string
	for _, f := range a.factors {
		for i := range f.Len() {
			if f.Label(i) == a.level[f.Name()] && f.SimulatedBy(i) != "" {
				sim = append(sim, f.Name()+"="+f.Label(i)+" simulates "+f.SimulatedBy(i))
			}
		}
	}
	return sim
}

func labels(f Factor) []string {
	var all []string
	for i := range f.Len() {
		all = append(all, f.Label(i))
	}
	return all
}

func hasLevel(f Factor, label string) error {
	if slices.Contains(labels(f), label) {
		return nil
	}
	return fmt.Errorf("factor %s: %w %q; choose one of: %s", f.Name(), ErrLevel, label, strings.Join(labels(f), ", "))
}

func noFactor(name string, factors []Factor) error {
	var names []string
	for _, f := range factors {
		names = append(names, f.Name())
	}
	return fmt.Errorf("%w: %q; this rig has: %s", ErrFactor, name, strings.Join(names, ", "))
}

// Selection says which arms of an experiment to run on a rig.
type Selection struct {
	// Set keeps only these levels of a factor; the first named takes the
	// baseline's place.
	Set map[string][]string
	// Cross runs every combination of these factors' levels; all others stay at
	// their first level. Empty means the experiment's own Cross, and if it has none,
	// that arms differ from the first one in ONE factor.
	Cross []string
}

// Arms lists the arms of the selection on the rig, the baseline first, without
// repetition and in a fixed order.
func (e Experiment) Arms(r Rig, sel Selection) ([]Arm, error) {
	factors := e.factors(r)
	kept := make(map[string][]string, len(factors))
	for _, f := range factors {
		kept[f.Name()] = labels(f)
	}
	for name, want := range sel.Set {
		i := slices.IndexFunc(factors, func(f Factor) bool { return f.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("%s on rig %s: %w", e.Name, r.name, noFactor(name, factors))
		}
		if len(want) == 0 {
			return nil, fmt.Errorf("%s: %w %q: name at least one level", name, ErrLevel, "")
		}
		for _, label := range want {
			if err := hasLevel(factors[i], label); err != nil {
				return nil, err
			}
		}
		kept[name] = unique(want)
	}
	base := Arm{factors, make(map[string]string, len(factors))}
	for _, f := range factors {
		base.level[f.Name()] = kept[f.Name()][0]
	}
	arms := []Arm{base}
	cross := sel.Cross
	if len(cross) == 0 {
		cross = e.Cross
	}
	if len(cross) == 0 {
		for _, f := range factors {
			arms = append(arms, others(base, f.Name(), kept[f.Name()])...)
		}
		return arms, nil
	}
	for _, name := range unique(cross) {
		if _, ok := kept[name]; !ok {
			return nil, fmt.Errorf("%s on rig %s: %w", e.Name, r.name, noFactor(name, factors))
		}
		for _, a := range slices.Clone(arms) {
			arms = append(arms, others(a, name, kept[name])...)
		}
	}
	return arms, nil
}

// others are the arms that differ from a in the named factor's later levels.
func others(a Arm, name string, kept []string) []Arm {
	var arms []Arm
	for _, label := range kept[1:] {
		level := maps.Clone(a.level)
		level[name] = label
		arms = append(arms, Arm{a.factors, level})
	}
	return arms
}

func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
