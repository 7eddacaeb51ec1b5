package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

// Catalog lists what can be explored. It is immutable and may be shared.
type Catalog struct {
	Experiments []Experiment `json:"experiments"`

	offered []lab.Experiment
}

// Experiment is one that has a model.
type Experiment struct {
	Name     string  `json:"name"`
	Case     string  `json:"case"`
	Question string  `json:"question"`
	Note     string  `json:"note,omitempty"`
	Rule     string  `json:"rule,omitempty"` // empty if nothing is judged
	Models   []Model `json:"models"`
}

// Model is a rig with parameters.
type Model struct {
	Rig     string   `json:"rig"`
	Factors []Factor `json:"factors"` // the first is what the rule judges
	Params  []Param  `json:"params"`
	Assumes []string `json:"assumes"` // beside the parameters
}

// Factor is what can be chosen.
type Factor struct {
	Name   string  `json:"name"`
	Levels []Level `json:"levels"` // the first is the baseline
}

// Level is a setting of a factor.
type Level struct {
	Label     string `json:"label"`
	Simulates string `json:"simulates,omitempty"` // what it puts a model in place of
}

// Param is a parameter of a model. Values are integers in its base unit: nanoseconds,
// counts, millionths, bytes, bytes a second.
type Param struct {
	Name   string `json:"name"`
	What   string `json:"what"`
	Unit   string `json:"unit"`
	Value  int64  `json:"value"`
	Text   string `json:"text"` // the value in its unit
	Lo     int64  `json:"lo"`   // equal to Hi if the value is a choice of the study
	Hi     int64  `json:"hi"`
	LoText string `json:"lo_text"`
	HiText string `json:"hi_text"`
	Kind   string `json:"kind"` // of the source: published, calibrated or assumed
	Source string `json:"source"`
}

// Errors of a request that can't be met, wrapped with what was asked for.
var (
	// ErrExperiment occurs when no experiment with a model has that name.
	ErrExperiment = errors.New("no such experiment with a model")
	// ErrRequest occurs when a request has a value that can't be.
	ErrRequest = errors.New("bad request")
)

// Models lists the experiments that have a rig made by lab.Model.
func Models(offered []lab.Experiment) *Catalog {
	c := &Catalog{offered: slices.Clone(offered)}
	for _, e := range offered {
		x := Experiment{Name: e.Name, Question: e.Question, Note: e.Note}
		x.Case, _, _ = strings.Cut(e.Name, "/")
		if !e.Rule.IsZero() {
			x.Rule = e.Rule.String()
		}
		for _, r := range e.Rigs {
			if t, ok := r.Params(); ok {
				x.Models = append(x.Models, model(e, r, t))
			}
		}
		if len(x.Models) > 0 {
			c.Experiments = append(c.Experiments, x)
		}
	}
	return c
}

func model(e lab.Experiment, r lab.Rig, t param.Table) Model {
	m := Model{Rig: r.Name(), Factors: []Factor{}, Params: []Param{}, Assumes: []string{}}
	for _, f := range e.FactorsOn(r) {
		x := Factor{Name: f.Name()}
		for i := range f.Len() {
			x.Levels = append(x.Levels, Level{f.Label(i), f.SimulatedBy(i)})
		}
		m.Factors = append(m.Factors, x)
	}
	for _, p := range t.Params() {
		m.Params = append(m.Params, Param{
			Name: p.Name, What: p.What, Unit: p.Unit.String(), Value: p.Value, Text: p.Text(),
			Lo: p.Lo, Hi: p.Hi, LoText: p.TextOf(p.Lo), HiText: p.TextOf(p.Hi),
			Kind: p.Source.Kind.String(), Source: p.Source.Text,
		})
	}
	stated := t.Assumptions()
	for _, a := range r.Assumptions() {
		if !slices.Contains(stated, a) {
			m.Assumes = append(m.Assumes, a)
		}
	}
	return m
}

// find is the experiment and the model that a request names.
func (c *Catalog) find(name, rig string) (e lab.Experiment, r lab.Rig, t param.Table, err error) {
	var names []string
	for _, x := range c.Experiments {
		names = append(names, x.Name)
	}
	if !slices.Contains(names, name) {
		return e, r, t, fmt.Errorf("%w: %q; choose one of: %s", ErrExperiment, name, strings.Join(names, ", "))
	}
	e = c.offered[slices.IndexFunc(c.offered, func(e lab.Experiment) bool { return e.Name == name })]
	var rigs []string
	for _, r := range e.Rigs {
		t, ok := r.Params()
		if !ok {
			continue
		}
		if rig == "" || r.Name() == rig {
			return e, r, t, nil
		}
		rigs = append(rigs, r.Name())
	}
	return e, r, t, fmt.Errorf("%w: %s has no model on rig %q; choose one of: %s", lab.ErrRig, name, rig, strings.Join(rigs, ", "))
}
