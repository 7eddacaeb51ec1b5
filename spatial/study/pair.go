//go:build !js

package study

import (
	"context"
	"errors"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
)

// sequences are the pools of a trial, one run of the load after the other.
var sequences = map[string][]int{
	"interleaved": {10, 15, 15, 10}, "10-then-15": {10, 15}, "15-then-10": {15, 10},
}

// pair compares two pools within a trial. Each run starts the service anew, as
// somebody who changes a setting does; the server goes on.
type pair struct {
	target
	arm lab.Arm
}

// Close does nothing: each run closes what it opened.
func (p *pair) Close() error { return nil }

// Trial runs the arm's sequence.
func (p *pair) Trial(ctx context.Context, t *lab.Trial) error {
	means := map[int]*metrics.Dist{10: {}, 15: {}}
	var stages metrics.Snapshot
	for i, size := range sequences[label(p.arm, order.Name(), "interleaved")] {
		one := lab.Trial{Plan: t.Plan}
		one.Seed += uint64(i) << 32
		out, err := p.run(ctx, &one, size)
		if err != nil {
			return err
		}
		t.Ops += one.Ops
		t.Took += one.Took
		means[size].Merge(out.Response)
		means[size].Merge(out.Failed)
		if err := stages.Merge(out.stages); err != nil {
			return err
		}
		for _, tl := range out.lines {
			t.Timeline(tl)
		}
	}
	t.Stages(stages)
	if m := means[15].Mean(); m > 0 {
		t.Observe(gain, means[10].Mean()/m)
	}
	return nil
}

func (p *pair) run(ctx context.Context, t *lab.Trial, size int) (out run, err error) {
	r, err := openSized(ctx, p.target, p.arm, size)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n := number(p.arm, "users", users.Baseline())
	if out, err = r.drive(ctx, shaped(r.pace, t.Plan, n, false), t.Seed); err != nil {
		return out, err
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	all := out.Response
	all.Merge(out.Failed)
	if all.Count() == 0 {
		return out, errNone
	}
	t.Ops, t.Took = int(all.Count()), time.Duration(all.Sum())
	return out, nil
}

// open makes an arm's service with the arm's pool.
func open(ctx context.Context, tg target, a lab.Arm) (*running, error) {
	return openSized(ctx, tg, a, number(a, "pool", spatial.PoolToggle.Baseline()))
}
