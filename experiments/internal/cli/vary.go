package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/report"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/sweep"
)

// varies says that a model's parameters are to be varied.
func (f runFlags) varies() bool { return f.sweep != "" || f.tornado }

// checkVary refuses flags that don't go together.
func (f runFlags) checkVary() error {
	name, between, ok := strings.Cut(f.sweep, "=")
	switch {
	case f.given("sweep") && (!ok || name == "" || !strings.Contains(between, "..")):
		return usagef("--sweep %q: want parameter=a..b", f.sweep)
	case f.untilFlip && f.sweep == "":
		return usagef("--until-flip: say what to vary, with --sweep parameter=a..b")
	case f.tornado && f.sweep != "":
		return usagef("--tornado varies every parameter, --sweep one; choose")
	case f.varies() && f.given("precision"):
		return usagef("--precision: with --sweep and --tornado the number of blocks is fixed; leave it out")
	}
	return nil
}

// vary runs the only model among the jobs at several values of its parameters.
func (f runFlags) vary(ctx context.Context, e env, x lab.Experiment, jobs []job) error {
	var models []job
	for _, j := range jobs {
		if _, ok := j.rig.Params(); ok {
			models = append(models, j)
		}
	}
	if len(models) != 1 {
		return usagef("%s: --sweep and --tornado need one rig with parameters, and %d of those asked for have some; name it with --rig (latlab list %s shows which)", x.Name, len(models), x.Name)
	}
	params, _ := models[0].rig.Params()
	s := sweep.Job{
		Config:     runner.Config{Seed: f.seed, Blocks: f.blocks, Min: f.min, Budget: f.budget},
		Experiment: x, Rig: models[0].rig, Arms: models[0].arms,
	}
	if s.Config.Min == 0 {
		s.Config.Min = 100 * time.Millisecond
	}
	if e.terminal {
		line := progressLine{w: e.err, rig: s.Rig.Name()}
		s.Progress = func(name, value string) { line.text(name + "=" + value) }
		defer line.clear()
	}
	if f.tornado {
		all, err := s.Tornado(ctx)
		switch {
		case err != nil:
			return stoppedOr(ctx, err)
		case len(all) == 0:
			return f.nothingJudged(x)
		}
		set, err := s.Set(ctx)
		if err != nil {
			return err
		}
		if f.json {
			return report.TornadoJSON(e.out, set, all)
		}
		return report.TornadoText(e.out, set, all)
	}
	name, between, _ := strings.Cut(f.sweep, "=")
	p, err := params.Get(name)
	if err != nil {
		return err
	}
	swept := report.Sweep{Param: p, Asked: f.untilFlip}
	if swept.Points, err = s.Points(ctx, name, between); err != nil {
		return stoppedOr(ctx, err)
	}
	if len(sweep.Judged(swept.Points[0].Analysis)) == 0 {
		return f.nothingJudged(x)
	}
	if f.untilFlip {
		if swept.Flips, err = s.Flips(ctx, name, between); err != nil {
			return stoppedOr(ctx, err)
		}
	}
	if f.json {
		return report.SweepJSON(e.out, swept)
	}
	return report.SweepText(e.out, swept)
}

func (f runFlags) nothingJudged(x lab.Experiment) error {
	return usagef("%s: no arm among those asked for is judged, so no verdict can change; choose two levels of %s", x.Name, x.Factors[0].Name())
}

// stoppedOr is the error of a run that was ended early, or err.
func stoppedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return stoppedBy(ctx, nothing)
	}
	return err
}
