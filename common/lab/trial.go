package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"latlab.example/common/metrics"
)

// Subject is an opened arm. It runs one trial at a time and knows no provenance.
type Subject interface {
	Trial(context.Context, *Trial) error
	Close() error
}

// Plan is how long a trial shall be: at least Min, or exactly N operations if N > 0.
type Plan struct {
	Seed uint64
	Min  time.Duration
	N    int
}

// Trial is one run of an arm. The subject repeats its operation as planned and
// fills in the rest. A trial belongs to one goroutine.
type Trial struct {
	Plan
	Ops  int           // operations done
	Took time.Duration // their time: virtual on virtual and bubble rigs
	obs  map[string]float64

	dirty     []string // reasons, each once
	stages    metrics.Snapshot
	path      metrics.Breakdown
	timelines []metrics.Timeline // of operations not yet folded into path
	keep      func(metrics.Timeline)
}

// Observe records an outcome's figure for the whole trial.
func (t *Trial) Observe(u Unit, v float64) {
	if t.obs == nil {
		t.obs = make(map[string]float64)
	}
	t.obs[u.Name] = v
}

// Dirty marks the trial as disturbed by what the subject itself saw: another
// writer on its device, say. The trial counts all the same. Several reasons are
// kept, each once; an empty one is none.
func (t *Trial) Dirty(reason string) {
	if reason != "" && !slices.Contains(t.dirty, reason) {
		t.dirty = append(t.dirty, reason)
	}
}

// Timeline takes the timeline of an operation. It is cheap; the critical path
// is worked out when the operation isn't being timed. Give it to
// metrics.WithTimelines.
func (t *Trial) Timeline(tl metrics.Timeline) { t.timelines = append(t.timelines, tl) }

// Stages records the histograms of the whole trial.
func (t *Trial) Stages(s metrics.Snapshot) { t.stages = s }

// fold works out the critical paths of the timelines that came in.
func (t *Trial) fold() {
	for _, tl := range t.timelines {
		t.path.Add(tl.Critical())
		if t.keep != nil {
			t.keep(tl)
		}
	}
	t.timelines = t.timelines[:0]
}

// Repeat runs op as often as the plan says and times it by time.Now, which is
// virtual in a bubble. prepare, if not nil, runs before each operation and is
// not timed. Repeat stops at the first error, also the context's.
func (t *Trial) Repeat(ctx context.Context, prepare, op func(i int) error) error {
	for i := 0; ; i++ {
		if t.N > 0 && i >= t.N || t.N <= 0 && i > 0 && t.Took >= t.Min {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if prepare != nil {
			if err := prepare(i); err != nil {
				return fmt.Errorf("prepare operation %d: %w", i, err)
			}
		}
		start := time.Now()
		err := op(i)
		t.Took += time.Since(start)
		if err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		t.Ops++
		t.fold()
	}
}
