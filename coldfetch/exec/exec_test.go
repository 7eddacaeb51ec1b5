package exec_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"latlab.example/coldfetch/exec"
)

func each(t *testing.T, f func(t *testing.T, e exec.Executor)) {
	for _, mk := range []func() exec.Executor{
		func() exec.Executor { return exec.NewLoop() },
		func() exec.Executor { return exec.NewOffload(0) },
		func() exec.Executor { return exec.NewGoroutines() },
		func() exec.Executor { return exec.NewBounded(1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			e := mk()
			t.Log(e)
			f(t, e)
		})
	}
}

// compute stands for a computation: a sleep, since the clock is virtual.
func compute(ctx context.Context, task *exec.Task, d time.Duration) {
	_ = task.Heavy(ctx, func(tick func()) { // the context doesn't end
		for range d / time.Millisecond {
			time.Sleep(time.Millisecond)
			tick()
		}
	})
}

// Each handler runs exactly once, and none after Close.
func TestEveryHandlerRunsOnce(t *testing.T) {
	each(t, func(t *testing.T, e exec.Executor) {
		var n atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if err := e.Handle(t.Context(), func(task *exec.Task) {
					compute(t.Context(), task, 3*time.Millisecond)
					task.Wait(func() { time.Sleep(time.Millisecond) })
					n.Add(1)
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n.Load() != 50 {
			t.Errorf("%d of 50 ran", n.Load())
		}
		e.Close()
		if err := e.Handle(t.Context(), func(*exec.Task) { t.Error("ran after Close") }); !errors.Is(err, exec.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// A light handler that comes while ten heavy ones are under way waits as long
// as its mode says.
func TestWhoWaits(t *testing.T) {
	want := map[string][2]time.Duration{
		"loop":           {900 * time.Millisecond, 1100 * time.Millisecond}, // all of them
		"offload-gil(6)": {5 * time.Millisecond, 40 * time.Millisecond},     // a switch interval a thread
		"goroutines":     {0, 0},
		"bounded(1)":     {0, 0},
	}
	each(t, func(t *testing.T, e exec.Executor) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := e.Handle(t.Context(), func(task *exec.Task) { compute(t.Context(), task, 100*time.Millisecond) }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := e.Light(t.Context(), func(*exec.Task) {}); err != nil {
			t.Error(err)
		}
		if took, w := time.Since(began), want[e.String()]; took < w[0] || took > w[1] {
			t.Errorf("%v: a light handler took %v, want %v to %v", e, took, w[0], w[1])
		}
		wg.Wait()
		e.Close()
	})
}

// Ten handlers that compute for 100 ms each and wait 1 s each take what their
// mode lets overlap. There is no limit of processors here.
func TestWhatOverlaps(t *testing.T) {
	want := map[string][2]time.Duration{
		"loop":           {11 * time.Second, 11 * time.Second}, // nothing
		"offload-gil(6)": {3 * time.Second, 3 * time.Second},   // waits, of six threads: two rounds
		"goroutines":     {1100 * time.Millisecond, 1100 * time.Millisecond},
		"bounded(1)":     {2 * time.Second, 2 * time.Second}, // the last computes after the other nine
	}
	each(t, func(t *testing.T, e exec.Executor) {
		began := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := e.Handle(t.Context(), func(task *exec.Task) {
					compute(t.Context(), task, 100*time.Millisecond)
					task.Wait(func() { time.Sleep(time.Second) })
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took, w := time.Since(began), want[e.String()]; took < w[0] || took > w[1] {
			t.Errorf("%v: took %v, want %v to %v", e, took, w[0], w[1])
		}
		e.Close()
	})
}

// A handler whose context ends while it waits never runs.
func TestGivenUp(t *testing.T) {
	each(t, func(t *testing.T, e exec.Executor) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range exec.Threads {
			wg.Go(func() {
				if err := e.Handle(t.Context(), func(task *exec.Task) { compute(t.Context(), task, time.Second) }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		wg.Go(func() {
			time.Sleep(10 * time.Millisecond)
			cancel()
		})
		var ran bool
		var inner error
		err := e.Handle(ctx, func(task *exec.Task) {
			inner = task.Heavy(ctx, func(func()) { ran = true })
		})
		if _, free := e.(*exec.Goroutines); !free && (ran || !errors.Is(err, context.Canceled)) {
			t.Errorf("%v: ran=%v, error %v", e, ran, err)
		}
		if e.String() == "bounded(1)" && (ran || !errors.Is(inner, context.Canceled)) {
			t.Errorf("%v: its heavy part: ran=%v, error %v", e, ran, inner)
		}
		wg.Wait()
		e.Close()
	})
}

// A turn runs all that was ready when it began, and is one lag event.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := exec.NewLoop()
		var wg sync.WaitGroup
		post := func() {
			wg.Go(func() {
				if err := l.Handle(t.Context(), func(*exec.Task) { time.Sleep(40 * time.Millisecond) }); err != nil {
					t.Error(err)
				}
			})
		}
		post()
		synctest.Wait()
		for range 9 {
			post()
		}
		wg.Wait()
		l.Close()
		if got, want := l.Turns(), (exec.Turns{Count: 2, Events: 1, Max: 360 * time.Millisecond, Sum: 360 * time.Millisecond}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// Steps of one handler run in order, each in a turn of its own, and between them
// others have theirs.
func TestSteps(t *testing.T) {
	each(t, func(t *testing.T, e exec.Executor) {
		var order []string // all on one goroutine after the other
		step := func(name string) func(*exec.Task) {
			return func(*exec.Task) {
				time.Sleep(10 * time.Millisecond)
				order = append(order, name)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := e.Light(t.Context(), step("a1"), step("a2"), step("a3")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, free := e.(*exec.Goroutines); !free {
			wg.Go(func() {
				if err := e.Light(t.Context(), step("b")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want := "a1 b a2 a3"
		if _, free := e.(*exec.Goroutines); free {
			want = "a1 a2 a3"
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%v: %s, want %s", e, got, want)
		}
		e.Close()
	})
}
