// Package registry lists the experiments of all cases. Adding a case is one
// line in the call of New below.
package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	aerospike "latlab.example/aerospike/study"
	coldfetch "latlab.example/coldfetch/study"
	"latlab.example/common/lab"
	rawblock "latlab.example/rawblock/study"
	spatial "latlab.example/spatial/study"
)

var all = New(
	aerospike.Experiments,
	coldfetch.Experiments,
	rawblock.Experiments,
	spatial.Experiments,
)

// ErrExperiment occurs when no experiment has that name. It comes wrapped with
// the names that there are.
var ErrExperiment = errors.New("no such experiment")

// List is a list of experiments, each with a name of its own.
type List []lab.Experiment

// All are the experiments of all cases, in the order of the registry.
func All() List { return slices.Clone(all) }

// New joins the cases' experiments. Two of one name are an error in the
// program: New panics.
func New(cases ...[]lab.Experiment) List {
	list := List(slices.Concat(cases...))
	seen := make(map[string]bool)
	for _, e := range list {
		if seen[e.Name] {
			panic(fmt.Sprintf("registry: two experiments are named %q; rename one", e.Name))
		}
		seen[e.Name] = true
	}
	return list
}

// Find gives the experiment of that name, or an error that wraps ErrExperiment.
func (l List) Find(name string) (lab.Experiment, error) {
	var names []string
	for _, e := range l {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return lab.Experiment{}, fmt.Errorf("%w: %q; choose one of: %s", ErrExperiment, name, strings.Join(names, ", "))
}

// Of gives the experiment of that name, or all of a case. The error wraps
// ErrExperiment.
func (l List) Of(name string) (List, error) {
	var found List
	for _, e := range l {
		if c, _, _ := strings.Cut(e.Name, "/"); e.Name == name || c == name {
			found = append(found, e)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	_, err := l.Find(name)
	return nil, err
}
