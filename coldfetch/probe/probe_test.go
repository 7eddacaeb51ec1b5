package probe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latlab.example/coldfetch/exec"
	"latlab.example/coldfetch/probe"
)

// A loop that is busy for a second: the lag probe has its ten samples and sees
// it, the timer doesn't.
func TestBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := exec.NewLoop()
		lag, timer := probe.StartLag(t.Context(), l, 100*time.Millisecond), probe.StartTimer(t.Context(), 100*time.Millisecond)
		if err := l.Handle(t.Context(), func(*exec.Task) { time.Sleep(time.Second) }); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
		saw, missed := lag.Stop(), timer.Stop()
		l.Close()
		if saw.Dist.Count() < 9 || time.Duration(saw.Dist.Max()) != 900*time.Millisecond || saw.Events < 8 || saw.Sum < 4*time.Second {
			t.Error(saw)
		}
		if missed.Dist.Max() != 0 || missed.Events != 0 {
			t.Error(missed)
		}
	})
}

// With a goroutine for each handler the lag probe sees nothing.
func TestBlindToGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := exec.NewGoroutines()
		lag := probe.StartLag(t.Context(), e, 100*time.Millisecond)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := e.Handle(t.Context(), func(*exec.Task) { time.Sleep(time.Second) }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if r := lag.Stop(); r.Dist.Max() != 0 || r.Dist.Count() < 9 {
			t.Error(r)
		}
		e.Close()
	})
}

// The runtime counts what waited meanwhile, and nothing from before.
func TestScheduler(t *testing.T) {
	spin := func() {
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() { time.Sleep(time.Microsecond) })
		}
		wg.Wait()
	}
	p := probe.StartScheduler()
	spin()
	if r := p.Stop(); r.Dist.Count() == 0 {
		t.Error(r)
	}
	if r := probe.StartScheduler().Stop(); r.Dist.Count() > 150 {
		t.Errorf("counts what was before: %v", r)
	}
}

func TestHealthCountsFailures(t *testing.T) {
	n := 0
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	r, err := probe.Health(t.Context(), s.Client(), s.URL, 100, 100*time.Millisecond)
	if err != nil || r.Success != 5 || r.Failures() != 5 {
		t.Errorf("%v: %d successes, %d failures, want 5 and 5", err, r.Success, r.Failures())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := probe.Get(ctx, s.Client(), s.URL); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
