package emu

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepIsExactInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{-time.Second, 0, 1, 50 * time.Microsecond, 30 * time.Millisecond, 24 * time.Hour} {
			start := time.Now()
			if err := Wait(t.Context(), Sleep, d); err != nil {
				t.Fatalf("Wait(%v): %v", d, err)
			}
			if got := time.Since(start); got != max(d, 0) {
				t.Errorf("Wait(%v) took %v", d, got)
			}
		}
	})
}

func TestSleepAndContext(t *testing.T) {
	for _, tt := range []struct {
		name             string
		ctxEnds, waitFor time.Duration
		want             error
		took             time.Duration
	}{
		{"ends before", time.Millisecond, time.Second, context.DeadlineExceeded, time.Millisecond},
		{"ends after", time.Second, time.Millisecond, nil, time.Millisecond},
		{"ends at the same instant", time.Second, time.Second, nil, time.Second},
		{"ended already", 0, time.Second, context.DeadlineExceeded, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ctxEnds)
				defer cancel()
				start := time.Now()
				if err := Wait(ctx, Sleep, tt.waitFor); !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}
