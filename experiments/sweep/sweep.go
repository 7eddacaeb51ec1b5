// Package sweep varies the parameters of a model and asks what becomes of the
// answer: along a range (Job.Points), where a verdict changes (Job.Flips), and
// which assumption moves the outcome most (Job.Tornado).
//
// All runs of a job have the same seed, so two of them differ in the parameter
// alone: the same users have the same thoughts.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// ErrModel occurs when a rig has no parameters: only models have.
var ErrModel = errors.New("this rig has no parameters to vary")

// Job is what is run at each value.
type Job struct {
	Config     runner.Config
	Experiment lab.Experiment
	Rig        lab.Rig // made by lab.Model
	Arms       []lab.Arm
	// Progress, if not nil, is told of each value before it is run.
	Progress func(name, value string)

	known map[string]run // by the values of all parameters
}

// run is a job at one table of parameters.
type run struct {
	set      runner.Set
	analysis stats.Analysis
}

// Point is the answer at one value of the parameter.
type Point struct {
	Value    int64
	Text     string // the value in its unit
	Set      runner.Set
	Analysis stats.Analysis
}

// Flip is a place where an arm's verdict changes.
type Flip struct {
	Arm lab.Arm
	param.Flip[lab.Verdict]
}

// Tornado says which parameters move an arm's effect most: its ratio to the
// reference in the figure that the rule judges first.
type Tornado struct {
	Arm  lab.Arm
	Unit lab.Unit
	Base float64
	Bars []param.Bar
}

// table is the rig's parameters.
func (j *Job) table() (param.Table, error) {
	t, ok := j.Rig.Params()
	if !ok {
		return param.Table{}, fmt.Errorf("%s on rig %s: %w; choose a model, with --kind virtual", j.Experiment.Name, j.Rig.Name(), ErrModel)
	}
	return t, nil
}

// at runs the job with these parameters, once. A refused row, or a context that
// ends, is an error here: a sweep with holes says nothing.
func (j *Job) at(ctx context.Context, t param.Table) (run, error) {
	var key strings.Builder
	for _, p := range t.Params() {
		key.WriteString(p.Text() + " ")
	}
	if r, ok := j.known[key.String()]; ok {
		return r, nil
	}
	set, err := runner.Run(ctx, j.Config, j.Experiment, j.Rig.Vary(j.Rig.Name(), t), j.Arms)
	if err != nil {
		return run{}, err
	}
	if ctx.Err() != nil {
		return run{}, context.Cause(ctx)
	}
	if refused := set.Refused(); len(refused) > 0 {
		return run{}, fmt.Errorf("%s: %w", refused[0].Arm, refused[0].Reason)
	}
	if j.known == nil {
		j.known = make(map[string]run)
	}
	r := run{set, stats.Analyse(set)}
	j.known[key.String()] = r
	return r, nil
}

// Points runs the job at values of a parameter, as param.Table.Sweep chooses
// them. between is a..b. Errors wrap ErrModel, param.ErrParam or param.ErrValue,
// or are those of the run.
func (j *Job) Points(ctx context.Context, name, between string) ([]Point, error) {
	t, err := j.table()
	if err != nil {
		return nil, err
	}
	swept, err := t.SweepText(name, between)
	if err != nil {
		return nil, err
	}
	var points []Point
	for _, s := range swept {
		p, err := s.Table.Get(name)
		if err != nil {
			return nil, err
		}
		j.report(name, p.Text())
		r, err := j.at(ctx, s.Table)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, p.Text(), err)
		}
		points = append(points, Point{s.Value, p.Text(), r.set, r.analysis})
	}
	return points, nil
}

func (j *Job) report(name, value string) {
	if j.Progress != nil {
		j.Progress(name, value)
	}
}

// Judged are the arms of a job that the rule judges.
func Judged(a stats.Analysis) []stats.Row {
	var rows []stats.Row
	for _, t := range a.Tables {
		for _, r := range t.Rows {
			if r.Effect != nil && r.Effect.Judged {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// judged is the arm's effect, which the rule judges.
func judged(a stats.Analysis, arm lab.Arm) (*stats.Effect, error) {
	for _, r := range Judged(a) {
		if r.Arm.String() == arm.String() {
			return r.Effect, nil
		}
	}
	return nil, fmt.Errorf("%s: no verdict; choose arms that differ from the baseline in %s", arm, "the experiment's first factor")
}

// Flips finds for each judged arm where its verdict changes within the range, to a
// hundredth of the value. Verdicts that change and change back between two points
// of the sweep aren't seen. Errors are those of Points.
func (j *Job) Flips(ctx context.Context, name, between string) ([]Flip, error) {
	points, err := j.Points(ctx, name, between)
	if err != nil {
		return nil, err
	}
	t, err := j.table()
	if err != nil {
		return nil, err
	}
	var flips []Flip
	for _, row := range Judged(points[0].Analysis) {
		found, err := param.Flips(t, name, points[0].Value, points[len(points)-1].Value, func(t param.Table) (lab.Verdict, error) {
			p, err := t.Get(name)
			if err != nil {
				return "", err
			}
			j.report(name, p.Text())
			r, err := j.at(ctx, t)
			if err != nil {
				return "", err
			}
			e, err := judged(r.analysis, row.Arm)
			if err != nil {
				return "", err
			}
			return e.Verdict, nil
		})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			flips = append(flips, Flip{row.Arm, f})
		}
	}
	return flips, nil
}

// Set is the job with the parameters as they are.
func (j *Job) Set(ctx context.Context) (runner.Set, error) {
	t, err := j.table()
	if err != nil {
		return runner.Set{}, err
	}
	r, err := j.at(ctx, t)
	return r.set, err
}

// Tornado moves each parameter that has a range to both its ends, all others as
// they are, for each judged arm. Errors are those of Points.
func (j *Job) Tornado(ctx context.Context) ([]Tornado, error) {
	t, err := j.table()
	if err != nil {
		return nil, err
	}
	base, err := j.at(ctx, t)
	if err != nil {
		return nil, err
	}
	var all []Tornado
	for _, row := range Judged(base.analysis) {
		unit := base.analysis.Unit
		mid, bars, err := param.Tornado(t, func(t param.Table) (float64, error) {
			j.report("all parameters", row.Arm.String())
			r, err := j.at(ctx, t)
			if err != nil {
				return 0, err
			}
			e, err := judged(r.analysis, row.Arm)
			if err != nil {
				return 0, err
			}
			return e.Ratios[unit.Name].Mid, nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, Tornado{row.Arm, unit, mid, bars})
	}
	return all, nil
}
