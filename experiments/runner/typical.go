package runner

import (
	"cmp"
	"slices"

	"latlab.example/common/metrics"
)

// thinned keeps some timelines of many: every one at first, every second when it
// is full, and so on. So they come from all over the trial, and the same
// operations give the same choice.
type thinned struct {
	kept  []metrics.Timeline
	every int // keeps one of so many
	seen  int
}

const maxThinned = 64

func (t *thinned) add(tl metrics.Timeline) {
	t.every = max(t.every, 1)
	t.seen++
	if (t.seen-1)%t.every != 0 {
		return
	}
	if len(t.kept) == maxThinned {
		for i := range maxThinned / 2 {
			t.kept[i] = t.kept[2*i]
		}
		clear(t.kept[maxThinned/2:])
		t.kept = t.kept[:maxThinned/2]
		t.every *= 2
		if (t.seen-1)%t.every != 0 {
			return
		}
	}
	t.kept = append(t.kept, tl)
}

// median is the timeline of the median time; without timelines it is empty.
func (t *thinned) median() metrics.Timeline {
	if len(t.kept) == 0 {
		return metrics.Timeline{}
	}
	slices.SortStableFunc(t.kept, func(a, b metrics.Timeline) int { return cmp.Compare(a.To-a.From, b.To-b.From) })
	return t.kept[len(t.kept)/2]
}
