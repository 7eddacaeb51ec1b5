package results

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/lab"
)

// machine is what one load machine measured: trials of a second each, begun late.
func machine(name string, late time.Duration, rate float64) Stored {
	m := Meta{
		Experiment: "toy/load", Rig: "server", Kind: "real", Provenance: lab.Measured.String(), HostID: name, Seed: 7,
		Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(late),
		Units: []Unit{{Name: "sec/op", Better: "down"}, {Name: "req/s", Better: "up"}},
	}
	for _, arm := range []string{"pool=10", "pool=15"} {
		a := Arm{Arm: arm}
		for b := range 6 {
			start := time.Duration(b) * 2 * time.Second
			a.Trials = append(a.Trials, Trial{Block: b, Start: start, End: start + time.Second, Ops: 1, Values: map[string]float64{"sec/op": 0.01, "req/s": rate}})
		}
		m.Arms = append(m.Arms, a)
	}
	return Stored{name + ".json", m}
}

func TestMergeAddsRatesOnly(t *testing.T) {
	m, err := Merge([]Stored{machine("a", 0, 100), machine("b", 100*time.Millisecond, 30)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Hosts, []string{"a", "b"}) || len(m.Arms) != 2 || m.Dropped != 0 || m.Arms[0].Blocks != 6 {
		t.Fatalf("%+v", m)
	}
	sec, rate := m.Arms[0].Figures[0], m.Arms[0].Figures[1]
	if sec.Together != nil || sec.Hosts[1].Mid != 0.01 {
		t.Errorf("times: %+v, want none together", sec)
	}
	if rate.Together == nil || rate.Together.Mid != 130 || rate.Hosts[0].Mid != 100 || rate.Hosts[1].Mid != 30 {
		t.Errorf("rates: %+v, want 130 together", rate)
	}
}

func TestMergeCountsOverlapOnly(t *testing.T) {
	b := machine("b", 0, 30)
	for i := range b.Meta.Arms[0].Trials[:2] { // these run half a trial later
		b.Meta.Arms[0].Trials[i].Start += 500 * time.Millisecond
		b.Meta.Arms[0].Trials[i].End += 500 * time.Millisecond
	}
	b.Meta.Arms[1].Trials = b.Meta.Arms[1].Trials[:3]
	m, err := Merge([]Stored{machine("a", 0, 100), b})
	if err != nil {
		t.Fatal(err)
	}
	if m.Arms[0].Blocks != 4 || m.Arms[1].Blocks != 3 || m.Dropped != 4+3 {
		t.Errorf("blocks %d and %d, %d dropped; want 4, 3 and 7", m.Arms[0].Blocks, m.Arms[1].Blocks, m.Dropped)
	}
}

func TestMergeRefuses(t *testing.T) {
	seed := machine("b", 0, 1)
	seed.Meta.Seed = 8
	model := machine("b", 0, 1)
	model.Meta.Provenance = lab.Modelled.String()
	other := machine("b", 0, 1)
	other.Meta.Experiment = "toy/other"
	for want, second := range map[string]Stored{
		"with one --seed":         seed,
		"it is modelled":          model,
		"toy/other":               other,
		"the same run as":         machine("a", 0, 1),
		"start the runs together": machine("b", time.Hour, 1),
	} {
		if _, err := Merge([]Stored{machine("a", 0, 100), second}); !errors.Is(err, ErrMerge) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	if _, err := Merge([]Stored{machine("a", 0, 100)}); !errors.Is(err, ErrMerge) {
		t.Errorf("one file: %v", err)
	}
}
