package study

import (
	"context"
	"slices"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
	"latlab.example/rawblock/model"
)

// modelled is the virtual rigs' choice among the fakes' devices.
var modelled = lab.NewFactor("device", model.Channels, model.OneWait, model.UnbatchedHeaders)

// The models, in virtual time, of the machine behind the study's table.
var (
	putModel = lab.Model("model", model.Assumptions, model.Study(), func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
		return virtual{setup(a, modelled.Of(a), latency.Of(a), channels.Of(a)), t, writeMany, nil}, nil
	}).With(modelled, latency, channels)

	breakEvenModel = lab.Model("model", model.Assumptions, model.Study(), func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
		return virtual{setup(a, model.Channels, breakEvenLatency.Of(a), wide.Of(a)), t, writeMany, nil}, nil
	}).With(breakEvenLatency, wide)

	getModel = lab.Model("model", model.Assumptions, model.Study(), func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
		read := func(ctx context.Context, s model.Setup, t param.Table, trial *lab.Trial, ops int) (model.Figures, error) {
			return model.GetMany(ctx, s, t, trial.Seed, ops, readToggle.Of(a) == many)
		}
		return virtual{setup(a, model.Channels, latency.Of(a), channels.Of(a)), t, read, []lab.Unit{lab.Reads, queueDepth}}, nil
	}).With(latency, channels)
)

// setup is what an arm chooses. Its durability, strategy and layout are the
// baselines where the experiment has no such factor.
func setup(a lab.Arm, d model.Device, l time.Duration, k int) model.Setup {
	return model.Setup{
		Strategy: rawblock.StrategyToggle.Of(a), Batches: rawblock.EngineToggle.Of(a) == rawblock.IOUring,
		Layout: rawblock.LayoutToggle.Of(a), Durability: rawblock.DurabilityToggle.Of(a),
		Keys: keys.Of(a), Payload: int64(payload.Of(a)), Device: d, Latency: l, Channels: k,
	}
}

// virtual runs a setup in virtual time.
type virtual struct {
	setup    model.Setup
	params   param.Table
	run      func(context.Context, model.Setup, param.Table, *lab.Trial, int) (model.Figures, error)
	outcomes []lab.Unit // nil: those of a write
}

func writeMany(ctx context.Context, s model.Setup, t param.Table, trial *lab.Trial, ops int) (model.Figures, error) {
	return model.PutMany(ctx, s, t, trial.Seed, ops, trial.Timeline)
}

// Trial runs as many operations as planned, or one: each is as the other, since
// nothing is drawn.
func (v virtual) Trial(ctx context.Context, t *lab.Trial) error {
	f, err := v.run(ctx, v.setup, v.params, t, max(t.N, 1))
	if err != nil {
		return err
	}
	t.Ops, t.Took = f.Ops, f.Took
	ops := float64(f.Ops)
	for _, o := range []struct {
		unit  lab.Unit
		value float64
	}{
		{lab.Writes, float64(f.Writes) / ops},
		{lab.Reads, float64(f.Reads) / ops},
		{flushes, float64(f.Flushes) / ops},
		{queueDepth, f.Depth()},
		{lab.DeviceWrites, float64(f.Writes) / ops},
		{devSize, float64(f.Bytes) / float64(max(f.Writes, 1))},
	} {
		if slices.Contains(v.outcomes, o.unit) || v.outcomes == nil && slices.Contains(writeOutcomes, o.unit) {
			t.Observe(o.unit, o.value)
		}
	}
	return nil
}

func (virtual) Close() error { return nil }
