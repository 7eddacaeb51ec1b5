package runner

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/quick"
	"testing/synctest"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
)

func arms(t *testing.T, e lab.Experiment, rig string, sel lab.Selection) (lab.Rig, []lab.Arm) {
	t.Helper()
	r, err := e.Rig(rig)
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.Arms(r, sel)
	if err != nil {
		t.Fatal(err)
	}
	return r, all
}

func do(t *testing.T, c Config, e lab.Experiment, rig string) Set {
	t.Helper()
	r, all := arms(t, e, rig, lab.Selection{})
	if c.Budget == 0 {
		c.Budget = time.Hour
	}
	if c.Host.IsZero() {
		c.Host = here
	}
	set, err := Run(t.Context(), c, e, r, all)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

var here = host.Fingerprint{OS: "test"}

// one is an experiment with one rig of this subject, in wall-clock time.
func one(open lab.Open) lab.Experiment {
	e := toy.Speed
	e.Rigs = []lab.Rig{lab.Emulated("model", []string{"a test"}, nil, open)}
	return e
}

// orders lists each block's rows in the order in which they were run.
func orders(s Set) [][]int {
	out := make([][]int, s.Blocks)
	for b := range out {
		out[b] = slices.Repeat([]int{-1}, len(s.Rows))
	}
	for i, r := range s.Rows {
		for _, t := range r.Trials {
			out[t.Block][t.Place] = i
		}
	}
	return out
}

func TestBlocksAreInterleavedAndRandom(t *testing.T) {
	const blocks = 20
	s := do(t, Config{Seed: 1, Blocks: blocks}, toy.Speed, "model")
	if s.Blocks != blocks || s.Interrupted || s.OverBudget {
		t.Fatalf("ran %d blocks, interrupted %v, over budget %v", s.Blocks, s.Interrupted, s.OverBudget)
	}
	different := 0
	all := orders(s)
	for b, order := range all {
		sorted := slices.Sorted(slices.Values(order))
		for i, row := range sorted {
			if row != i {
				t.Fatalf("block %d ran rows %v; want each once", b, order)
			}
		}
		if !slices.Equal(order, all[0]) {
			different++
		}
	}
	if different == 0 {
		t.Error("all blocks ran in the same order")
	}
}

func TestControlIsTheBaselineOnceMore(t *testing.T) {
	s := do(t, Config{Seed: 1, Blocks: 3}, toy.Speed, "model")
	c, base := s.Control(), s.Rows[0]
	if !c.Control || c.Arm.String() != base.Arm.String() || len(c.Trials) != 3 {
		t.Fatalf("control %v of arm %s with %d trials; want one of %s with 3", c.Control, c.Arm, len(c.Trials), base.Arm)
	}
	if c.Trials[0].Result.Seed() == base.Trials[0].Result.Seed() {
		t.Error("the control shares its seed with the baseline: it would show no noise on a model")
	}
	if n := len(s.Results(lab.Modelled)); n != 3*(len(s.Rows)-1) {
		t.Errorf("%d results; want those of the arms without the control's", n)
	}
}

func TestSeedReplays(t *testing.T) {
	a := do(t, Config{Seed: 7, Blocks: 5}, toy.Speed, "model")
	b := do(t, Config{Seed: 7, Blocks: 5}, toy.Speed, "model")
	other := do(t, Config{Seed: 8, Blocks: 5}, toy.Speed, "model")
	if !reflect.DeepEqual(orders(a), orders(b)) {
		t.Error("the same seed gave another order")
	}
	if reflect.DeepEqual(orders(a), orders(other)) {
		t.Error("another seed gave the same order")
	}
	for i := range a.Rows {
		_, va := a.Rows[i].Values(lab.SecPerOp)
		_, vb := b.Rows[i].Values(lab.SecPerOp)
		if !slices.Equal(va, vb) {
			t.Errorf("%s: the same seed gave %v, then %v", a.Rows[i].Arm, va, vb)
		}
	}
}

func TestPlanIsAPermutationWithDistinctSeeds(t *testing.T) {
	f := func(seed uint64, block uint16, n uint8) bool {
		rows := int(n)%64 + 1
		order, seeds := plan(seed, int(block), rows)
		sorted := slices.Sorted(slices.Values(order))
		for i, row := range sorted {
			if row != i {
				return false
			}
		}
		return len(slices.Compact(slices.Sorted(slices.Values(seeds)))) == rows
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
}

func TestWarmUpIsNotCounted(t *testing.T) {
	ran := make(map[lab.Subject]int)
	e := one(func(_ context.Context, a lab.Arm) (lab.Subject, error) {
		s := new(counting)
		s.ran = func() { ran[s]++ }
		return s, nil
	})
	s := do(t, Config{Blocks: 2}, e, "model")
	if len(ran) != len(s.Rows) {
		t.Fatalf("%d subjects ran; want %d", len(ran), len(s.Rows))
	}
	for sub, n := range ran {
		if n != 3 {
			t.Errorf("a subject ran %d trials; want a warm-up and 2", n)
		}
		if !sub.(*counting).closed {
			t.Error("a subject wasn't closed")
		}
	}
}

// counting tells of its trials, and of its end. Its functions may be nil.
type counting struct {
	ran, closing func()
	fails        func() error
	closed       bool
}

func (c *counting) Trial(_ context.Context, t *lab.Trial) error {
	if c.ran != nil {
		c.ran()
	}
	if c.fails != nil {
		if err := c.fails(); err != nil {
			return err
		}
	}
	t.Ops, t.Took = 1, time.Second
	return nil
}

func (c *counting) Close() error {
	c.closed = true
	if c.closing != nil {
		c.closing()
	}
	return nil
}

func TestCancelKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	trials := 0
	e := one(toy.Opens(func(ctx context.Context, a lab.Arm, tr *lab.Trial) error {
		trials++
		// 5 rows: the warm-up, two blocks and a half.
		if trials > 5+2*5+2 {
			cancel()
			return ctx.Err()
		}
		tr.Ops, tr.Took = 1, time.Second
		return nil
	}))
	r, all := arms(t, e, "model", lab.Selection{})
	all = all[:4]
	s, err := Run(ctx, Config{Host: here, Blocks: 10, Budget: time.Hour}, e, r, all)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, row := range s.Rows {
		kept += len(row.Trials)
	}
	if !s.Interrupted || s.Blocks != 2 || kept != 12 || len(s.Refused()) != 0 {
		t.Errorf("interrupted %v, %d blocks, %d trials, refused %v; want true, 2, 12, none", s.Interrupted, s.Blocks, kept, s.Refused())
	}
}

func TestCancelWhileOpening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	sub := &counting{ran: func() { t.Error("a trial ran") }}
	e := one(func(context.Context, lab.Arm) (lab.Subject, error) {
		opened++
		cancel()
		return sub, nil
	})
	r, all := arms(t, e, "model", lab.Selection{})
	s, err := Run(ctx, Config{Host: here, Blocks: 1, Budget: time.Hour}, e, r, all)
	if err != nil || !s.Interrupted || s.Measured() || opened != 1 || !sub.closed {
		t.Errorf("error %v, interrupted %v, measured %v, opened %d, closed %v", err, s.Interrupted, s.Measured(), opened, sub.closed)
	}
}

func TestRefusedRowsDoNotStopTheRun(t *testing.T) {
	s := do(t, Config{Blocks: 2, Host: here}, toy.Speed, "picky")
	refused := s.Refused()
	if len(refused) != 1 || !errors.Is(refused[0].Reason, lab.ErrRefused) {
		t.Fatalf("refused %v; want the batch alone", refused)
	}
	if got, want := refused[0].Reason.Error(), "not the device that it claims to be: asked for 50us, got 80us; close other programs"; got != want {
		t.Errorf("reason %q; want %q", got, want)
	}
	if s.Blocks != 2 || len(s.Rows[0].Trials) != 2 {
		t.Errorf("%d blocks, %d trials of the baseline; want 2 and 2", s.Blocks, len(s.Rows[0].Trials))
	}
	for _, tr := range s.Rows[0].Trials {
		if tr.Noise == nil || tr.Noise.Elapsed <= 0 {
			t.Error("a wall-clock trial has no noise reading")
		}
	}
}

func TestUnavailableRig(t *testing.T) {
	s := do(t, Config{Blocks: 2, Host: here}, toy.Speed, "server")
	if s.Measured() || len(s.Refused()) != len(s.Rows) || s.Blocks != 0 {
		t.Errorf("measured %v, %d of %d rows refused, %d blocks", s.Measured(), len(s.Refused()), len(s.Rows), s.Blocks)
	}
	for i, r := range s.Refused() {
		want := ErrBaseline
		if i == 0 {
			want = lab.ErrUnavailable
		}
		if !errors.Is(r.Reason, want) {
			t.Errorf("row %d: reason %v; want %v", i, r.Reason, want)
		}
	}
}

// Without the baseline nothing can be compared, so nothing more is run.
func TestRefusedBaselineEndsTheRun(t *testing.T) {
	broken := errors.New("no device")
	for _, tt := range []struct {
		name     string
		works    int // trials of the baseline, the warm-up counted
		reason   string
		measured int // blocks of the others
	}{
		{"when opened", -1, "no device", 0},
		{"while warming up", 0, "warm-up, seed ", 0},
		{"in block 3", 3, "block 3, seed ", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			closed, base, failed := 0, 0, false
			e := one(func(_ context.Context, a lab.Arm) (lab.Subject, error) {
				first := a.String() == "strategy=loop/keys=100" && base == 0
				if first {
					base++
					if tt.works < 0 {
						failed = true
						return nil, broken
					}
				}
				if failed {
					t.Errorf("%s was opened after the baseline was refused", a)
				}
				trials := 0
				return &counting{closing: func() { closed++ }, fails: func() error {
					if failed {
						t.Errorf("%s ran after the baseline was refused", a)
					}
					if trials++; first && trials > tt.works {
						failed = true
						return broken
					}
					return nil
				}}, nil
			})
			s := do(t, Config{Seed: 1, Blocks: 5}, e, "model")
			if r := s.Rows[0]; !errors.Is(r.Refused, broken) || !strings.HasPrefix(r.Refused.Error(), tt.reason) || len(r.Trials) > 0 {
				t.Errorf("the baseline has %d trials, refused since %v; want none, since %q", len(r.Trials), r.Refused, tt.reason)
			}
			for _, r := range s.Rows[1:] {
				if tt.measured == 0 && r.Refused != ErrBaseline || tt.measured > 0 && r.Refused != nil {
					t.Errorf("%s: refused since %v", r.Arm, r.Refused)
				}
				// The one under way when the baseline failed isn't complete.
				if n := len(r.Trials); n != tt.measured && (tt.measured == 0 || n != tt.measured+1) {
					t.Errorf("%s: %d trials; want %d", r.Arm, n, tt.measured)
				}
			}
			if want := len(s.Rows); tt.works >= 0 && closed != want || s.Blocks != tt.measured {
				t.Errorf("%d of %d subjects closed, %d blocks; want all, %d", closed, want, s.Blocks, tt.measured)
			}
		})
	}
}

// A file lists the arms in their own order, whatever the order of a block was.
func TestResultsAreInTheOrderOfTheArms(t *testing.T) {
	s := do(t, Config{Seed: 1, Blocks: 3}, toy.Speed, "model")
	arms := s.Rows[:len(s.Rows)-1]
	for i, r := range s.Results(lab.Modelled) {
		if got, want := r.Arm().String(), arms[i%len(arms)].Arm.String(); got != want {
			t.Errorf("result %d is of %s; want %s", i, got, want)
		}
	}
}

func TestFailingTrialRefusesItsRow(t *testing.T) {
	broken := errors.New("torn write")
	trials := 0
	e := one(toy.Opens(func(_ context.Context, a lab.Arm, tr *lab.Trial) error {
		if toy.Strategy.Of(a) == "batch" {
			if trials++; trials > 2 {
				return broken
			}
		}
		tr.Ops, tr.Took = 1, time.Second
		return nil
	}))
	s := do(t, Config{Seed: 3, Blocks: 4}, e, "model")
	refused := s.Refused()
	if len(refused) != 1 || !errors.Is(refused[0].Reason, broken) || !strings.HasPrefix(refused[0].Reason.Error(), "block 2, seed ") {
		t.Fatalf("refused %v; want the batch, in block 2", refused)
	}
	for _, r := range s.Rows {
		want := 4
		if r.Refused != nil {
			want = 0
		}
		if len(r.Trials) != want {
			t.Errorf("%s: %d trials; want %d", r.Arm, len(r.Trials), want)
		}
	}
}

func TestBudget(t *testing.T) {
	e := one(toy.Opens(func(ctx context.Context, _ lab.Arm, tr *lab.Trial) error {
		return tr.Repeat(ctx, nil, func(int) error { time.Sleep(time.Second); return nil })
	}))
	// 5 rows of a second: 5 s a block, and a warm-up that takes as long.
	for _, tt := range []struct {
		budget time.Duration
		blocks int
		over   bool
	}{
		{time.Second, 1, true}, // one block is run in any case
		{14 * time.Second, 1, true},
		{15 * time.Second, 2, true},
		{20 * time.Second, 3, false},
		{time.Hour, 3, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, all := arms(t, e, "model", lab.Selection{})
			var last Progress
			c := Config{Host: here, Blocks: 3, Budget: tt.budget, Progress: func(p Progress) { last = p }}
			s, err := Run(t.Context(), c, e, r, all[:4])
			if err != nil {
				t.Fatal(err)
			}
			if s.Blocks != tt.blocks || s.OverBudget != tt.over || s.Took != time.Duration(5*(1+tt.blocks))*time.Second {
				t.Errorf("budget %v: %d blocks, over budget %v, took %v; want %d, %v", tt.budget, s.Blocks, s.OverBudget, s.Took, tt.blocks, tt.over)
			}
			if last.Block != tt.blocks || last.Trial != 5 || last.Left > 10*time.Second {
				t.Errorf("budget %v: the last progress is %+v", tt.budget, last)
			}
		})
	}
}

func TestBadConfig(t *testing.T) {
	r, all := arms(t, toy.Speed, "disk", lab.Selection{})
	good := Config{Blocks: 1, Budget: time.Hour, Host: here}
	for name, c := range map[string]Config{
		"blocks": {Budget: good.Budget, Host: good.Host},
		"budget": {Blocks: 1, Host: good.Host},
		"host":   {Blocks: 1, Budget: good.Budget},
	} {
		if _, err := Run(t.Context(), c, toy.Speed, r, all); !errors.Is(err, ErrConfig) {
			t.Errorf("no %s: error %v; want ErrConfig", name, err)
		}
	}
	if _, err := Run(t.Context(), good, toy.Speed, r, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("no arms: error %v; want ErrConfig", err)
	}
}

type failingClose struct{ counting }

var errClose = errors.New("file is busy")

func (*failingClose) Close() error { return errClose }

func TestCloseErrorComesWithAWholeSet(t *testing.T) {
	e := one(func(context.Context, lab.Arm) (lab.Subject, error) {
		return &failingClose{counting{}}, nil
	})
	r, all := arms(t, e, "model", lab.Selection{})
	s, err := Run(t.Context(), Config{Host: here, Blocks: 1, Budget: time.Hour}, e, r, all)
	if !errors.Is(err, errClose) || s.Blocks != 1 {
		t.Errorf("error %v after %d blocks; want that of Close after 1", err, s.Blocks)
	}
}

// What a subject saw stands beside what the noise meter saw.
func TestDirtyTrials(t *testing.T) {
	for _, kind := range []string{"virtual", "real"} {
		trial := toy.Opens(func(_ context.Context, a lab.Arm, tr *lab.Trial) error {
			tr.Ops, tr.Took = 1, time.Second
			if toy.Strategy.Of(a) == "batch" {
				tr.Dirty("another wrote to the disk")
			}
			return nil
		})
		e := one(trial)
		if kind == "real" {
			e.Rigs = []lab.Rig{lab.Real("model", nil, trial)}
		}
		s := do(t, Config{Blocks: 2, Host: here}, e, "model")
		for _, r := range s.Rows {
			batch := toy.Strategy.Of(r.Arm) == "batch"
			for _, tr := range r.Trials {
				noise := ""
				if tr.Noise != nil {
					noise, _ = tr.Noise.Dirty()
				}
				want := noise
				if batch {
					want = joined(noise, "another wrote to the disk")
				}
				if tr.Dirty != want {
					t.Errorf("%s, %s: dirty is %q; want %q", kind, r.Arm, tr.Dirty, want)
				}
			}
			if batch && r.Dirty() != 2 {
				t.Errorf("%s, %s: %d of 2 trials are dirty; want both", kind, r.Arm, r.Dirty())
			}
		}
	}
	if got := joined("a", "b"); got != "a; b" {
		t.Errorf("joined %q; want a; b", got)
	}
}

// In virtual time there is no warm-up, and a block's trials run side by side: the
// figures are those of one after the other.
func TestVirtualTrialsRunTogether(t *testing.T) {
	var running, most, trials atomic.Int64
	e := toy.Speed
	e.Rigs = []lab.Rig{lab.Virtual("model", []string{"a test"}, toy.Opens(func(_ context.Context, a lab.Arm, tr *lab.Trial) error {
		trials.Add(1)
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		tr.Ops, tr.Took = 1, time.Duration(tr.Seed%1000+1)
		return nil
	}))}
	s := do(t, Config{Seed: 1, Blocks: 3}, e, "model")
	if want := int64(3 * len(s.Rows)); trials.Load() != want || s.Blocks != 3 {
		t.Errorf("%d trials in %d blocks, want %d in 3", trials.Load(), s.Blocks, want)
	}
	if n := int64(runtime.GOMAXPROCS(0)); most.Load() > n {
		t.Errorf("%d trials at once, want at most %d", most.Load(), n)
	}
	for i, r := range s.Rows {
		for b, tr := range r.Trials {
			_, seeds := plan(1, b, len(s.Rows))
			if tr.Block != b || tr.Result.Seed() != seeds[i] || tr.Result.Took() != time.Duration(seeds[i]%1000+1) {
				t.Errorf("row %d, block %d: %+v", i, b, tr)
			}
		}
	}
}
