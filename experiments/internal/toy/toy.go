// Package toy has experiments for tests: nothing in them depends on a disk, a
// server or the host's speed, whatever kind their rigs claim to be.
package toy

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/common/sim/param"
)

// Subject is a trial as a function.
type Subject func(context.Context, *lab.Trial) error

// Trial calls the function.
func (s Subject) Trial(ctx context.Context, t *lab.Trial) error { return s(ctx, t) }

// Close does nothing.
func (s Subject) Close() error { return nil }

// Opens is an Open that never fails.
func Opens(trial func(context.Context, lab.Arm, *lab.Trial) error) lab.Open {
	return func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		return Subject(func(ctx context.Context, t *lab.Trial) error { return trial(ctx, a, t) }), nil
	}
}

// Factors of the toys.
var (
	Strategy = lab.NewFactor("strategy", "loop", "batch", "same")
	Keys     = lab.NewFactor("keys", 100, 1000)
	Lock     = lab.NewFactor("lock", "none", "held").Simulates("an interpreter lock", "held")
)

// Depth is an outcome of Speed beside lab.Writes.
var Depth = lab.Unit{Name: "queue-depth", Better: lab.Up}

// Stages of the toys' operations.
var Stages = metrics.NewStageSet("toy", "reserve", "write")

// Speed has a rig of each fate: one that works, one that is said to be real,
// one whose fake refuses one arm, and one that isn't available.
var Speed = lab.Experiment{
	Name:     "toy/speed",
	Question: "Is a batch faster than a loop?",
	Factors:  []lab.Factor{Strategy, Keys},
	Outcomes: []lab.Unit{lab.Writes, Depth},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(Depth, lab.Up),
	Stages:   Stages,
	Rigs: []lab.Rig{
		lab.Virtual("model", []string{"a toy knows no queue"}, Opens(speed)).With(lab.Latency(50*time.Microsecond, 200*time.Microsecond)),
		lab.Emulated("picky", []string{"a toy fake"}, refuseBatch, Opens(speed)),
		lab.Real("disk", nil, Opens(speed)),
		lab.Real("server", func(context.Context) error {
			return &lab.Unavailable{Need: "toy", Why: "no toy server on Linux or elsewhere", Do: "start one"}
		}, Opens(speed)),
	},
}

// Locked is a real rig with a level that simulates something.
var Locked = lab.Experiment{
	Name: "toy/locked", Question: "What does a lock cost?",
	Factors: []lab.Factor{Lock},
	Rule:    lab.Faster(0.10),
	Rigs:    []lab.Rig{lab.Real("disk", nil, Opens(locked))},
}

// Saving is a model in which a batch saves a share of a loop's time, and both pay
// for a wake-up.
var Saving = lab.Experiment{
	Name:     "toy/saving",
	Question: "From what saving on is a batch worth it?",
	Factors:  []lab.Factor{Strategy},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Rigs: []lab.Rig{
		lab.Model("model", []string{"a toy knows no queue"}, Parameters, openSaving),
		lab.Virtual("bare", []string{"a toy without parameters"}, Opens(speed)),
	},
}

// Parameters are those of Saving's model.
var Parameters = param.New(
	param.Param{Name: "saved", Value: 300_000, Lo: 0, Hi: 900_000, Unit: param.Share, Source: param.Assumed("a toy"), What: "share that a batch saves"},
	param.Param{Name: "wake", Value: int64(time.Millisecond), Lo: 0, Hi: int64(2 * time.Millisecond), Source: param.Published("toy.wake"), What: "wake-up of every operation"},
	param.Param{Name: "users", Value: 10, Unit: param.Count, Source: param.Published("toy.users"), What: "users, whom the toy ignores"},
)

func openSaving(_ context.Context, a lab.Arm, p param.Table) (lab.Subject, error) {
	return Subject(func(_ context.Context, t *lab.Trial) error {
		loop := 10 * time.Millisecond
		if Strategy.Of(a) == "batch" {
			loop -= p.Part("saved", loop)
		}
		t.Ops, t.Took = 1, loop+p.Time("wake")
		return nil
	}), nil
}

// speed takes 1 us a key and its wait, and a batch half of that, with 1 % of
// noise by the seed.
func speed(_ context.Context, a lab.Arm, t *lab.Trial) error {
	ns, depth := 1000*float64(Keys.Of(a)), 1.0
	if Strategy.Of(a) == "batch" {
		ns, depth = ns/2, 32
	}
	ns *= 1 + 0.01*rand.New(rand.NewPCG(t.Seed, 1)).Float64()
	t.Ops, t.Took = 10, time.Duration(10*ns)
	t.Observe(lab.Writes, float64(Keys.Of(a)))
	t.Observe(Depth, depth)
	op := int64(t.Took) / 10
	rec := metrics.NewRecorder(Stages, metrics.WithSwitch(true), metrics.WithTimelines(t.Timeline))
	for range t.Ops {
		req := rec.Request()
		req.Add(0, 0, 0, op/4)
		req.Add(0, 1, op/2, op)
		req.FinishAt(0, op)
	}
	t.Stages(rec.Snapshot())
	return nil
}

func locked(_ context.Context, a lab.Arm, t *lab.Trial) error {
	t.Ops, t.Took = 1, time.Millisecond
	if Lock.Of(a) == "held" {
		t.Took = 3 * time.Millisecond
	}
	return nil
}

func refuseBatch(_ context.Context, a lab.Arm) (string, error) {
	if Strategy.Of(a) == "batch" {
		return "", errors.New("asked for 50us, got 80us; close other programs")
	}
	return "asked for 50us, got 50us", nil
}
