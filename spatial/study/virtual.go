package study

import (
	"context"
	"fmt"
	"math"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/laws"
	"latlab.example/common/sim/param"
	"latlab.example/spatial"
	"latlab.example/spatial/model"
)

// onModel is the study's service in virtual time, with its parameters as data.
func onModel() lab.Rig { return lab.Model("model", model.Assumptions, model.Study(), openModel) }

func openModel(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
	v := virtual{setup: setup(a), params: t}
	return v, v.feed(FeedbackName(label(a, feedback.Name(), string(Queue))))
}

// setup is what an arm chooses.
func setup(a lab.Arm) model.Setup {
	s := model.Setup{
		Users: number(a, "users", users.Baseline()), Think: duration(a, "think", think.Baseline()),
		Approach: model.Approach(label(a, "approach", string(model.Up))),
		Pool:     number(a, "pool", spatial.PoolToggle.Baseline()),
		Hold:     spatial.HoldName(label(a, "hold", string(spatial.HoldNone))), HoldFor: duration(a, "hold-for", spatial.HoldForToggle.Baseline()),
		Log: spatial.LogLevel(label(a, "rowlog", string(spatial.LogOff))), LogPlace: spatial.LogPlace(label(a, "log-place", string(spatial.LogAfter))),
		Acquire: spatial.AcquireName(label(a, "acquire", string(spatial.Park))),
		Guides:  label(a, "guides", "false") == "true", Nested: label(a, "nested", "false") == "true",
	}
	if _, ok := a.Level(timeout.Name()); ok {
		s.Timeout = duration(a, timeout.Name(), 0)
	}
	return s
}

// FeedbackName names what a wait does to what is waited for.
type FeedbackName string

// The feedbacks.
const (
	Queue     FeedbackName = "none"      // nothing: a queue
	Retried   FeedbackName = "retries"   // who gave up after half a second asks again, up to three times
	TwoConns  FeedbackName = "nested"    // a second connection, while the first is held
	Spinning  FeedbackName = "spin"      // who waits burns the cores that others work on
	Thrashing FeedbackName = "inflation" // each job beyond the cores makes a statement that begins 5 % longer
)

var feedback = lab.NewFactor("feedback", Queue, Retried, TwoConns, Spinning, Thrashing)

// Feedback asks what it takes for one load to have two answers. No rig but the
// model has all of them.
var Feedback = lab.Experiment{
	Name:     "spatial/feedback",
	Question: "Which feedback makes an overload stay after its load has gone?",
	Note:     note,
	Factors:  []lab.Factor{approach, feedback, waiting, lab.NewFactor("pool", 15, 10, 30), users, think},
	Cross:    []string{"approach", "feedback"},
	Outcomes: outcomes,
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05),
	Stages:   spatial.Stages,
	Rigs:     []lab.Rig{onModel()},
}

// feed sets what a feedback needs.
func (v *virtual) feed(name FeedbackName) (err error) {
	switch name {
	case Retried:
		v.setup.Timeout = 500 * time.Millisecond
		v.params, err = v.params.Set(model.Retries, 3)
	case TwoConns:
		v.setup.Guides, v.setup.Nested, v.setup.Timeout = true, true, 5*time.Second
	case Spinning:
		v.setup.Acquire = spatial.Spin
	case Thrashing:
		v.params, err = v.params.Set(model.Inflation, 50_000)
	case Queue:
	default:
		err = fmt.Errorf("study: no feedback %q", name)
	}
	return err
}

// virtual is an arm of the model.
type virtual struct {
	setup  model.Setup
	params param.Table
}

func (virtual) Close() error { return nil }

// Trial runs the service for a minute, or for as long as the plan says if that is
// longer. With a number of operations it runs for about as long as those take
// without waiting, and for a second at least, after the same approach.
func (v virtual) Trial(ctx context.Context, t *lab.Trial) error {
	window := max(t.Min, virtualPace.window)
	if t.N > 0 {
		window = max(time.Second, time.Duration(t.N)*v.setup.Think/time.Duration(v.setup.Users))
	}
	f, err := model.Run(ctx, v.setup, v.params, t.Seed, window, t.Timeline)
	if err != nil {
		return err
	}
	n := float64(f.Response.Count())
	if n == 0 {
		return errNone
	}
	t.Ops, t.Took = int(f.Response.Count()), time.Duration(f.Response.Sum())
	t.Stages(f.Stages)
	t.Observe(p50, float64(f.Response.Quantile(0.50)))
	t.Observe(p95, float64(f.Response.Quantile(0.95)))
	t.Observe(perSec, f.PerSec())
	t.Observe(success, 100*(1-float64(f.Failures)/n))
	t.Observe(slow, 100*f.Slow())
	t.Observe(timeouts, 100*float64(f.Failures)/n)
	t.Observe(held, float64(f.Held))
	t.Observe(poolUse, 100*f.PoolUse)
	t.Observe(pending, f.Pending)
	t.Observe(zero, 100*f.Zero)
	t.Observe(clientCPU, float64(f.AppCPU))
	t.Observe(serverCPU, float64(f.ServerCPU))
	z := v.setup.Think.Seconds()
	t.Observe(littleOff, 100*math.Abs(f.PerSec()*(f.Response.Mean()/1e9+z)/float64(v.setup.Users)-1))
	if off, ok := v.offClosed(f, z); ok {
		t.Observe(modelOff, 100*off)
	}
	return nil
}

// offClosed is how far the mean response is from that of the closed form, as
// running.offModel has it.
func (v virtual) offClosed(f model.Figures, z float64) (off float64, ok bool) {
	if v.setup.Nested || v.setup.Timeout > 0 {
		return 0, false
	}
	mean, hold, wait := f.Response.Mean()/1e9, f.Held.Seconds(), f.Pending/f.PerSec()
	p, err := laws.Closed{Users: v.setup.Users, Think: z, Stations: []laws.Station{
		{Name: "pool", Demand: hold, Servers: v.setup.Pool},
		{Name: "rest", Demand: max(0, mean-hold-wait), Servers: laws.Unlimited},
	}}.Solve()
	if err != nil || p.Response == 0 {
		return 0, false
	}
	return math.Abs(mean/p.Response - 1), true
}
