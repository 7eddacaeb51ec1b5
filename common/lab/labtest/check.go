package labtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/perf/benchfmt"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// What Faults finds. Each comes wrapped with where it was found.
var (
	// ErrName occurs when an arm's benchmark name isn't key=value parts, or isn't unique.
	ErrName = errors.New("name does not parse as key=value parts")
	// ErrUnit occurs when an outcome has no name or doesn't say which way is
	// better, or when a trial reports an outcome that wasn't declared.
	ErrUnit = errors.New("bad outcome")
	// ErrAssumptions occurs when a rig that isn't real states no assumption.
	ErrAssumptions = errors.New("no assumption stated")
	// ErrProvenance occurs when a session's provenance isn't what rig and levels say.
	ErrProvenance = errors.New("wrong provenance")
	// ErrArm occurs when an arm doesn't open, run or close.
	ErrArm = errors.New("arm does not run")
	// ErrTimeline occurs when an operation's timeline is missing or unsound; the
	// error also wraps what metrics.Timeline.Check found.
	ErrTimeline = errors.New("unsound timeline")
	// ErrReplay occurs when the same seed gives another figure: any figure in
	// virtual time, an exact one on the wall clock.
	ErrReplay = errors.New("seed does not replay")
	// ErrLeak occurs when goroutines are left after a session was closed.
	ErrLeak = errors.New("goroutines left")
	// ErrSerial occurs when a device with one channel serves faster than one by
	// one: as if each caller had a device of its own.
	ErrSerial = errors.New("one channel does not serialise")
)

// RequireVariable lists, separated by commas, what must be there in real runs:
// what is named there fails a test when it is missing, instead of skipping it.
const RequireVariable = "LATLAB_REQUIRE_REAL"

// Require ends the test because something real is missing: it fails if need is
// listed in LATLAB_REQUIRE_REAL and skips otherwise.
func Require(t testing.TB, need string, why error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv(RequireVariable), ","), need) {
		t.Fatalf("%s is required by %s, but: %v", need, RequireVariable, why)
	}
	t.Skipf("%s is missing, and not listed in LATLAB_REQUIRE_REAL: %v", need, why)
}

// Check fails the test for each fault of the experiment. What can't run here is
// skipped, or fails if LATLAB_REQUIRE_REAL lists it.
func Check(t *testing.T, e lab.Experiment) {
	t.Helper()
	report := Faults(t.Context(), e)
	for _, f := range report.Faults {
		t.Error(f)
	}
	for _, refused := range report.Refused {
		t.Logf("refused: %v", refused)
	}
	for _, missing := range report.Missing {
		t.Run("missing", func(t *testing.T) {
			var u *lab.Unavailable
			if errors.As(missing, &u) {
				Require(t, u.Need, missing)
			}
			t.Fatal(missing)
		})
	}
}

// Report is what Faults found.
type Report struct {
	Faults  []error // each wraps one of this package's errors
	Refused []error // rows whose fake was off by more than its tolerance; not a fault
	Missing []error // what isn't available here; each wraps lab.ErrUnavailable
}

// Faults runs all checks: every arm that differs from its baseline in one
// factor, on every rig. It runs one operation a trial.
func Faults(ctx context.Context, e lab.Experiment) Report {
	h, err := host.Read(ctx)
	c := &checker{ctx: ctx, e: e, host: h}
	if err != nil {
		c.fault("host fingerprint", ErrArm, err)
		return c.report
	}
	c.units()
	for _, r := range e.Rigs {
		arms, err := e.Arms(r, lab.Selection{})
		if err != nil {
			c.fault(r.Name(), ErrArm, err)
			continue
		}
		c.names(r, arms)
		c.assumptions(r)
		if c.missing(r.Probe(ctx)) {
			continue
		}
		for _, a := range arms {
			c.arm(r, a)
		}
		c.serial(r)
	}
	return c.report
}

type checker struct {
	ctx    context.Context
	e      lab.Experiment
	host   host.Fingerprint
	report Report
}

// fault reports what is wrong and where; why may be nil.
func (c *checker) fault(where string, what, why error) {
	if why != nil {
		what = fmt.Errorf("%w: %w", what, why)
	}
	c.report.Faults = append(c.report.Faults, fmt.Errorf("%s, %s: %w", c.e.Name, where, what))
}

// missing notes what isn't available here.
func (c *checker) missing(err error) bool {
	if err == nil {
		return false
	}
	if !errors.Is(err, lab.ErrUnavailable) {
		c.fault("probe", ErrArm, err)
	} else {
		c.report.Missing = append(c.report.Missing, err)
	}
	return true
}

func (c *checker) units() {
	seen := make(map[string]bool)
	for _, u := range c.e.AllUnits() {
		switch {
		case u.Name == "" || strings.ContainsAny(u.Name, " \t\n"):
			c.fault(fmt.Sprintf("outcome %q", u.Name), ErrUnit, errors.New("a name without spaces is needed"))
		case u.Better != lab.Up && u.Better != lab.Down:
			c.fault("outcome "+u.Name, ErrUnit, errors.New("say which way is better: lab.Up or lab.Down"))
		case seen[u.Name]:
			c.fault("outcome "+u.Name, ErrUnit, errors.New("declared twice"))
		}
		seen[u.Name] = true
	}
}

func (c *checker) names(r lab.Rig, arms []lab.Arm) {
	seen := make(map[string]bool)
	for _, a := range arms {
		name := c.e.BenchmarkName() + "/" + a.String()
		where := fmt.Sprintf("rig %s, %s", r.Name(), name)
		if seen[name] {
			c.fault(where, ErrName, errors.New("two arms have this name"))
		}
		seen[name] = true
		_, parts := benchfmt.Name(strings.TrimPrefix(name, "Benchmark")).Parts()
		keys := make(map[string]bool)
		for _, p := range parts {
			key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "=")
			if !ok || key == "" || value == "" || strings.ContainsAny(string(p), " \t\n") || keys[key] {
				c.fault(where, ErrName, fmt.Errorf("part %q", p))
			}
			keys[key] = true
		}
	}
}

func (c *checker) assumptions(r lab.Rig) {
	if r.Kind() == lab.KindReal {
		return
	}
	if !slices.ContainsFunc(r.Assumptions(), func(s string) bool { return strings.TrimSpace(s) != "" }) {
		c.fault("rig "+r.Name(), ErrAssumptions, nil)
	}
}

// open opens an arm. It is false if the row is refused or missing, or faulty.
func (c *checker) open(r lab.Rig, a lab.Arm) (*lab.Session, bool) {
	s, err := c.e.Open(c.ctx, r, a, c.host)
	switch {
	case err == nil:
		return s, true
	case errors.Is(err, lab.ErrRefused):
		c.report.Refused = append(c.report.Refused, err)
	case errors.Is(err, lab.ErrUnavailable):
		c.missing(err)
	default:
		c.fault(where(r, a), ErrArm, err)
	}
	return nil, false
}

func where(r lab.Rig, a lab.Arm) string { return fmt.Sprintf("rig %s, %s", r.Name(), a) }

// run opens an arm, runs trials of one operation with the same seed, and closes it.
func (c *checker) run(r lab.Rig, a lab.Arm, trials int, keep func(metrics.Timeline)) ([]lab.Result, bool) {
	before := goleak.IgnoreCurrent()
	s, ok := c.open(r, a)
	if !ok {
		return nil, false
	}
	s.KeepTimelines(keep)
	var results []lab.Result
	var err error
	for range trials {
		var res lab.Result
		if res, err = s.Run(c.ctx, lab.Plan{Seed: 1, N: 1}); err != nil {
			break
		}
		results = append(results, res)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		c.fault(where(r, a), ErrArm, err)
		return nil, false
	}
	if err := goleak.Find(before); err != nil {
		c.fault(where(r, a), ErrLeak, err)
	}
	return results, true
}

func (c *checker) arm(r lab.Rig, a lab.Arm) {
	var timelines []metrics.Timeline
	keep := func(tl metrics.Timeline) { timelines = append(timelines, tl) }
	results, ok := c.run(r, a, 2, keep)
	if !ok {
		return
	}
	first := results[0]
	c.provenance(r, a, first)
	for name := range first.Values() {
		if !slices.ContainsFunc(c.e.AllUnits(), func(u lab.Unit) bool { return u.Name == name }) {
			c.fault(where(r, a), ErrUnit, fmt.Errorf("%s is reported, but not declared", name))
		}
	}
	if c.e.Stages != nil && len(timelines) == 0 {
		c.fault(where(r, a), ErrTimeline, errors.New("the experiment has stages, but the operation left no timeline"))
	}
	for _, tl := range timelines {
		if err := sound(tl, c.e.Stages); err != nil {
			c.fault(where(r, a), ErrTimeline, err)
		}
	}
	c.replay(r, a, first, results[1])
	if virtual(r) { // also from the start
		if afresh, ok := c.run(r, a, 1, nil); ok {
			c.replay(r, a, first, afresh[0])
		}
	}
}

// provenance works it out a second way: from the kind and from every level.
func (c *checker) provenance(r lab.Rig, a lab.Arm, res lab.Result) {
	want := lab.Modelled
	if r.Kind() == lab.KindReal {
		want = lab.Measured
	}
	for _, f := range c.e.FactorsOn(r) {
		label, _ := a.Level(f.Name())
		for i := range f.Len() {
			if f.Label(i) == label && f.SimulatedBy(i) != "" {
				want = lab.Modelled
			}
		}
	}
	if got := res.Stamp().Provenance; got != want {
		c.fault(where(r, a), ErrProvenance, fmt.Errorf("%v, want %v", got, want))
	}
}

// sound checks a timeline, and that a gap put into it appears as unattributed.
func sound(tl metrics.Timeline, stages *metrics.StageSet) error {
	if err := tl.Check(); err != nil {
		return err
	}
	if tl.Set != stages {
		return fmt.Errorf("its stages are not those of the experiment")
	}
	const gap = 12345
	wider := tl
	wider.To += gap
	got, was := wider.Critical().Unattributed, tl.Critical().Unattributed
	if got != was+gap {
		return fmt.Errorf("a gap of %d ns at its end changes unattributed from %d to %d ns", gap, was, got)
	}
	return nil
}

func virtual(r lab.Rig) bool { return r.Kind() == lab.KindVirtual || r.Kind() == lab.KindBubble }

func (c *checker) replay(r lab.Rig, a lab.Arm, first, again lab.Result) {
	was, is := first.Values(), again.Values()
	if virtual(r) {
		if !maps.Equal(was, is) {
			c.fault(where(r, a), ErrReplay, fmt.Errorf("%v, then %v", was, is))
		}
		return
	}
	for _, u := range c.e.AllUnits() {
		if u.Exact && was[u.Name] != is[u.Name] {
			c.fault(where(r, a), ErrReplay, fmt.Errorf("%s is %v, then %v", u.Name, was[u.Name], is[u.Name]))
		}
	}
}

// serial runs every level of the first factor on one channel: it can't take less
// than the writes and reads that reach it, one after the other. Rigs without the
// factors of lab.Latency and lab.Channels have nothing to check.
func (c *checker) serial(r lab.Rig) {
	one := lab.Selection{Set: map[string][]string{lab.Channels(1).Name(): {"1"}}}
	if len(c.e.Factors) > 0 {
		one.Cross = []string{c.e.Factors[0].Name()}
	}
	arms, err := c.e.Arms(r, one)
	if err != nil {
		return
	}
	for _, a := range arms {
		label, ok := a.Level(lab.Latency(0).Name())
		latency, err := time.ParseDuration(label)
		if !ok || err != nil {
			return
		}
		results, ok := c.run(r, a, 1, nil)
		if !ok {
			continue
		}
		res := results[0]
		writes, wrote := res.Value(lab.DeviceWrites)
		if !wrote {
			writes, wrote = res.Value(lab.Writes)
		}
		reads, read := res.Value(lab.Reads)
		took, _ := res.Value(lab.SecPerOp)
		least := (writes + reads) * latency.Seconds()
		if !wrote && !read {
			c.fault(where(r, a), ErrSerial, fmt.Errorf("a rig with channels must report %s or %s", lab.Writes.Name, lab.Reads.Name))
		} else if took < least && math.Abs(took-least) > 1e-9 {
			c.fault(where(r, a), ErrSerial, fmt.Errorf("%g requests of %v took %.6f s", writes+reads, latency, took))
		}
	}
}
