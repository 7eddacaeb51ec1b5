// Package modelrig puts a model with a table of parameters behind a virtual rig,
// and asks what becomes of an experiment's answer when a parameter changes.
package modelrig

import (
	"context"
	"fmt"
	"math"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

// Model is what a virtual rig runs. It is a plain value.
type Model struct {
	Params param.Table
	Assume []string     // about its structure, a sentence each
	Own    []lab.Factor // of the rig
	Open   lab.OpenModel
}

// With is the model with other parameters.
func (m Model) With(t param.Table) Model {
	m.Params = t
	return m
}

// Rig is the model as a rig, whose parameters can be varied.
func (m Model) Rig(name string) lab.Rig {
	return lab.Model(name, m.Assume, m.Params, m.Open).With(m.Own...)
}

// run is one trial of an arm.
func (m Model) run(ctx context.Context, e lab.Experiment, a lab.Arm, p lab.Plan) (res lab.Result, err error) {
	s, err := e.Open(ctx, m.Rig("model"), a, host.Fingerprint{})
	if err != nil {
		return lab.Result{}, err
	}
	res, err = s.Run(ctx, p)
	if closing := s.Close(); err == nil {
		err = closing
	}
	return res, err
}

// Outcome gives an arm's figure as a function of the parameters, for
// [param.Tornado] and sweeps. It runs one trial by the plan for each table.
func (m Model) Outcome(ctx context.Context, e lab.Experiment, a lab.Arm, u lab.Unit, p lab.Plan) func(param.Table) (float64, error) {
	return func(t param.Table) (float64, error) {
		res, err := m.With(t).run(ctx, e, a, p)
		if err != nil {
			return 0, err
		}
		v, ok := res.Value(u)
		if !ok {
			return 0, fmt.Errorf("%s, %s: the model reports no %s", e.Name, a, u.Name)
		}
		return v, nil
	}
}

// Ratio gives a figure of an arm over the baseline's as a function of the
// parameters. Both arms get the same seed, so that what is drawn is the same as
// far as can be.
func (m Model) Ratio(ctx context.Context, e lab.Experiment, base, a lab.Arm, u lab.Unit, p lab.Plan) func(param.Table) (float64, error) {
	over, under := m.Outcome(ctx, e, a, u, p), m.Outcome(ctx, e, base, u, p)
	return func(t param.Table) (float64, error) {
		v, err := over(t)
		if err != nil {
			return 0, err
		}
		w, err := under(t)
		return v / w, err
	}
}

// Verdict gives the verdict of the experiment's rule on an arm against a baseline
// as a function of the parameters, for [param.Flips]. It runs both arms with each
// of the seeds; the interval that the rule gets reaches from the least to the
// largest ratio. The noise floor is zero: there is no host.
func (m Model) Verdict(ctx context.Context, e lab.Experiment, base, a lab.Arm, p lab.Plan, seeds ...uint64) func(param.Table) (lab.Verdict, error) {
	return func(t param.Table) (lab.Verdict, error) {
		m := m.With(t)
		ratios := make(map[string]lab.Interval)
		for _, seed := range seeds {
			p.Seed = seed
			was, err := m.run(ctx, e, base, p)
			if err != nil {
				return "", err
			}
			is, err := m.run(ctx, e, a, p)
			if err != nil {
				return "", err
			}
			for _, u := range e.Rule.Units() {
				v, okV := is.Value(u)
				w, okW := was.Value(u)
				if !okV || !okW {
					continue
				}
				r := v / w
				if v == w { // also 0 / 0
					r = 1
				}
				i, seen := ratios[u.Name]
				if !seen {
					i = lab.Interval{Lo: math.Inf(1), Hi: math.Inf(-1), Mid: r}
				}
				i.Lo, i.Hi = min(i.Lo, r), max(i.Hi, r)
				ratios[u.Name] = i
			}
		}
		verdict, _ := e.Rule.Judge(ratios, 0)
		return verdict, nil
	}
}
