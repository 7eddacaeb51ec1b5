package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Errors that [Timeline.Check] wraps.
var (
	// ErrOverlap occurs when two stages ran at once on one track.
	ErrOverlap = errors.New("intervals overlap on one track")
	// ErrUndeclared occurs when an interval names a stage that the set lacks.
	ErrUndeclared = errors.New("undeclared stage")
	// ErrOutside occurs when an interval isn't within its operation.
	ErrOutside = errors.New("interval outside its operation")
	// ErrBackwards occurs when an interval or an operation ends before it starts.
	ErrBackwards = errors.New("ends before it starts")
)

// Timeline is one finished operation: it ran from From to To, in nanoseconds of
// a clock of its own, and its stages ran in Intervals, in no particular order.
type Timeline struct {
	Set       *StageSet
	From, To  int64
	Intervals []Interval
}

// Check reports all that is unsound in the timeline, joined into one error, or
// nil. It wraps [ErrOverlap], [ErrUndeclared], [ErrOutside] and [ErrBackwards].
// Intervals that only touch don't overlap, nor does one without length.
func (t Timeline) Check() error {
	var errs []error
	if t.To < t.From {
		errs = append(errs, fmt.Errorf("metrics: operation of %q, %d..%d ns: %w; finish it with a later moment of the same clock",
			t.Set.Name(), t.From, t.To, ErrBackwards))
	}
	for _, iv := range t.Intervals {
		if int(iv.Stage) >= t.Set.Len() {
			errs = append(errs, fmt.Errorf("metrics: %s: %w; the set has stages 0 to %d", t.describe(iv), ErrUndeclared, t.Set.Len()-1))
		}
		if iv.To < iv.From {
			errs = append(errs, fmt.Errorf("metrics: %s: %w; end it with a later moment of the same clock", t.describe(iv), ErrBackwards))
		} else if iv.From < t.From || iv.To > t.To {
			errs = append(errs, fmt.Errorf("metrics: %s: %w, which ran %d..%d ns; wait for every stage before finishing",
				t.describe(iv), ErrOutside, t.From, t.To))
		}
	}
	return errors.Join(append(errs, t.overlaps()...)...)
}

func (t Timeline) overlaps() []error {
	sorted := make([]Interval, 0, len(t.Intervals))
	for _, iv := range t.Intervals {
		if iv.To > iv.From {
			sorted = append(sorted, iv)
		}
	}
	slices.SortFunc(sorted, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var (
		errs []error
		last Interval // of those before on this track, the one that ends last
	)
	for i, iv := range sorted {
		if i > 0 && iv.Track == last.Track {
			if iv.From < last.To {
				errs = append(errs, fmt.Errorf("metrics: %s and %s: %w; end one before the other starts, or give it a track of its own",
					t.describe(last), t.describe(iv), ErrOverlap))
			}
			if iv.To <= last.To {
				continue
			}
		}
		last = iv
	}
	return errs
}

func (t Timeline) describe(iv Interval) string {
	return fmt.Sprintf("%s/%s on track %d, %d..%d ns", t.Set.Name(), t.Set.Stage(iv.Stage), iv.Track, iv.From, iv.To)
}

// Critical charges every nanosecond of the operation to one stage, or to none.
// It walks back from the end: at each point it takes, among the stages that had
// started by then, the one that ends last, charges it back to its start, and
// goes on from there. Where no stage ran, the time is unattributed. So in
//
//	track 0   |--lock--|        |--write--|
//	track 1        |----read----|
//	charged   lock read          write
//
// the lock is charged only until the read starts. Of stages that end together,
// the one that started first is taken, then the lower stage and track; the order
// of the intervals never matters.
//
// Parts outside From..To, intervals that end before they start and undeclared
// stages aren't charged; [Timeline.Check] reports them.
func (t Timeline) Critical() Breakdown {
	b := Breakdown{Set: t.Set, Stages: make([]int64, t.Set.Len())}
	if t.Set == nil {
		return b
	}
	b.Ops = 1
	b.Total = max(t.To-t.From, 0)

	var few [2 * room]Interval // keeps a usual request off the heap
	sorted := few[:0]
	for _, iv := range t.Intervals {
		iv.From, iv.To = max(iv.From, t.From), min(iv.To, t.To)
		if iv.To > iv.From && int(iv.Stage) < len(b.Stages) {
			sorted = append(sorted, iv)
		}
	}
	slices.SortFunc(sorted, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(b.To, a.To), cmp.Compare(a.From, b.From),
			cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Track, b.Track))
	})
	at := t.To
	b.Unattributed = b.Total
	for _, iv := range sorted {
		// What starts at or after this point can't be taken at an earlier one, so
		// one pass in this order is enough.
		if iv.From >= at {
			continue
		}
		d := min(iv.To, at) - iv.From
		b.Stages[iv.Stage] += d
		b.Unattributed -= d
		at = iv.From
	}
	return b
}
