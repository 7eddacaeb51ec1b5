package emu

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSpinIsNeverEarly(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 50 * time.Microsecond, spinPart, 3 * time.Millisecond} {
		deadline := Spin.Now().Add(d)
		if err := Spin.Until(t.Context(), deadline); err != nil {
			t.Fatalf("Until in %v: %v", d, err)
		}
		if early := time.Until(deadline); early > 0 {
			t.Errorf("wait of %v: %v early", d, early)
		}
	}
}

func TestSpinHonoursCancel(t *testing.T) {
	const far = int64(time.Hour)
	for name, wait := range map[string]func(*spinner, context.Context) error{
		"in the timer's part": func(s *spinner, ctx context.Context) error { return s.Until(ctx, time.Now().Add(time.Hour)) },
		"leading":             func(s *spinner, ctx context.Context) error { s.leading = true; return s.lead(ctx, far) },
		"parked":              func(s *spinner, ctx context.Context) error { s.mu.Lock(); return s.park(ctx, far) },
		"ended before":        func(s *spinner, ctx context.Context) error { <-ctx.Done(); return s.Until(ctx, time.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			if err := wait(newSpinner(), ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		})
	}
}

// A leader that is cancelled must hand over, and one that gave up while it was
// parked must not be counted on.
func TestSpinHandsOver(t *testing.T) {
	s := newSpinner()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.leading = true
	s.mu.Lock()
	if err := s.park(ended, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("parked: error %v, want %v", err, context.Canceled)
	}
	due := make(chan error)
	go func() { due <- s.Until(t.Context(), time.Now().Add(spinPart)) }()
	for parked := 0; parked < 2; { // until both are in
		s.mu.Lock()
		parked = len(s.parked)
		s.mu.Unlock()
	}
	if err := s.lead(ended, int64(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Fatalf("leader: error %v, want %v", err, context.Canceled)
	}
	if err := <-due; err != nil {
		t.Errorf("the one that was left: %v", err)
	}
	if s.leading || len(s.parked) != 0 || s.first.Load() != never {
		t.Errorf("left over: leading %v, %d parked, first %d", s.leading, len(s.parked), s.first.Load())
	}
}

// Many waiters with mixed deadlines, some of which give up: none is early, none
// is lost, and the spinner ends empty.
func TestSpinTogether(t *testing.T) {
	s := newSpinner()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				gone := random.IntN(3) == 0
				if gone {
					go cancel()
				}
				deadline := time.Now().Add(time.Duration(random.IntN(300)) * time.Microsecond)
				err := s.Until(ctx, deadline)
				switch {
				case err == nil && time.Until(deadline) > 0:
					t.Errorf("%v early", time.Until(deadline))
				case err != nil && (!gone || !errors.Is(err, context.Canceled)):
					t.Errorf("cancelled %v, error %v", gone, err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	// What gave up while parked is dropped when a leader meets it.
	if err := s.Until(t.Context(), time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if s.leading || len(s.parked) != 0 || s.first.Load() != never {
		t.Errorf("left over: leading %v, %d parked, first %d", s.leading, len(s.parked), s.first.Load())
	}
}

func TestSpinRefusesABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := Wait(t.Context(), Spin, time.Microsecond); !errors.Is(err, ErrBubble) {
			t.Errorf("error %v, want %v", err, ErrBubble)
		}
	})
}
