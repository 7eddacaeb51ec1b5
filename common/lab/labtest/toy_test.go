package labtest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// The toy case: n requests to a device of k channels, one by one or together,
// in virtual time. faults plants one fault of each kind.
type faults struct {
	name, direction, undeclared    bool
	assumptions                    bool
	overlap, stage, noTimeline     bool
	outside                        bool
	seed, leak, stateless, failing bool
	offTolerance, unavailable      bool
}

const (
	ask metrics.Stage = iota
	wait
)

var (
	stages   = metrics.NewStageSet("toy", "ask", "wait")
	mode     = metrics.NewToggle("mode", "one-by-one", "together")
	latency  = lab.Latency(50 * time.Microsecond)
	channels = lab.Channels(4, 1)
)

func toy(f faults) lab.Experiment {
	e := lab.Experiment{
		Name: "toy/many", Question: "Does asking together help?",
		Factors:  []lab.Factor{mode},
		Outcomes: []lab.Unit{lab.Writes},
		Rule:     lab.Faster(0.10),
		Stages:   stages,
	}
	if f.direction {
		e.Outcomes = append(e.Outcomes, lab.Unit{Name: "depth"})
	}
	if f.name {
		e.Factors = append(e.Factors, badName{})
	}
	assume := []string{"requests cost nothing but their latency"}
	if f.assumptions {
		assume = []string{" "}
	}
	open := func(context.Context, lab.Arm) (lab.Subject, error) { return nil, errors.New("never opened") }
	if f.unavailable {
		e.Rigs = []lab.Rig{lab.Real("server", func(context.Context) error {
			return &lab.Unavailable{Need: "toyserver", Why: "no toy server here", Do: "start one"}
		}, open)}
		return e
	}
	open = func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		return &toySubject{faults: f, arm: a, device: &toyDevice{channels: make([]int64, channels.Of(a)), latency: int64(latency.Of(a))}}, nil
	}
	e.Rigs = []lab.Rig{lab.Virtual("device", assume, open).With(latency, channels)}
	if f.offTolerance {
		refuse := func(context.Context, lab.Arm) (string, error) { return "", errors.New("asked 50us, got 1ms") }
		e.Rigs = []lab.Rig{lab.Emulated("device", assume, refuse, open).With(latency, channels)}
	}
	return e
}

// badName is a factor whose label can't stand in a benchmark name; a toggle
// would refuse it.
type badName struct{}

func (badName) Name() string           { return "bad" }
func (badName) Len() int               { return 1 }
func (badName) Label(int) string       { return "a=b/c" }
func (badName) SimulatedBy(int) string { return "" }

type toyDevice struct {
	channels []int64 // when each is free
	latency  int64
}

func (d *toyDevice) serve(now int64) (done int64) {
	first := 0
	for i, free := range d.channels {
		if free < d.channels[first] {
			first = i
		}
	}
	d.channels[first] = max(now, d.channels[first]) + d.latency
	return d.channels[first]
}

type toySubject struct {
	faults
	arm    lab.Arm
	device *toyDevice
	stop   chan struct{}
	once   sync.Once
}

func (s *toySubject) Trial(_ context.Context, t *lab.Trial) error {
	if s.failing {
		return errors.New("the toy broke")
	}
	rec := metrics.NewRecorder(stages, metrics.WithSwitch(true), metrics.WithTimelines(t.Timeline))
	const n = 8
	clear(s.device.channels)
	req := rec.Request()
	var now, end int64
	for i := range n {
		device := s.device
		if s.stateless {
			device = &toyDevice{channels: make([]int64, len(s.device.channels)), latency: s.device.latency}
		}
		done := device.serve(now)
		track := metrics.Track(0)
		if mode.Of(s.arm) == "together" {
			track = req.Track()
		}
		req.Add(track, wait, now, done)
		if s.overlap && i == 0 {
			req.Add(track, ask, now, done)
		}
		if s.stage && i == 0 {
			req.Add(track, 7, now, done)
		}
		if s.outside && i == 0 {
			req.Add(req.Track(), ask, done, done+1_000_000_000)
		}
		end = max(end, done)
		if mode.Of(s.arm) == "one-by-one" {
			now = done
		}
	}
	if !s.noTimeline {
		req.FinishAt(0, end)
	}
	t.Ops, t.Took = 1, time.Duration(end)
	if s.seed {
		t.Took += time.Duration(rand.Int64N(1_000_000))
	}
	t.Observe(lab.Writes, n)
	if s.undeclared {
		t.Observe(lab.Unit{Name: "surprise"}, 1)
	}
	if s.leak {
		s.once.Do(func() { s.stop = make(chan struct{}); go func() { <-s.stop }() })
	}
	return nil
}

func (s *toySubject) Close() error { return nil }
