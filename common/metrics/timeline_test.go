package metrics

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
)

func TestCheck(t *testing.T) {
	all := []error{ErrOverlap, ErrUndeclared, ErrOutside, ErrBackwards}
	for _, tt := range []struct {
		name     string
		from, to int64
		ivs      []Interval
		want     []error
		says     string
	}{
		{"empty", 0, 10, nil, nil, ""},
		{"in turn", 0, 10, []Interval{{submit, 0, 3, 10}, {reserve, 0, 0, 3}}, nil, ""},
		{"two tracks", 0, 10, []Interval{{submit, 0, 0, 10}, {wait, 1, 0, 10}}, nil, ""},
		{"no length within another", 0, 10, []Interval{{submit, 0, 0, 10}, {wait, 0, 5, 5}}, nil, ""},
		{
			"overlap", 0, 10,
			[]Interval{{submit, 2, 4, 9}, {reserve, 2, 0, 5}},
			[]error{ErrOverlap},
			"store/reserve on track 2, 0..5 ns and store/submit on track 2, 4..9 ns",
		},
		{
			"overlap with a long one before the last", 0, 10,
			[]Interval{{submit, 0, 0, 9}, {reserve, 0, 9, 9}, {wait, 0, 10, 10}, {wait, 0, 8, 10}},
			[]error{ErrOverlap},
			"store/wait on track 0, 8..10",
		},
		{
			"a long one over two", 0, 10,
			[]Interval{{submit, 0, 0, 10}, {reserve, 0, 2, 3}, {wait, 0, 5, 6}},
			[]error{ErrOverlap},
			"store/submit on track 0, 0..10 ns and store/wait on track 0, 5..6 ns",
		},
		{"undeclared", 0, 10, []Interval{{7, 0, 0, 5}}, []error{ErrUndeclared}, "undeclared(7)"},
		{"early", 3, 10, []Interval{{wait, 0, 2, 5}}, []error{ErrOutside}, "ran 3..10"},
		{"late", 0, 10, []Interval{{wait, 0, 2, 11}}, []error{ErrOutside}, "2..11"},
		{"interval backwards", 0, 10, []Interval{{wait, 0, 5, 2}}, []error{ErrBackwards}, "5..2"},
		{"operation backwards", 10, 0, nil, []error{ErrBackwards}, "operation of \"store\""},
		{"several", 0, 10, []Interval{{7, 0, 5, 2}, {wait, 0, 2, 11}}, []error{ErrUndeclared, ErrBackwards, ErrOutside}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Timeline{storeSet, tt.from, tt.to, tt.ivs}.Check()
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, e := range all {
				wanted := false
				for _, w := range tt.want {
					wanted = wanted || w == e
				}
				if errors.Is(err, e) != wanted {
					t.Errorf("wraps %q: %v, in %v", e, !wanted, err)
				}
			}
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q doesn't say %q", err, tt.says)
			}
		})
	}
}

// Worked by hand.
func TestCritical(t *testing.T) {
	for _, tt := range []struct {
		name         string
		from, to     int64
		ivs          []Interval
		stages       []int64 // reserve, submit, wait
		unattributed int64
	}{
		{"nothing ran", 0, 10, nil, []int64{0, 0, 0}, 10},
		{"no time", 5, 5, []Interval{{wait, 0, 5, 5}}, []int64{0, 0, 0}, 0},
		{"one stage covers all", 0, 10, []Interval{{wait, 0, 0, 10}}, []int64{0, 0, 10}, 0},
		{"gaps before, between, after", 0, 20, []Interval{{reserve, 0, 2, 5}, {submit, 0, 8, 12}}, []int64{3, 4, 0}, 13},
		{"a clock that doesn't start at zero", 1000, 1020, []Interval{{reserve, 0, 1002, 1005}, {submit, 0, 1008, 1012}}, []int64{3, 4, 0}, 13},
		{"touching", 0, 10, []Interval{{reserve, 0, 0, 4}, {submit, 0, 4, 10}}, []int64{4, 6, 0}, 0},
		{"no length", 0, 10, []Interval{{reserve, 0, 3, 3}, {wait, 0, 0, 8}, {submit, 0, 10, 10}}, []int64{0, 0, 8}, 2},
		// The wait ends last, so it is charged back to 4; submit has only 0..4 left.
		{"parallel, overlapping", 0, 10, []Interval{{submit, 0, 0, 6}, {wait, 1, 4, 10}}, []int64{0, 4, 6}, 0},
		// The wait spans the others, so it hides them.
		{"parallel, hidden", 0, 10, []Interval{{reserve, 0, 1, 3}, {submit, 0, 5, 6}, {wait, 1, 0, 10}}, []int64{0, 0, 10}, 0},
		// Back from 12: a gap to 9; the long submit of track 1 (3..9) hides the end
		// of reserve (0..5); the wait of track 2 (1..4) hides nothing more, since at 3
		// reserve ends later (5) than the wait (4).
		{"three tracks", 0, 12, []Interval{{reserve, 0, 0, 5}, {submit, 1, 3, 9}, {wait, 2, 1, 4}}, []int64{3, 6, 0}, 3},
		// A fan-out of three; the slowest is the critical one.
		{
			"fan-out", 0, 10,
			[]Interval{{submit, 0, 0, 2}, {wait, 1, 2, 5}, {wait, 2, 2, 9}, {wait, 3, 2, 7}, {reserve, 0, 9, 10}},
			[]int64{1, 2, 7},
			0,
		},
		// At 8 both end: the one that started first is charged.
		{"end together", 0, 8, []Interval{{wait, 1, 4, 8}, {submit, 0, 0, 8}}, []int64{0, 8, 0}, 0},
		// Same interval twice: the lower stage is charged.
		{"same times", 0, 8, []Interval{{wait, 0, 0, 8}, {submit, 1, 0, 8}}, []int64{0, 8, 0}, 0},
		{"clipped to the operation", 5, 10, []Interval{{submit, 0, 0, 7}, {wait, 1, 8, 20}}, []int64{0, 2, 2}, 1},
		{"undeclared and backwards aren't charged", 0, 10, []Interval{{9, 0, 0, 4}, {wait, 0, 9, 5}, {submit, 0, 6, 8}}, []int64{0, 2, 0}, 8},
		{"operation backwards", 10, 0, []Interval{{submit, 0, 0, 10}}, []int64{0, 0, 0}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := Timeline{storeSet, tt.from, tt.to, tt.ivs}.Critical()
			want := Breakdown{storeSet, 1, max(tt.to-tt.from, 0), tt.stages, tt.unattributed}
			if !reflect.DeepEqual(b, want) {
				t.Errorf("got %+v, want %+v", b, want)
			}
		})
	}
}

// anyTimeline returns a timeline that may be unsound in every way, with its
// operation from 0 to length.
func anyTimeline(rng *rand.Rand, length int64) Timeline {
	tl := Timeline{Set: storeSet, From: 0, To: length}
	for range rng.IntN(40) {
		from := rng.Int64N(length+20) - 10
		tl.Intervals = append(tl.Intervals, Interval{
			Stage: Stage(rng.IntN(4)), Track: Track(rng.IntN(3)), From: from, To: from + rng.Int64N(30) - 3,
		})
	}
	return tl
}

// The parts make the whole, the unattributed time is exactly that which no stage
// covers, and the order of the intervals doesn't matter.
func TestCriticalProperties(t *testing.T) {
	f := func(seed uint64) bool {
		rng := rand.New(rand.NewPCG(seed, 0))
		tl := anyTimeline(rng, 100)
		b := tl.Critical()
		sum := b.Unattributed
		for _, ns := range b.Stages {
			if ns < 0 {
				return false
			}
			sum += ns
		}
		uncovered := int64(0)
		for at := tl.From; at < tl.To; at++ {
			covered := false
			for _, iv := range tl.Intervals {
				covered = covered || iv.From <= at && at < iv.To && int(iv.Stage) < storeSet.Len()
			}
			if !covered {
				uncovered++
			}
		}
		rng.Shuffle(len(tl.Intervals), func(i, j int) { tl.Intervals[i], tl.Intervals[j] = tl.Intervals[j], tl.Intervals[i] })
		return sum == b.Total && b.Total == 100 && b.Unattributed == uncovered && reflect.DeepEqual(tl.Critical(), b)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

// A pause between two halves of an operation adds its length to the unattributed
// time and nothing to any stage.
func TestCriticalGap(t *testing.T) {
	f := func(seed uint64, pause uint16) bool {
		rng := rand.New(rand.NewPCG(seed, 0))
		const half = 100
		halves := [2]Timeline{anyTimeline(rng, half), anyTimeline(rng, half)}
		joined := func(gap int64) Breakdown {
			tl := Timeline{Set: storeSet, From: 0, To: 2*half + gap}
			for i, h := range halves {
				for _, iv := range h.Intervals {
					iv.From, iv.To = max(iv.From, 0), min(iv.To, half)
					shift := int64(i) * (half + gap)
					iv.From, iv.To = iv.From+shift, iv.To+shift
					tl.Intervals = append(tl.Intervals, iv)
				}
			}
			return tl.Critical()
		}
		without, with := joined(0), joined(int64(pause))
		return with.Unattributed == without.Unattributed+int64(pause) && reflect.DeepEqual(with.Stages, without.Stages)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}
