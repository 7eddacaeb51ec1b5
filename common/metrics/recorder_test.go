package metrics

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

var storeSet = NewStageSet("store", "reserve", "submit", "wait")

const (
	reserve Stage = iota
	submit
	wait
)

func counts(s Snapshot) []uint64 {
	var n []uint64
	for _, st := range s.Stages {
		n = append(n, st.Dist.Count())
	}
	return n
}

func TestRecorder(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(true))
	if r.Set() != storeSet {
		t.Error("another set")
	}
	r.End(submit, r.Start())
	r.Observe(wait, 5*time.Millisecond)
	r.Observe(wait, -5)
	if got := counts(r.Snapshot()); !reflect.DeepEqual(got, []uint64{0, 1, 2}) {
		t.Errorf("counts %v, want 0 1 2", got)
	}
	if d := r.Snapshot().Stages[wait].Dist; d.Max() != 5e6 || d.Min() != 0 {
		t.Errorf("wait from %d to %d", d.Min(), d.Max())
	}
	r.End(7, r.Start())
	r.Observe(200, 1)
	if r.Undeclared() != 2 {
		t.Errorf("%d undeclared, want 2", r.Undeclared())
	}
	r.Reset()
	if got := counts(r.Snapshot()); !reflect.DeepEqual(got, []uint64{0, 0, 0}) || r.Undeclared() != 0 || !r.On() {
		t.Errorf("after Reset: counts %v, %d undeclared, on %v", got, r.Undeclared(), r.On())
	}
}

func TestRecorderOff(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(false))
	if m := r.Start(); m != 0 {
		t.Errorf("mark %d when off", m)
	}
	r.End(submit, 0)
	r.End(99, 0)
	r.Observe(submit, 1)
	r.SetOn(true)
	r.End(submit, 0) // started when off
	if got := counts(r.Snapshot()); !reflect.DeepEqual(got, []uint64{0, 0, 0}) || r.Undeclared() != 0 {
		t.Errorf("recorded when off: %v, %d undeclared", got, r.Undeclared())
	}
	m := r.Start()
	r.SetOn(false)
	r.End(submit, m) // started when on
	if got := counts(r.Snapshot()); !reflect.DeepEqual(got, []uint64{0, 1, 0}) {
		t.Errorf("counts %v, want 0 1 0: a pair is whole", got)
	}
}

// The bar of the design: no allocation, on or off.
func TestAllocations(t *testing.T) {
	for _, on := range []bool{false, true} {
		r := NewRecorder(storeSet, WithSwitch(on))
		pair := func() { r.End(submit, r.Start()) }
		pair() // makes the shard
		// Averaged and rounded down, so that a shard for another P doesn't count.
		if n := testing.AllocsPerRun(1000, pair); n != 0 {
			t.Errorf("on=%v: %v allocations for a pair", on, n)
		}
		if n := testing.AllocsPerRun(1000, func() { defer r.End(submit, r.Start()) }); n != 0 {
			t.Errorf("on=%v: %v allocations for a deferred pair", on, n)
		}
	}
	r := NewRecorder(storeSet, WithSwitch(false))
	if n := testing.AllocsPerRun(1000, func() {
		q := r.Request()
		q.End(q.Track(), submit, q.Start())
		q.Finish()
	}); n != 0 {
		t.Errorf("%v allocations for a request when off", n)
	}
}

func TestSnapshotText(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(true))
	for i := range 100 {
		r.Observe(reserve, time.Duration(i+1))
		r.Observe(wait, time.Duration(i+1)*time.Millisecond)
	}
	r.Observe(submit, 3*time.Hour+1234*time.Millisecond)
	var b strings.Builder
	if err := r.Snapshot().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `
    store  count    mean      p50      p99     max
  reserve    100    50ns     50ns     99ns   100ns
   submit      1  3h0m0s   3h0m0s   3h0m0s  3h0m0s
     wait    100  50.5ms  49.94ms  98.83ms   100ms
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

func TestSnapshotJSONAndMerge(t *testing.T) {
	r := NewRecorder(storeSet, WithSwitch(true))
	r.Observe(submit, 1500)
	s := r.Snapshot()
	text, err := json.Marshal(s)
	var back Snapshot
	if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(s, back) {
		t.Fatalf("%s comes back as %+v (%v)", text, back, err)
	}
	copied := s
	if err := s.Merge(back); err != nil {
		t.Fatal(err)
	}
	if got := counts(s); !reflect.DeepEqual(got, []uint64{0, 2, 0}) {
		t.Errorf("counts %v, want 0 2 0", got)
	}
	if got := counts(copied); !reflect.DeepEqual(got, []uint64{0, 1, 0}) {
		t.Errorf("merging changed a copy: counts %v", got)
	}
	var zero Snapshot
	if err := zero.Merge(s); err != nil || !reflect.DeepEqual(zero, s) {
		t.Errorf("merge into the zero Snapshot: %+v, %v", zero, err)
	}
	for _, other := range []*StageSet{
		NewStageSet("device", "reserve", "submit", "wait"),
		NewStageSet("store", "reserve", "submit"),
		NewStageSet("store", "reserve", "submit", "sync"),
	} {
		if err := s.Merge(NewRecorder(other).Snapshot()); !errors.Is(err, ErrSet) || !reflect.DeepEqual(counts(s), []uint64{0, 2, 0}) {
			t.Errorf("merge of %s: error %v, counts %v", other.Name(), err, counts(s))
		}
	}
}
