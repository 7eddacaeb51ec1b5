package metrics

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClockIsVirtualInBubble(t *testing.T) {
	r := NewRecorder(NewStageSet("x", "wait"), WithSwitch(true))
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		m := r.Start()
		q := r.Request()
		w := q.Start()
		time.Sleep(24 * time.Hour)
		q.End(0, 0, w)
		if tl := q.Finish(); tl.To-tl.From != int64(24*time.Hour) || tl.Check() != nil {
			t.Errorf("request took %d ns; %v", tl.To-tl.From, tl.Check())
		}
		r.End(0, m)
	})
	if took := time.Since(began); took > time.Hour {
		t.Fatalf("a virtual day took %v", took)
	}
	d := r.Snapshot().Stages[0].Dist
	if day := int64(24 * time.Hour); d.Count() != 2 || d.Min() != day || d.Max() != day {
		t.Errorf("%d records from %d to %d ns, want 2 of a day exactly", d.Count(), d.Min(), d.Max())
	}
}

func TestClockRises(t *testing.T) {
	last := Mark(0)
	for range 1000 {
		m := now()
		if m <= 0 || m < last {
			t.Fatalf("mark %d after %d", m, last)
		}
		last = m
	}
}
