package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"latlab.example/common/metrics"
)

// Provenance says whether a figure may be called measured. The zero Provenance
// is the careful one.
type Provenance uint8

// Modelled: something underneath is simulated. Measured: a real device or server.
const (
	Modelled Provenance = iota
	Measured
)

func (p Provenance) String() string {
	if p == Measured {
		return "measured"
	}
	return "modelled"
}

// Stamp is what a result carries beside its figures. A Session fills it in.
type Stamp struct {
	Experiment  string
	Rig         string
	Kind        Kind
	Provenance  Provenance
	Host        string // ID of the host fingerprint, on real rigs with its disks; empty in virtual time
	Assumptions []string
	Calibration string // what the fake was asked for and gave; empty if it has none
}

// Session is an opened arm of an experiment on a rig. It is the only maker of a
// Result. It runs one trial at a time.
type Session struct {
	e       Experiment
	arm     Arm
	stamp   Stamp
	subject Subject
	keep    func(metrics.Timeline)
}

// ErrEmptyTrial occurs when a trial reports no operation or no time.
var ErrEmptyTrial = errors.New("the trial reported no operation or no time")

// Stamp is what the session's results will carry.
func (s *Session) Stamp() Stamp { return s.stamp }

// Arm is what the session runs.
func (s *Session) Arm() Arm { return s.arm }

// KeepTimelines calls f with each operation's timeline, on the trial's
// goroutine. For checks and pictures; results carry only their sum.
func (s *Session) KeepTimelines(f func(metrics.Timeline)) { s.keep = f }

// Run runs one trial and stamps its figures.
func (s *Session) Run(ctx context.Context, p Plan) (Result, error) {
	t := Trial{Plan: p, keep: s.keep}
	if err := s.subject.Trial(ctx, &t); err != nil {
		return Result{}, fmt.Errorf("%s on rig %s, %s, seed %d: %w", s.e.Name, s.stamp.Rig, s.arm, p.Seed, err)
	}
	t.fold()
	if t.Ops <= 0 || t.Took <= 0 {
		return Result{}, fmt.Errorf("%s on rig %s, %s: %w (%d operations, %v)", s.e.Name, s.stamp.Rig, s.arm, ErrEmptyTrial, t.Ops, t.Took)
	}
	return Result{
		stamp: s.stamp, units: s.e.AllUnits(), bench: s.e.BenchmarkName(), arm: s.arm,
		seed: p.Seed, ops: t.Ops, took: t.Took, obs: t.obs, path: t.path, stages: t.stages,
		dirty: strings.Join(t.dirty, "; "),
	}, nil
}

// Close closes what was opened.
func (s *Session) Close() error { return s.subject.Close() }

// Result is one trial's figures with their stamp. Only Session.Run makes one,
// so its provenance can be believed.
type Result struct {
	stamp  Stamp
	units  []Unit
	bench  string
	arm    Arm
	seed   uint64
	ops    int
	took   time.Duration
	obs    map[string]float64
	path   metrics.Breakdown
	stages metrics.Snapshot
	dirty  string
}

// Stamp is the result's provenance and what goes with it.
func (r Result) Stamp() Stamp { return r.stamp }

// Arm is what was run.
func (r Result) Arm() Arm { return r.arm }

// Seed is the trial's seed.
func (r Result) Seed() uint64 { return r.seed }

// Ops is the number of operations, and Took their time.
func (r Result) Ops() int { return r.ops }

// Took is the time of all operations: virtual on virtual and bubble rigs.
func (r Result) Took() time.Duration { return r.took }

// Path is the critical path, summed over the trial's operations.
func (r Result) Path() metrics.Breakdown { return r.path }

// Stages are the trial's histograms.
func (r Result) Stages() metrics.Snapshot { return r.stages }

// Dirty says why the subject marked the trial as disturbed, reasons joined by
// "; ". It is empty if it didn't.
func (r Result) Dirty() string { return r.dirty }

// Value is the figure of a unit: seconds for SecPerOp.
func (r Result) Value(u Unit) (float64, bool) {
	if u.Name == SecPerOp.Name {
		return r.took.Seconds() / float64(r.ops), true
	}
	v, ok := r.obs[u.Name]
	return v, ok
}

// Values are all figures by unit name.
func (r Result) Values() map[string]float64 {
	v := maps.Clone(r.obs)
	if v == nil {
		v = make(map[string]float64)
	}
	v[SecPerOp.Name], _ = r.Value(SecPerOp)
	return v
}
