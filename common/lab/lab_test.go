package lab_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"golang.org/x/perf/benchfmt"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

var (
	strategy = metrics.NewToggle("strategy", "loop", "batch")
	keys     = lab.NewFactor("keys", 100, 10, 1000)
	lock     = metrics.NewToggle("lock", "none", "interpreter").Simulates("an interpreter lock", "interpreter")
	latency  = lab.Latency(50*time.Microsecond, 200*time.Microsecond)
	depth    = lab.Unit{Name: "queue-depth", Better: lab.Up}
)

// subject does one operation of 10 ms for each in the plan.
type subject struct{ obs map[string]float64 }

func (s subject) Trial(_ context.Context, t *lab.Trial) error {
	t.Ops = max(1, t.N)
	t.Took = time.Duration(t.Ops) * 10 * time.Millisecond
	for name, v := range s.obs {
		t.Observe(lab.Unit{Name: name}, v)
	}
	return nil
}
func (subject) Close() error { return nil }

func open(context.Context, lab.Arm) (lab.Subject, error) {
	return subject{map[string]float64{"queue-depth": 7.5}}, nil
}

func available(context.Context) error { return nil }

var experiment = lab.Experiment{
	Name: "toy/put-many", Question: "?",
	Factors:  []lab.Factor{strategy, keys, lock},
	Outcomes: []lab.Unit{depth},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(depth, lab.Up),
	Rigs: []lab.Rig{
		lab.Virtual("model", []string{"constant service"}, open).With(latency),
		lab.Real("disk", available, open),
	},
}

func rig(t *testing.T, name string) lab.Rig {
	t.Helper()
	r, err := experiment.Rig(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestArms(t *testing.T) {
	for _, test := range []struct {
		name string
		rig  string
		sel  lab.Selection
		want []string
	}{
		{"one factor at a time", "disk", lab.Selection{}, []string{
			"strategy=loop/keys=100/lock=none", "strategy=batch/keys=100/lock=none",
			"strategy=loop/keys=10/lock=none", "strategy=loop/keys=1000/lock=none", "strategy=loop/keys=100/lock=interpreter",
		}},
		{"crossed", "disk", lab.Selection{Cross: []string{"keys", "strategy", "keys"}, Set: map[string][]string{"keys": {"10", "100"}}}, []string{
			"strategy=loop/keys=10/lock=none", "strategy=loop/keys=100/lock=none",
			"strategy=batch/keys=10/lock=none", "strategy=batch/keys=100/lock=none",
		}},
		{"rig's own factor, set", "model", lab.Selection{Cross: []string{"strategy"}, Set: map[string][]string{"latency": {"200us"}}}, []string{
			"strategy=loop/keys=100/lock=none/latency=200us", "strategy=batch/keys=100/lock=none/latency=200us",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			arms, err := experiment.Arms(rig(t, test.rig), test.sel)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range arms {
				got = append(got, a.String())
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestBadSelectionsSayWhatThereIs(t *testing.T) {
	for _, test := range []struct {
		sel  lab.Selection
		is   error
		says string
	}{
		{lab.Selection{Set: map[string][]string{"stratgy": {"loop"}}}, lab.ErrFactor, "strategy, keys, lock"},
		{lab.Selection{Cross: []string{"latency"}}, lab.ErrFactor, "strategy, keys, lock"},
		{lab.Selection{Set: map[string][]string{"keys": {"101"}}}, lab.ErrLevel, "100, 10, 1000"},
		{lab.Selection{Set: map[string][]string{"keys": {}}}, lab.ErrLevel, "at least one"},
	} {
		_, err := experiment.Arms(rig(t, "disk"), test.sel)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: %v; want %v with %q", test.sel, err, test.is, test.says)
		}
	}
	if _, err := experiment.Rig("nvme"); !errors.Is(err, lab.ErrRig) || !strings.Contains(err.Error(), "model, disk") {
		t.Errorf("rig nvme: %v", err)
	}
}

// Any selection yields arms that read back as the toggles' levels, no two alike,
// and Arm.At goes from each to each.
func TestArmsRoundTrip(t *testing.T) {
	property := func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 1))
		set := map[string][]string{}
		for name, all := range map[string][]string{"strategy": {"loop", "batch"}, "keys": {"100", "10", "1000"}} {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			set[name] = all[:1+r.IntN(len(all))]
		}
		cross := []string{"strategy", "keys", "lock"}[:r.IntN(4)]
		arms, err := experiment.Arms(rig(t, "disk"), lab.Selection{Set: set, Cross: cross})
		if err != nil {
			return false
		}
		seen := map[string]bool{}
		for _, a := range arms {
			label, _ := a.Level("keys")
			n, err := keys.Parse(label)
			if seen[a.String()] || err != nil || n != keys.Of(a) {
				return false
			}
			seen[a.String()] = true
			moved := arms[0]
			for name, label := range a.All() {
				if moved, err = moved.At(name, label); err != nil {
					return false
				}
			}
			if moved.String() != a.String() || len(moved.Differs(a)) > 0 {
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestParseArm(t *testing.T) {
	for _, r := range experiment.Rigs {
		arms, err := experiment.Arms(r, lab.Selection{Cross: []string{"strategy", "keys"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range arms {
			if again, err := experiment.ParseArm(r, a.String()); err != nil || again.String() != a.String() {
				t.Errorf("%s is read as %s, %v", a, again, err)
			}
		}
		for text, want := range map[string]error{"strategy=magic": lab.ErrLevel, "magic=1": lab.ErrFactor, "strategy": lab.ErrLevel, "": lab.ErrLevel} {
			if _, err := experiment.ParseArm(r, text); !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", text, err, want)
			}
		}
	}
}

func TestProvenanceFollowsFromRigAndLevels(t *testing.T) {
	h, err := host.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	experiment := experiment
	exact := func(context.Context, lab.Arm) (string, error) { return "exact", nil }
	experiment.Rigs = append(slices.Clone(experiment.Rigs),
		lab.Bubble("bubble", []string{"a fake"}, open), lab.Emulated("fake", []string{"a fake"}, exact, open))
	for _, test := range []struct {
		rig, lock string
		want      lab.Provenance
		assume    string
	}{
		{"disk", "none", lab.Measured, ""},
		{"disk", "interpreter", lab.Modelled, "lock=interpreter simulates an interpreter lock"},
		{"model", "none", lab.Modelled, "constant service"},
		{"bubble", "none", lab.Modelled, "a fake"},
		{"fake", "none", lab.Modelled, "a fake"},
		{"model", "interpreter", lab.Modelled, "constant service; lock=interpreter simulates an interpreter lock"},
	} {
		r, err := experiment.Rig(test.rig)
		if err != nil {
			t.Fatal(err)
		}
		arms, err := experiment.Arms(r, lab.Selection{Set: map[string][]string{"lock": {test.lock}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := experiment.Open(t.Context(), r, arms[0], h)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(t.Context(), lab.Plan{})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		stamp := res.Stamp()
		if stamp.Provenance != test.want || strings.Join(stamp.Assumptions, "; ") != test.assume {
			t.Errorf("%s, lock %s: %v, %q; want %v, %q", test.rig, test.lock, stamp.Provenance, stamp.Assumptions, test.want, test.assume)
		}
		if !strings.HasPrefix(stamp.Config(), "provenance: "+test.want.String()+"\n") {
			t.Errorf("configuration %q", stamp.Config())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	missing := &lab.Unavailable{Need: "disk", Why: "no disk", Do: "plug one in"}
	refuse := func(context.Context, lab.Arm) (string, error) { return "", errors.New("too slow") }
	for _, test := range []struct {
		name string
		rig  lab.Rig
		is   error
	}{
		{"unavailable", lab.Real("disk", func(context.Context) error { return missing }, open), lab.ErrUnavailable},
		{"off tolerance", lab.Emulated("fake", []string{"a"}, refuse, open), lab.ErrRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := experiment
			e.Rigs = []lab.Rig{test.rig}
			arms, err := e.Arms(test.rig, lab.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			h, _ := host.Read(t.Context())
			if _, err := e.Open(t.Context(), test.rig, arms[0], h); !errors.Is(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
			if _, err := e.Open(t.Context(), test.rig, arms[0], host.Fingerprint{}); err == nil || errors.Is(err, test.is) {
				t.Errorf("without a fingerprint: %v; want an error of its own", err)
			}
		})
	}
}

func TestRule(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	up := lab.Interval{Lo: 1.5, Mid: 2, Hi: 3}
	exactly := func(v float64) lab.Interval { return lab.Interval{Lo: v, Mid: v, Hi: v} }
	for _, test := range []struct {
		name        string
		time, depth lab.Interval
		floor       float64
		want        lab.Verdict
		why         string
	}{
		{"clearly faster, deeper", lab.Interval{Lo: 0.5, Mid: 0.6, Hi: 0.89}, up, 0.02, lab.Holds, ""},
		{"just at the bar", exactly(0.9), up, 0, lab.Holds, ""},
		{"interval reaches the bar", lab.Interval{Lo: 0.5, Mid: 0.6, Hi: 0.91}, up, 0.02, lab.Inconclusive,
			"the gain of [9.00, 50.00] % is neither wholly above 10 % nor wholly under 5 %"},
		{"reaches it by less than a digit", lab.Interval{Lo: 0.5, Mid: 0.6, Hi: 0.90001}, up, 0.02, lab.Inconclusive,
			"the gain of [9.999, 50.00] % is neither wholly above 10 % nor wholly under 5 %"},
		{"faster, not deeper", lab.Interval{Lo: 0.5, Mid: 0.6, Hi: 0.7}, lab.Interval{Lo: 0.9, Mid: 1, Hi: 1.1}, 0.02, lab.Inconclusive,
			"queue-depth did not clearly go up"},
		{"under 5 %", lab.Interval{Lo: 0.96, Mid: 0.97, Hi: 0.99}, up, 0.02, lab.Fails, "the gain is at most 4.0 %, under 5 %"},
		{"under it by less than a digit", lab.Interval{Lo: 0.9501, Mid: 0.97, Hi: 0.99}, up, 0.02, lab.Fails, "the gain is at most 4.99 %, under 5 %"},
		{"under it, exact", exactly(0.97), up, 0, lab.Fails, "the gain is at most 3.0 %, under 5 %"},
		{"a little slower, within the noise", lab.Interval{Lo: 1.001, Mid: 1.01, Hi: 1.02}, up, 0.02, lab.Fails, "the gain is at most -0.1 %, under 5 %"},
		{"noise may hide it", lab.Interval{Lo: 0.96, Mid: 0.97, Hi: 0.99}, up, 0.3, lab.Inconclusive, "the noise floor of 30.0 % hides an effect of 5 %"},
		{"noise may just hide it", lab.Interval{Lo: 0.96, Mid: 0.97, Hi: 0.99}, up, 0.0501, lab.Inconclusive, "the noise floor of 5.01 % hides an effect of 5 %"},
		{"noise may hide it, slower", lab.Interval{Lo: 1.2, Mid: 1.3, Hi: 1.4}, up, 0.3, lab.Inconclusive, "the noise floor of 30.0 % hides an effect of 5 %"},
		{"slower", lab.Interval{Lo: 1.2, Mid: 1.3, Hi: 1.4}, up, 0.02, lab.Fails, "it is worse, not better"},
		// The control may have taken 1/(1-0.5) = 2 times its twin's time.
		{"slower, as the twin may be", lab.Interval{Lo: 1.9, Mid: 3, Hi: 3}, up, 0.5, lab.Inconclusive, "the noise floor of 50.0 % hides an effect of 5 %"},
		{"slower than the twin may be", lab.Interval{Lo: 2.1, Mid: 3, Hi: 3}, up, 0.5, lab.Fails, "it is worse, not better"},
		{"between", lab.Interval{Lo: 0.91, Mid: 0.93, Hi: 0.94}, up, 0.02, lab.Inconclusive,
			"the gain of [6.00, 9.00] % is neither wholly above 10 % nor wholly under 5 %"},
		{"between, exact", exactly(0.93), up, 0, lab.Inconclusive, "the gain of 7.00 % is neither above 10 % nor under 5 %"},
		{"within the noise", lab.Interval{Lo: 0.80, Mid: 0.82, Hi: 0.85}, up, 0.30, lab.Inconclusive,
			"the gain of [15.00, 20.00] % is not wholly above the noise floor of 30.0 %"},
		{"within the noise, exact", exactly(0.80), up, 0.30, lab.Inconclusive, "the gain of 20.00 % is not above the noise floor of 30.0 %"},
		{"unknown bounds", lab.Interval{Lo: -inf, Mid: 0.5, Hi: inf}, up, 0, lab.Inconclusive, "the interval of the gain is unknown"},
		{"unknown floor", lab.Interval{Lo: 0.5, Mid: 0.5, Hi: 0.5}, up, inf, lab.Inconclusive, "the noise floor is unknown"},
		{"unknown floor, slower", lab.Interval{Lo: 2, Mid: 2, Hi: 2}, up, inf, lab.Inconclusive, "the noise floor is unknown"},
		{"not a number", lab.Interval{Lo: nan, Mid: nan, Hi: nan}, up, 0, lab.Inconclusive, "the interval of the gain is unknown"},
	} {
		got, why := experiment.Rule.Judge(map[string]lab.Interval{"sec/op": test.time, "queue-depth": test.depth}, test.floor)
		if got != test.want || why != test.why {
			t.Errorf("%s: %v (%s), want %v (%s)", test.name, got, why, test.want, test.why)
		}
	}
	if got, _ := experiment.Rule.Judge(map[string]lab.Interval{"sec/op": {Lo: 0.1, Mid: 0.1, Hi: 0.1}}, 0); got != lab.NotMeasurable {
		t.Errorf("without queue depth: %v", got)
	}
}

// Of a figure of which more is better, the floor is mirrored the other way: a
// twin that seemed to do twice as much does half as much.
func TestRuleOfMoreIsBetter(t *testing.T) {
	rule := lab.Better(depth, 0.125).NoEffectUnder(0.05)
	if got, want := rule.String(), "at least 12.5 % better queue-depth holds; under 5 % fails; between is inconclusive"; got != want {
		t.Errorf("the rule says %q; want %q", got, want)
	}
	for _, test := range []struct {
		lo, hi, floor float64
		want          lab.Verdict
	}{
		{1.2, 1.5, 0, lab.Holds}, {0.6, 0.9, 1, lab.Inconclusive}, {0.3, 0.49, 1, lab.Fails}, {0.9, 1.01, 0, lab.Fails},
	} {
		ratios := map[string]lab.Interval{"queue-depth": {Lo: test.lo, Mid: test.lo, Hi: test.hi}}
		if got, why := rule.Judge(ratios, test.floor); got != test.want {
			t.Errorf("[%v, %v], floor %v: %v (%s); want %v", test.lo, test.hi, test.floor, got, why, test.want)
		}
	}
}

// Whatever the figures are: a verdict that isn't holds has a reason; a gain that
// the noise reaches decides nothing; and what is better fails nowhere where what
// is worse doesn't.
func TestRuleProperties(t *testing.T) {
	rule := lab.Faster(0.10).NoEffectUnder(0.05)
	judge := func(lo, hi, floor float64) (lab.Verdict, string) {
		return rule.Judge(map[string]lab.Interval{"sec/op": {Lo: lo, Mid: lo, Hi: hi}}, floor)
	}
	property := func(a, b, n uint8) bool {
		lo, hi, floor := 0.01+float64(min(a, b))/100, 0.01+float64(max(a, b))/100, float64(n)/256
		got, why := judge(lo, hi, floor)
		better, _ := judge(lo*0.9, hi*0.9, floor)
		hidden := lo > 1-floor && hi < 1/(1-floor) && floor > 0.05
		return (why == "") == (got == lab.Holds) && (!hidden || got == lab.Inconclusive) && (better != lab.Fails || got == lab.Fails)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestSubjectMarksItsTrial(t *testing.T) {
	for _, test := range []struct {
		reasons []string
		want    string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"another wrote", "the clock jumped", "another wrote"}, "another wrote; the clock jumped"},
	} {
		r := lab.Virtual("model", []string{"a"}, func(context.Context, lab.Arm) (lab.Subject, error) {
			return marked(test.reasons), nil
		})
		arms, err := experiment.Arms(r, lab.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := experiment.Open(t.Context(), r, arms[0], host.Fingerprint{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(t.Context(), lab.Plan{})
		if err != nil || res.Dirty() != test.want {
			t.Errorf("%q: dirty is %q, %v; want %q", test.reasons, res.Dirty(), err, test.want)
		}
	}
}

type marked []string

func (m marked) Trial(_ context.Context, t *lab.Trial) error {
	t.Ops, t.Took = 1, time.Second
	for _, reason := range m {
		t.Dirty(reason)
	}
	return nil
}
func (marked) Close() error { return nil }

// Results written in the Go benchmark format read back with name, configuration,
// operations and figures.
func TestResultsRoundTrip(t *testing.T) {
	h, err := host.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	property := func(seed uint64, n uint8, v float64) bool {
		r := experiment.Rigs[seed%2]
		arms, err := experiment.Arms(r, lab.Selection{})
		if err != nil {
			return false
		}
		arm := arms[seed%uint64(len(arms))]
		e := experiment
		give := func(context.Context, lab.Arm) (lab.Subject, error) {
			return subject{map[string]float64{"queue-depth": v}}, nil
		}
		if r.Kind() == lab.KindReal {
			r = lab.Real(r.Name(), available, give)
		} else {
			r = lab.Virtual(r.Name(), r.Assumptions(), give).With(latency)
		}
		s, err := e.Open(t.Context(), r, arm, h)
		if err != nil {
			return false
		}
		res, err := s.Run(t.Context(), lab.Plan{Seed: seed, N: int(n)})
		if err != nil {
			return false
		}
		var file bytes.Buffer
		if err := lab.WriteResults(&file, []lab.Result{res, res}); err != nil {
			return false
		}
		reader := benchfmt.NewReader(&file, "file")
		rows := 0
		for reader.Scan() {
			row, ok := reader.Result().(*benchfmt.Result)
			if !ok {
				if _, bad := reader.Result().(*benchfmt.SyntaxError); bad {
					return false
				}
				continue
			}
			rows++
			sec, _ := row.Value("sec/op")
			got, _ := row.Value("queue-depth")
			name := strings.TrimPrefix(e.BenchmarkName(), "Benchmark") + "/" + arm.String()
			if !strings.HasPrefix(string(row.Name), name) || row.Iters != max(1, int(n)) || math.Abs(sec-0.010) > 1e-9 || got != v ||
				row.GetConfig("provenance") != res.Stamp().Provenance.String() || row.GetConfig("experiment") != e.Name || row.GetConfig("rig") != r.Name() {
				return false
			}
		}
		unit, ok := reader.Units()[benchfmt.UnitMetadataKey{Unit: "queue-depth", Key: "better"}]
		return reader.Err() == nil && rows == 2 && ok && unit.Value == "higher"
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestRepeat(t *testing.T) {
	var prepared, done int
	trial := lab.Trial{Plan: lab.Plan{N: 5}}
	err := trial.Repeat(t.Context(), func(int) error { prepared++; return nil }, func(i int) error { done = i + 1; return nil })
	if err != nil || prepared != 5 || done != 5 || trial.Ops != 5 {
		t.Errorf("N=5: %v, prepared %d, done %d, ops %d", err, prepared, done, trial.Ops)
	}
	trial = lab.Trial{}
	if err := trial.Repeat(t.Context(), nil, func(int) error { return nil }); err != nil || trial.Ops != 1 {
		t.Errorf("no minimum: %v, %d operations, want one", err, trial.Ops)
	}
	ctx, cancel := context.WithCancel(t.Context())
	trial = lab.Trial{Plan: lab.Plan{Min: time.Hour}}
	err = trial.Repeat(ctx, nil, func(i int) error {
		if i == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || trial.Ops != 3 {
		t.Errorf("cancelled: %v after %d operations", err, trial.Ops)
	}
}

func TestEmptyTrialIsAnError(t *testing.T) {
	empty := func(context.Context, lab.Arm) (lab.Subject, error) { return nothing{}, nil }
	r := lab.Virtual("model", []string{"a"}, empty)
	arms, err := experiment.Arms(r, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := experiment.Open(t.Context(), r, arms[0], host.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), lab.Plan{}); !errors.Is(err, lab.ErrEmptyTrial) {
		t.Errorf("got %v", err)
	}
}

type nothing struct{}

func (nothing) Trial(context.Context, *lab.Trial) error { return nil }
func (nothing) Close() error                            { return nil }

// An experiment without factors has one arm, whose text is empty.
func TestParseArmWithoutFactors(t *testing.T) {
	e := lab.Experiment{Name: "toy/one", Rigs: []lab.Rig{lab.Virtual("model", []string{"constant service"}, open)}}
	arms, err := e.Arms(e.Rigs[0], lab.Selection{})
	if err != nil || len(arms) != 1 {
		t.Fatalf("%d arms, %v", len(arms), err)
	}
	if a, err := e.ParseArm(e.Rigs[0], arms[0].String()); err != nil || a.String() != arms[0].String() {
		t.Errorf("%q is read as %q, %v", arms[0], a, err)
	}
}
