package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"latlab.example/common/child"
	"latlab.example/common/metrics"
)

// Main is called first in the main or TestMain of a program that runs rigs made
// by InChild: it makes the program's children run their trials of the offered
// experiments. In a process that is no child it returns at once. It calls
// child.Main, so functions registered with child before are served too.
func Main(offered ...Experiment) {
	child.Register(childFunc, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return serveChild(ctx, in, out, offered)
	})
	child.Main()
}

const childFunc = "lab.trial"

// InChild is the rig with a fresh process for every trial, within the limits
// that the arm asks for: cores, a quota, GOMAXPROCS. Calibration runs in such a
// process too. The program must call Main; else opening an arm fails with an
// error that wraps child.ErrNoMain.
func (r Rig) InChild(limits func(Arm) child.Limits) Rig {
	r.limits = limits
	return r
}

// request is what a trial's parent asks of the child.
type request struct {
	Experiment, Rig string
	Arm             string
	Calibrate       bool // and don't run a trial
	Keep            bool // send the timelines
	Plan            Plan
}

// reply is the child's answer.
type reply struct {
	Calibration string
	Refused     string // calibration failed
	Missing     *Unavailable
	Ops         int
	Took        time.Duration
	Obs         map[string]float64
	Dirty       []string
	Stages      metrics.Snapshot
	Path        flatPath
	Timelines   []flatTimeline
}

// flatPath and flatTimeline travel without their stage set, which both sides know.
type flatPath struct {
	Ops                 int
	Total, Unattributed int64
	Stages              []int64
}

type flatTimeline struct {
	From, To  int64
	Intervals []metrics.Interval
}

func serveChild(ctx context.Context, in io.Reader, out io.Writer, offered []Experiment) error {
	var q request
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("lab: read request: %w", err)
	}
	r, err := answer(ctx, q, offered)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

func answer(ctx context.Context, q request, offered []Experiment) (reply, error) {
	for _, e := range offered {
		if e.Name != q.Experiment {
			continue
		}
		r, err := e.Rig(q.Rig)
		if err != nil {
			return reply{}, err
		}
		a, err := e.ParseArm(r, q.Arm)
		if err != nil {
			return reply{}, err
		}
		if q.Calibrate {
			text, err := r.calibrate(ctx, a)
			if err != nil {
				return reply{Refused: err.Error()}, nil
			}
			return reply{Calibration: text}, nil
		}
		return runHere(ctx, e, r, a, q)
	}
	return reply{}, fmt.Errorf("lab: the program doesn't offer experiment %q to its children; pass it to lab.Main", q.Experiment)
}

func runHere(ctx context.Context, e Experiment, r Rig, a Arm, q request) (reply, error) {
	s, err := r.open(ctx, a)
	if err != nil {
		var missing *Unavailable
		if errors.As(err, &missing) {
			return reply{Missing: missing}, nil
		}
		return reply{}, err
	}
	t := Trial{Plan: q.Plan}
	var kept []flatTimeline
	t.keep = func(tl metrics.Timeline) {
		if q.Keep {
			kept = append(kept, flatTimeline{tl.From, tl.To, tl.Intervals})
		}
		if tl.Set != e.Stages {
			err = errors.Join(err, errors.New("lab: a timeline's stages are not those of the experiment"))
		}
	}
	trial := s.Trial(ctx, &t)
	t.fold()
	if err := errors.Join(trial, s.Close(), err); err != nil {
		return reply{}, err
	}
	return reply{
		Ops: t.Ops, Took: t.Took, Obs: t.obs, Dirty: t.dirty, Stages: t.stages, Timelines: kept,
		Path: flatPath{Ops: t.path.Ops, Total: t.path.Total, Unattributed: t.path.Unattributed, Stages: t.path.Stages},
	}, nil
}

// inChild is the subject of a rig made by InChild: each trial is a process.
type inChild struct {
	e   Experiment
	rig Rig
	arm Arm
}

// ask starts a child, sends the request and reads the answer.
func (c *inChild) ask(ctx context.Context, q request) (r reply, err error) {
	q.Experiment, q.Rig, q.Arm = c.e.Name, c.rig.name, c.arm.String()
	p, err := child.Start(ctx, childFunc, c.rig.limits(c.arm))
	if err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			err = &Unavailable{Need: "linux", Why: err.Error(), Do: "run this arm on Linux"}
		}
		return reply{}, err
	}
	defer p.Kill()
	// A child that fails before it reads says why when it is waited for.
	sent := json.NewEncoder(p.In).Encode(q)
	read := json.NewDecoder(p.Out).Decode(&r)
	if err := p.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return reply{}, err
	}
	if err := errors.Join(sent, read); err != nil {
		return reply{}, fmt.Errorf("lab: talk to the child: %w", err)
	}
	if r.Missing != nil {
		return reply{}, r.Missing
	}
	return r, nil
}

// calibrate has the fake ask itself in a process with the arm's limits.
func (c *inChild) calibrate(ctx context.Context, _ Arm) (string, error) {
	r, err := c.ask(ctx, request{Calibrate: true})
	if err == nil && r.Refused != "" {
		err = errors.New(strings.TrimSpace(r.Refused))
	}
	return r.Calibration, err
}

func (c *inChild) Trial(ctx context.Context, t *Trial) error {
	r, err := c.ask(ctx, request{Plan: t.Plan, Keep: t.keep != nil})
	if err != nil {
		return err
	}
	t.Ops, t.Took, t.obs, t.dirty, t.stages = r.Ops, r.Took, r.Obs, r.Dirty, r.Stages
	t.path = metrics.Breakdown{Set: c.e.Stages, Ops: r.Path.Ops, Total: r.Path.Total, Unattributed: r.Path.Unattributed, Stages: r.Path.Stages}
	for _, tl := range r.Timelines {
		t.keep(metrics.Timeline{Set: c.e.Stages, From: tl.From, To: tl.To, Intervals: tl.Intervals})
	}
	return nil
}

func (c *inChild) Close() error { return nil }
