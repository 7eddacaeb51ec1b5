package study

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/common/laws"
	"latlab.example/spatial"
	"latlab.example/spatial/fake"
)

func TestExperiments(t *testing.T) {
	for _, e := range Experiments {
		t.Run(e.Name, func(t *testing.T) { labtest.Check(t, e) })
	}
}

// Without a server the real rig is unavailable and says what to do; a fake can't
// pass for a real server.
func TestRealRigRefuses(t *testing.T) {
	rig, err := PoolSize.Rig("postgis")
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := fake.New(fake.Config{Data: set, Waiter: emu.Spin})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, dsn := range []string{"", "nonsense", "postgres://u@127.0.0.1:1/d", srv.DSN()} {
		t.Setenv(DSNVariable, dsn)
		var u *lab.Unavailable
		if err := rig.Probe(t.Context()); !errors.As(err, &u) || u.Need != "postgis" || u.Do == "" {
			t.Errorf("%q: %v, want lab.Unavailable with what to do", dsn, err)
		}
	}
}

// arm is an arm of an experiment on its bubble.
func arm(t *testing.T, e lab.Experiment, levels map[string]string) lab.Arm {
	t.Helper()
	rig, err := e.Rig("bubble")
	if err != nil {
		t.Fatal(err)
	}
	arms, err := e.Arms(rig, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	a := arms[0]
	for name, level := range levels {
		if a, err = a.At(name, level); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// inBubble runs the load of an arm in virtual time.
func inBubble(t *testing.T, a lab.Arm, p lab.Plan) (out run, r *running) {
	t.Helper()
	set, err := dataset()
	if err != nil {
		t.Fatal(err)
	}
	err = bubble.Run(t.Context(), func(ctx context.Context) (err error) {
		tg, closeServer, err := bubbleTarget(set, cores.Of(a), roundTrip.Of(a), nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeServer()) }()
		if r, err = open(ctx, tg, a); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		down := label(a, approach.Name(), "up") == "down"
		out, err = r.drive(ctx, shaped(virtualPace, p, number(a, "users", users.Baseline()), down), p.Seed)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, r
}

// slowly skips a test of figures under the race detector, which takes ten times as
// long: TestExperiments runs the same code.
func slowly(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector changes no figure in virtual time")
	}
}

func mean(out run) float64 {
	all := out.Response
	all.Merge(out.Failed)
	return all.Mean() / 1e9
}

// The pool's cliff is where the exact closed model has it: a hold of 100 ms that
// is no CPU, think time 1.5 s, 210 users. The model knows the arm's settings and
// one unloaded request, and nothing of the run.
func TestPoolCliff(t *testing.T) {
	slowly(t)
	alone, _ := inBubble(t, arm(t, PoolSize, map[string]string{"users": "1"}), lab.Plan{Seed: 1, N: 100})
	hold := mean(alone)
	for _, pool := range []int{10, 15, 30} {
		out, _ := inBubble(t, arm(t, PoolSize, map[string]string{"users": "210", "pool": strconv.Itoa(pool)}), lab.Plan{Seed: 1, Min: 2 * time.Minute})
		p, err := laws.Closed{Users: 210, Think: 1.5, Stations: []laws.Station{{Name: "pool", Demand: hold, Servers: pool}}}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("pool %d: %.1f ms, model %.1f ms", pool, 1e3*mean(out), 1e3*p.Response)
		if off := mean(out)/p.Response - 1; math.Abs(off) > 0.10 {
			t.Errorf("pool %d: %.3f s, but the model says %.3f s", pool, mean(out), p.Response)
		}
	}
}

// What the stage pool_acquire adds up to is what the pool itself says that its
// users waited.
func TestAcquireStageIsThePools(t *testing.T) {
	slowly(t)
	for _, pool := range []string{"5", "10", "12"} {
		out, _ := inBubble(t, arm(t, PoolSize, map[string]string{"pool": pool}), lab.Plan{Seed: 2})
		stage := out.stages.Stages[spatial.PoolAcquire].Dist
		from, to := out.from.gauges, out.to.gauges
		pools := float64(to.AcquireTime - from.AcquireTime)
		t.Logf("pool %s: stage %v, pool %v", pool, time.Duration(stage.Sum()), time.Duration(pools))
		if off := float64(stage.Sum())/pools - 1; math.Abs(off) > 0.02 || stage.Sum() == 0 {
			t.Errorf("pool %s: the stages add up to %v, the pool says %v", pool, time.Duration(stage.Sum()), time.Duration(pools))
		}
	}
}

// A serial sink of 40 ms a request gives the study's first row its throughput
// and mean, whatever the pool, and not its share of slow requests.
func TestSerialSinkIsNoPool(t *testing.T) {
	slowly(t)
	var means []float64
	for _, pool := range []string{"10", "15"} {
		out, _ := inBubble(t, arm(t, RowLog, map[string]string{"pool": pool, "users": "75"}), lab.Plan{Seed: 3})
		all := out.Response
		x := float64(all.Count()) / (out.To - out.From).Seconds()
		t.Logf("pool %s: %.2f req/s, mean %.0f ms, %.0f %% slow", pool, x, 1e3*mean(out), 100*slowShare(all))
		if x < 23 || x > 27 {
			t.Errorf("pool %s: %.1f req/s, want 25 as the sink allows", pool, x)
		}
		if slowShare(all) < 0.9 {
			t.Errorf("pool %s: %.0f %% slow; a queue of one after another makes nearly all slow", pool, 100*slowShare(all))
		}
		if use := out.to.gauges.HeldTime - out.from.gauges.HeldTime; use.Seconds() < 0.95*(out.To-out.From).Seconds()*float64(out.to.gauges.Max) {
			t.Errorf("pool %s: not full, although lines are written with the connection held", pool)
		}
		means = append(means, mean(out))
	}
	if off := means[1]/means[0] - 1; math.Abs(off) > 0.02 {
		t.Errorf("means %v: the pool made a difference", means)
	}
}

// The same load, settings and seed give one state or the other, by what was
// before: two connections a request are metastable.
func TestNestedIsMetastable(t *testing.T) {
	slowly(t)
	levels := map[string]string{"nested": "true"}
	up, _ := inBubble(t, arm(t, Hysteresis, levels), lab.Plan{Seed: 4})
	levels["approach"] = "down"
	down, _ := inBubble(t, arm(t, Hysteresis, levels), lab.Plan{Seed: 4})
	t.Logf("up: %d answered, %d not; down: %d answered, %d not", up.Success, up.Failures(), down.Success, down.Failures())
	if up.Failures() > 0 || up.Success == 0 {
		t.Error("the load that came up should be answered")
	}
	if down.Success > down.Failures()/10 {
		t.Error("the load that came down should stay where it was")
	}
}

// Trials say so when N = X (R + Z) fails.
func TestLittleIsChecked(t *testing.T) {
	out, _ := inBubble(t, arm(t, PoolSize, map[string]string{"users": "75"}), lab.Plan{Seed: 5})
	window := (out.To - out.From).Seconds()
	if why := contradicts(out.Response, window, 75, 1.5); why != "" {
		t.Errorf("a sound run is said to be off: %s", why)
	}
	if why := contradicts(out.Response, 2*window, 75, 1.5); why == "" {
		t.Error("half of the requests are missing, and nothing is said")
	}
}
