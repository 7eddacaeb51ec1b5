package bubble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"latlab.example/common/bubble"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		children[name]()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestRunGivesVirtualTime(t *testing.T) {
	type key struct{}
	outer := context.WithValue(t.Context(), key{}, "value")
	wall := time.Now()
	err := bubble.Run(outer, func(ctx context.Context) error {
		start := time.Now()
		if want := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !start.Equal(want) {
			t.Errorf("starts at %v, want %v", start, want)
		}
		if ctx.Value(key{}) != "value" {
			t.Error("the values of the context are lost")
		}
		if d, ok := ctx.Deadline(); ok {
			t.Errorf("deadline %v from nowhere", d)
		}
		time.Sleep(1000 * time.Hour)
		if d := time.Since(start); d != 1000*time.Hour {
			t.Errorf("slept %v", d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(wall); d > time.Hour {
		t.Errorf("took %v of wall-clock time", d)
	}
}

// The outcomes of a run, by what f does.
func TestRunErrors(t *testing.T) {
	mine := errors.New("mine")
	for name, tt := range map[string]struct {
		f     func(context.Context) error
		want  []error
		words []string
	}{
		"nil":   {func(context.Context) error { return nil }, nil, nil},
		"error": {func(context.Context) error { return mine }, []error{mine}, nil},
		"panic": {
			func(context.Context) error { panic("boom") },
			[]error{bubble.ErrPanic},
			[]string{"boom", "run_test.go"},
		},
		"panic with an error": {
			func(context.Context) error { panic(mine) },
			[]error{bubble.ErrPanic, mine},
			[]string{"mine"},
		},
		"FailNow": {
			func(context.Context) error { new(testing.T).FailNow(); return nil },
			[]error{bubble.ErrExit},
			[]string{"return an error"},
		},
		"nested": {func(ctx context.Context) error {
			return bubble.Run(ctx, func(context.Context) error { return nil })
		}, []error{bubble.ErrNested}, nil},
		"sleeper that ends in time": {func(context.Context) error {
			go time.Sleep(9 * time.Second)
			return nil
		}, nil, nil},
		"goroutine that ends with the context": {func(ctx context.Context) error {
			go func() { <-ctx.Done() }()
			return mine
		}, []error{mine}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := bubble.Run(t.Context(), tt.f)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			}
			for _, word := range tt.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q isn't in: %v", word, err)
				}
			}
		})
	}
	var p *bubble.PanicError
	err := bubble.Run(t.Context(), func(context.Context) error { panic(42) })
	if !errors.As(err, &p) || p.Value != 42 || !strings.Contains(string(p.Stack), "TestRunErrors") {
		t.Errorf("panic value or stack lost: %v", err)
	}
}

func TestOuterContext(t *testing.T) {
	t.Run("ended before", func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		err := bubble.Run(ctx, func(context.Context) error {
			t.Error("it ran")
			return nil
		})
		if !errors.Is(err, cause) {
			t.Errorf("error %v, want %v", err, cause)
		}
	})
	t.Run("ends meanwhile", func(t *testing.T) {
		cause := errors.New("cause")
		outer, cancel := context.WithCancelCause(t.Context())
		err := bubble.Run(outer, func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(time.Second)
				cancel(cause)
			}
			return context.Cause(ctx)
		})
		if !errors.Is(err, cause) {
			t.Errorf("error %v, want %v", err, cause)
		}
	})
	t.Run("wall-clock deadline", func(t *testing.T) {
		outer, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		err := bubble.Run(outer, func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(time.Hour)
			}
			return context.Cause(ctx)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// A contended mutex held across a sleep stops the clock. The test lets the
// bubble go on by unlocking from outside.
func TestStuck(t *testing.T) {
	defer bubble.SetGrace(50 * time.Millisecond)()
	var mu sync.Mutex
	end := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := bubble.Run(ctx, func(ctx context.Context) error {
		defer close(end)
		mu.Lock()
		done := make(chan bool)
		go func() {
			mu.Lock() // hangs
			close(done)
		}()
		time.Sleep(time.Second) // never ends
		<-done
		return nil
	})
	var blocked *bubble.BlockedError
	if !errors.Is(err, bubble.ErrStuck) || !errors.As(err, &blocked) {
		t.Fatalf("error %v, want %v", err, bubble.ErrStuck)
	}
	if len(blocked.Goroutines) != 2 {
		t.Fatalf("%d goroutines, want 2: %v", len(blocked.Goroutines), err)
	}
	culprit := blocked.Goroutines[0]
	if culprit.Durable() || culprit.State != "sync.Mutex.Lock" || !strings.Contains(culprit.In, "TestStuck") {
		t.Errorf("the first is %v, not the one at the mutex", culprit)
	}
	if g := blocked.Goroutines[1]; !g.Durable() {
		t.Errorf("the sleeper is said to stop the clock: %v", g)
	}
	mu.Unlock()
	<-end
}

func TestManyRuns(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				want := time.Duration(i*1000+j) * time.Millisecond
				err := bubble.Run(t.Context(), func(context.Context) error {
					start := time.Now()
					time.Sleep(want)
					if got := time.Since(start); got != want {
						return fmt.Errorf("slept %v, want %v", got, want)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
