package metrics

import (
	"bytes"
	"reflect"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
)

func TestRequestNil(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(false), WithTimelines(func(Timeline) { t.Error("a timeline when off") }))
	q := r.Request()
	if q != nil || q.Track() != 0 || q.Start() != 0 {
		t.Errorf("when off: request %v, track %d, start %d", q, q.Track(), q.Start())
	}
	q.End(0, submit, 1)
	q.Add(0, submit, 0, 5)
	for _, tl := range []Timeline{q.Finish(), q.FinishAt(0, 5)} {
		if !reflect.DeepEqual(tl, Timeline{}) || tl.Check() != nil || tl.Critical().Ops != 0 {
			t.Errorf("when off: %+v", tl)
		}
	}
	if got := counts(r.Snapshot()); slices.Max(got) != 0 {
		t.Errorf("recorded when off: %v", got)
	}
}

func TestRequest(t *testing.T) {
	var sunk []Timeline
	r := NewRecorder(storeSet, WithSwitch(true), WithTimelines(func(tl Timeline) { sunk = append(sunk, tl) }))
	q := r.Request()
	m := q.Start()
	q.End(0, reserve, m)
	q.End(0, submit, 0) // its start came from a recorder that was off
	r.SetOn(false)      // the request is recorded to its end all the same
	m = q.Start()
	q.End(q.Track(), wait, m)
	tl := q.Finish()
	if err := tl.Check(); err != nil {
		t.Error(err)
	}
	if len(tl.Intervals) != 2 || tl.Intervals[0].Stage != reserve || tl.Intervals[1].Stage != wait || tl.Intervals[1].Track != 1 {
		t.Errorf("intervals %+v", tl.Intervals)
	}
	if len(sunk) != 1 || !reflect.DeepEqual(sunk[0], tl) {
		t.Errorf("the sink got %+v", sunk)
	}
	if got := counts(r.Snapshot()); !reflect.DeepEqual(got, []uint64{1, 0, 1}) {
		t.Errorf("counts %v, want 1 0 1", got)
	}

	before := slices.Clone(tl.Intervals)
	q.End(0, submit, m)
	if again := q.Finish(); !reflect.DeepEqual(again, Timeline{}) || len(sunk) != 1 || !slices.Equal(before, tl.Intervals) {
		t.Errorf("after Finish: %+v, %d timelines, intervals %+v", again, len(sunk), tl.Intervals)
	}
	if got := counts(r.Snapshot()); got[submit] != 1 {
		t.Errorf("a late stage was recorded %d times in its histogram, want 1", got[submit])
	}
}

func TestRequestModel(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(true))
	q := r.Request()
	q.Add(0, submit, 1000, 1400)
	q.Add(0, 9, 1400, 1500)
	tl := q.FinishAt(900, 1500)
	want := Timeline{storeSet, 900, 1500, []Interval{{submit, 0, 1000, 1400}, {9, 0, 1400, 1500}}}
	if !reflect.DeepEqual(tl, want) {
		t.Errorf("got %+v, want %+v", tl, want)
	}
	if d := r.Snapshot().Stages[submit].Dist; d.Sum() != 400 || r.Undeclared() != 1 {
		t.Errorf("submit took %d ns, want 400; %d undeclared, want 1", d.Sum(), r.Undeclared())
	}
}

func TestRequestConcurrent(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(true))
	q := r.Request()
	const goroutines, each = 8, 200
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			track := q.Track()
			for range each {
				q.End(track, wait, q.Start())
			}
		})
	}
	wg.Wait()
	tl := q.Finish()
	if err := tl.Check(); err != nil {
		t.Error(err)
	}
	tracks := map[Track]int{}
	for _, iv := range tl.Intervals {
		tracks[iv.Track]++
	}
	for track := Track(1); track <= goroutines; track++ {
		if tracks[track] != each {
			t.Errorf("track %d has %d intervals, want %d", track, tracks[track], each)
		}
	}
	if n := r.Snapshot().Stages[wait].Dist.Count(); n != goroutines*each {
		t.Errorf("%d records, want %d", n, goroutines*each)
	}
}

func TestRequestTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("a trace runs already (go test -trace)")
	}
	r := NewRecorder(NewStageSet("traced-set", "traced-stage"), WithSwitch(true))
	one := func() {
		q := r.Request()
		q.End(0, 0, q.Start())
		q.Finish()
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	one()
	trace.Stop()
	for _, want := range []string{"traced-set", "traced-stage"} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the trace doesn't hold %q", want)
		}
	}
	if one(); r.Request().task != nil {
		t.Error("a trace task without a trace")
	}
}
