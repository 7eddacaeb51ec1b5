package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/child"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/common/metrics"
)

func TestMain(m *testing.M) {
	lab.Main(inChild)
	os.Exit(m.Run())
}

var (
	procs    = lab.NewFactor("procs", 1, 3)
	mood     = metrics.NewToggle("mood", "good", "failing", "missing", "slow")
	seen     = lab.Unit{Name: "gomaxprocs", Better: lab.Up, Exact: true}
	process  = lab.Unit{Name: "pid", Better: lab.Up}
	childSet = metrics.NewStageSet("child", "work")
)

// inChild reports what it sees of its process.
var inChild = lab.Experiment{
	Name: "toy/in-child", Question: "?",
	Factors:  []lab.Factor{procs, mood},
	Outcomes: []lab.Unit{seen, process},
	Stages:   childSet,
	Rigs: []lab.Rig{
		lab.Real("own", available, openChild).InChild(func(a lab.Arm) child.Limits { return child.Limits{MaxProcs: procs.Of(a)} }),
		lab.Emulated("fake", []string{"a fake"}, func(_ context.Context, a lab.Arm) (string, error) {
			if mood.Of(a) == "slow" {
				return "", errors.New("twice too slow")
			}
			return fmt.Sprintf("asked in process %d", os.Getpid()), nil
		}, openChild).InChild(func(a lab.Arm) child.Limits { return child.Limits{MaxProcs: procs.Of(a)} }),
	},
}

type childSubject struct{ mood string }

func openChild(_ context.Context, a lab.Arm) (lab.Subject, error) {
	if mood.Of(a) == "missing" {
		return nil, &lab.Unavailable{Need: "moon", Why: "no moon tonight", Do: "wait"}
	}
	return childSubject{mood.Of(a)}, nil
}

func (s childSubject) Trial(ctx context.Context, t *lab.Trial) error {
	if s.mood == "failing" {
		return errors.New("out of luck")
	}
	t.Observe(seen, float64(runtime.GOMAXPROCS(0)))
	t.Observe(process, float64(os.Getpid()))
	t.Dirty("a neighbour sang")
	rec := metrics.NewRecorder(childSet, metrics.WithSwitch(true))
	rec.Observe(0, time.Millisecond)
	t.Stages(rec.Snapshot())
	return t.Repeat(ctx, nil, func(i int) error {
		from := int64(i) * 100
		t.Timeline(metrics.Timeline{Set: childSet, From: from, To: from + 100, Intervals: []metrics.Interval{
			{Stage: 0, From: from, To: from + 60},
		}})
		time.Sleep(time.Microsecond)
		return nil
	})
}

func (childSubject) Close() error { return nil }

func TestEachTrialHasItsOwnProcess(t *testing.T) {
	for _, name := range []string{"own", "fake"} {
		s := session(t, name, map[string][]string{"procs": {"3"}})
		timelines := 0
		s.KeepTimelines(func(metrics.Timeline) { timelines++ })
		var pids []float64
		for range 2 {
			res, err := s.Run(t.Context(), lab.Plan{Seed: 1, N: 5})
			if err != nil {
				t.Fatal(err)
			}
			v := res.Values()
			pids = append(pids, v["pid"])
			if v["gomaxprocs"] != 3 || res.Ops() != 5 || res.Dirty() != "a neighbour sang" {
				t.Errorf("%s: %v, %d operations, dirty %q", name, v, res.Ops(), res.Dirty())
			}
			if st := res.Stages().Stages; len(st) != 1 || st[0].Dist.Count() != 1 {
				t.Errorf("%s: stages %+v", name, st)
			}
			if p := res.Path(); p.Ops != 5 || p.Total != 500 || p.Unattributed != 200 || p.Rows() == nil {
				t.Errorf("%s: path %+v", name, p)
			}
		}
		if timelines != 10 || pids[0] == pids[1] || slices.Contains(pids, float64(os.Getpid())) {
			t.Errorf("%s: %d timelines, processes %v", name, timelines, pids)
		}
		if c := s.Stamp().Calibration; (name == "fake") != strings.HasPrefix(c, "asked in process") || strings.Contains(c, fmt.Sprint(os.Getpid())) {
			t.Errorf("%s: calibration %q", name, c)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func session(t *testing.T, name string, set map[string][]string) *lab.Session {
	t.Helper()
	s, err := openSession(t, name, set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openSession(t *testing.T, name string, set map[string][]string) (*lab.Session, error) {
	t.Helper()
	r, err := inChild.Rig(name)
	if err != nil {
		t.Fatal(err)
	}
	arms, err := inChild.Arms(r, lab.Selection{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return inChild.Open(t.Context(), r, arms[0], host.Fingerprint{OS: "linux"})
}

func TestChildErrorsTravel(t *testing.T) {
	s := session(t, "own", map[string][]string{"mood": {"failing"}})
	if _, err := s.Run(t.Context(), lab.Plan{N: 1}); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("failing: %v", err)
	}
	s = session(t, "own", map[string][]string{"mood": {"missing"}})
	var u *lab.Unavailable
	if _, err := s.Run(t.Context(), lab.Plan{N: 1}); !errors.As(err, &u) || u.Need != "moon" {
		t.Errorf("missing: %v", err)
	}
	if _, err := openSession(t, "fake", map[string][]string{"mood": {"slow"}}); !errors.Is(err, lab.ErrRefused) || !strings.Contains(err.Error(), "twice too slow") {
		t.Errorf("slow: %v, want refused", err)
	}
}

func TestChildOfUnofferedExperiment(t *testing.T) {
	e := inChild
	e.Name = "toy/secret"
	r, err := e.Rig("own")
	if err != nil {
		t.Fatal(err)
	}
	arms, err := e.Arms(r, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), r, arms[0], host.Fingerprint{OS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), lab.Plan{N: 1}); err == nil || !strings.Contains(err.Error(), "pass it to lab.Main") {
		t.Errorf("%v, want what to do", err)
	}
}

func TestInChildKeepsTheContract(t *testing.T) {
	e := inChild
	e.Factors = []lab.Factor{procs} // the moods fail on purpose
	labtest.Check(t, e)
}
