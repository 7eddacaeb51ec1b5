package study

import (
	"context"
	"errors"
	"slices"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/model"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

// onModel is the study's service in virtual time, with its parameters as data. setup
// says what an arm chooses.
func onModel(units []lab.Unit, setup func(lab.Arm) model.Setup, own ...lab.Factor) lab.Rig {
	return lab.Model("model", model.Assumptions, model.Study(), func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
		return virtual{setup: setup(a), params: t, units: units}, nil
	}).With(own...)
}

// modelSetup is what a setting says of the model's service.
func modelSetup(s setting) model.Setup {
	return model.Setup{
		Mode: s.Mode, Flight: s.Flight, Cache: s.Cache, Lean: s.Profile == coldfetch.Lean, Gzip: s.Gzip, Warm: s.Warm, Store: model.Loopback,
	}
}

// crowdSetup is the ladder's: as many users as the arm has, all the time.
func crowdSetup(a lab.Arm) model.Setup {
	s := modelSetup(settingOf(a))
	s.Users, s.Cores, s.Neighbour = crowd.Of(a), oneCore.Of(a), neighbour.Of(a)
	return s
}

// herdSetup is fifty callers of one cold document.
func herdSetup(a lab.Arm) model.Setup {
	s := modelSetup(modeOf(settingOf(a), handlers.Of(a)))
	s.Users, s.Cores, s.Store = 50, cores.Of(a), model.Store(far.Of(a))
	s.PerUser, s.Arrive, s.First, s.Alone = 1, 4_987_654*time.Nanosecond, true, true
	return s
}

// slowSetup is twenty users of a slow store, with nothing to compute.
func slowSetup(a lab.Arm) model.Setup {
	s := modelSetup(settingOf(a))
	s.Users, s.Cores, s.Store, s.Cache = 20, 2, model.Store(far.Of(a)), model.Docs
	s.PerUser, s.Arrive, s.Free = rounds(s.Users), 98_765_432*time.Nanosecond, true
	return s
}

// What requests for the same document share on the loop.
const (
	nothing = "nothing" // a handler has one turn, to its end
	lookUps = "look-up" // it gives the loop back after it looked into the cache, so that others look into the same one
	shared  = "build"   // and waits if somebody builds what it looked for
)

var sharing = lab.NewFactor("sharing", nothing, lookUps, shared)

// Ladder asks what the published ladder needs, on which throughput grows four-fold.
// No rig but the model has a handler of two turns.
var Ladder = lab.Experiment{
	Name:     "coldfetch/ladder",
	Question: "What must requests share for a full loop to do more for more users?",
	Note:     ladderNote,
	Factors:  []lab.Factor{lab.NewFactor("concurrency", 1, 10, 100), sharing, oneCore, coldfetch.CacheToggle},
	Cross:    []string{"concurrency", "sharing"},
	Outcomes: crowdOutcomes,
	Rule:     lab.Better(perSec, 0.10).NoEffectUnder(0.05),
	Stages:   coldfetch.Stages,
	Rigs: []lab.Rig{lab.Model("model", model.Assumptions, model.Study(), func(_ context.Context, a lab.Arm, t param.Table) (_ lab.Subject, err error) {
		v := virtual{setup: crowdSetup(a), params: t, units: crowdOutcomes}
		v.setup.Warm = true
		switch sharing.Of(a) {
		case shared:
			v.setup.Flight = coldfetch.ShareBuild
			fallthrough
		case lookUps:
			v.params, err = t.Set(model.Turns, 2)
		}
		return v, err
	})},
}

// virtual is an arm of the model.
type virtual struct {
	setup  model.Setup
	params param.Table
	units  []lab.Unit
}

func (virtual) Close() error { return nil }

// errNone occurs when no document was answered in a trial.
var errNone = errors.New("no document was answered in the window")

// The virtual time of a trial in which users stay: some hundreds of documents; and
// of one that was asked for a number of operations.
const (
	virtualWindow = 400 * time.Second
	shortWindow   = 60 * time.Second
)

// Trial runs the service for a window, or for as long as the plan says if that is
// longer; where users come and go, until all have their answers. Of a number of
// operations only that it is asked for is heeded, and the window is short.
func (v virtual) Trial(ctx context.Context, t *lab.Trial) error {
	window := max(t.Min, virtualWindow)
	if t.N > 0 {
		window = shortWindow
	}
	f, err := model.Run(ctx, v.setup, v.params, t.Seed, window, t.Timeline)
	if err != nil {
		return err
	}
	if f.Response.Count() == 0 {
		return errNone
	}
	t.Ops, t.Took = int(f.Response.Count()), time.Duration(f.Response.Sum())
	t.Stages(f.Stages)
	observe := func(u lab.Unit, value float64) {
		if slices.Contains(v.units, u) {
			t.Observe(u, value)
		}
	}
	observe(p95, float64(f.Response.Quantile(0.95)))
	observe(perSec, f.PerSec())
	observe(misses, 100*f.Misses)
	observe(timeouts, float64(f.Timeouts))
	observe(gets, float64(f.Gets))
	observe(builds, float64(f.Builds))
	observe(cpuShare, 100*f.CPU)
	if f.Health.Count() > 0 {
		observe(healthP95, float64(f.Health.Quantile(0.95)))
		observe(healthMax, float64(f.Health.Max()))
		observe(healthOwn, float64(f.Own.Quantile(0.95)))
	}
	observe(lagEvents, float64(f.LagEvents))
	observe(lagMax, float64(f.LagMax))
	observe(lagSum, float64(f.LagSum))
	return nil
}
