package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every case, by a few seeds. `make soak` has more.
func TestCases(t *testing.T) {
	turns := 4
	if testing.Short() {
		turns = 1
	}
	var out strings.Builder
	r, err := Run(t.Context(), &out, Options{Cases: Cases(), Turns: turns, Seed: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if r.Turns != turns || r.First != 1 || r.Last != uint64(turns) || len(r.Growth) != len(Cases()) {
		t.Errorf("%+v", r)
	}
	t.Log(out.String())
}

// soak runs a toy with little patience.
func soak(t *testing.T, o Options) (Report, string, error) {
	t.Helper()
	limits := []time.Duration{patience, roundLimit, grace}
	patience, roundLimit, grace = 20*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
	defer func() { patience, roundLimit, grace = limits[0], limits[1], limits[2] }()
	var out strings.Builder
	r, err := Run(t.Context(), &out, o)
	return r, out.String(), err
}

// toy answers with the sum of two numbers, wrongly for every seventh seed.
func toy(_ context.Context, seed uint64) (Did, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	a, b := r.IntN(100), r.IntN(100)
	sum := a + b
	if seed%7 == 5 {
		sum++
	}
	if sum != a+b {
		return Did{}, errors.New("the sum is wrong")
	}
	return Did{Right: 1}, nil
}

// A wrong answer is found, and its seed is printed, and finds it again.
func TestWrongAnswer(t *testing.T) {
	cases := []Case{{"other", func(context.Context, uint64) (Did, error) { return Did{Right: 2, Failed: 3}, nil }}, {"toy", toy}}
	r, out, err := soak(t, Options{Cases: cases, Turns: 10, Seed: 1})
	if !errors.Is(err, ErrFailed) || r.Turns != 10 || len(r.Failures) != 1 || r.Failures[0].Case != "toy" || r.Failures[0].Seed != 5 {
		t.Errorf("%v, %+v", err, r)
	}
	for _, line := range []string{"seed 4: other 2/3 toy 1/0\n", "FAIL toy, seed 5: the sum is wrong\nreplay it: make soak CASE=toy SEED=5\n", "10 turns, seeds 1 to 10, 1 failures\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	r, _, err = soak(t, Options{Cases: cases[1:], Turns: 2, Seed: r.Failures[0].Seed, Replay: true})
	if !errors.Is(err, ErrFailed) || len(r.Failures) != 2 || r.Failures[1].Seed != 5 {
		t.Errorf("again: %v, %+v", err, r)
	}
}

func TestGoroutineLeftBehind(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	r, out, err := soak(t, Options{Turns: 1, Cases: []Case{{"toy", func(context.Context, uint64) (Did, error) {
		go func() { <-end }()
		return Did{}, nil
	}}}})
	if !errors.Is(err, ErrFailed) || len(r.Failures) != 1 || !errors.Is(r.Failures[0].Err, ErrLeak) || !strings.Contains(out, "TestGoroutineLeftBehind") {
		t.Errorf("%v, %s", err, out)
	}
}

func TestDescriptorLeftBehind(t *testing.T) {
	if descriptors() < 0 {
		t.Skip("this system doesn't list descriptors")
	}
	var left *os.File
	r, out, err := soak(t, Options{Turns: 1, Cases: []Case{{"toy", func(context.Context, uint64) (did Did, err error) {
		left, err = os.Open(os.DevNull)
		return did, err
	}}}})
	if !errors.Is(err, ErrFailed) || len(r.Failures) != 1 || !errors.Is(r.Failures[0].Err, ErrLeak) || !strings.Contains(out, os.DevNull) {
		t.Errorf("%v, %s", err, out)
	}
	if err := left.Close(); err != nil {
		t.Error(err)
	}
}

// Of two cases in turns, the one that keeps a little each time is named.
func TestMemoryThatGrows(t *testing.T) {
	var kept [][]byte
	o := Options{Turns: 40, Cases: []Case{
		{"flat", func(context.Context, uint64) (Did, error) { _ = make([]byte, 1<<20); return Did{}, nil }},
		{"greedy", func(context.Context, uint64) (Did, error) {
			kept = append(kept, make([]byte, 64<<10))
			return Did{}, nil
		}},
	}}
	r, out, err := soak(t, o)
	if !errors.Is(err, ErrFailed) || len(r.Failures) != 0 || !r.Growth[0].Flat() || r.Growth[1].Flat() || !strings.Contains(out, "memory of greedy: GROWS") {
		t.Errorf("%v, %+v\n%s", err, r, out)
	}
	if len(kept) != 40 {
		t.Error(len(kept))
	}
}

func TestStuck(t *testing.T) {
	end, ended := make(chan struct{}), make(chan struct{})
	r, out, err := soak(t, Options{Turns: 5, Cases: []Case{{"toy", func(context.Context, uint64) (Did, error) {
		defer close(ended)
		<-end
		return Did{}, nil
	}}}})
	close(end)
	<-ended
	if !errors.Is(err, ErrFailed) || !errors.Is(err, ErrStuck) || r.Turns != 1 || !strings.Contains(out, "TestStuck") {
		t.Errorf("%v, %+v, %s", err, r, out)
	}
}

// Who asks it to stop gets what there is, without an error.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	r, err := Run(ctx, &out, Options{For: time.Hour, Cases: []Case{{"toy", func(_ context.Context, seed uint64) (Did, error) {
		if seed == 2 {
			cancel()
		}
		return Did{}, nil
	}}}})
	if err != nil || r.Turns != 3 {
		t.Errorf("%v, %+v\n%s", err, r, out.String())
	}
	for _, o := range []Options{{}, {Cases: Cases()}, {Turns: 1}} {
		if _, err := Run(ctx, &out, o); !errors.Is(err, ErrOptions) {
			t.Errorf("%v, want ErrOptions", err)
		}
	}
}

func TestSlope(t *testing.T) {
	for _, test := range []struct {
		of   []float64
		want float64
	}{
		{nil, 0}, {[]float64{5}, 0}, {[]float64{0, 2, 4, 6}, 2}, {[]float64{0, 900, 900, 900, 900, 900, 900}, 0},
	} {
		if got := slope(test.of); got != test.want {
			t.Errorf("%v: %v, want %v", test.of, got, test.want)
		}
	}
	long := make([]float64, 5000)
	for i := range long {
		long[i] = 3 * float64(i)
	}
	if got := slope(long); got != 3 {
		t.Errorf("a long line of slope 3: %v", got)
	}
}
