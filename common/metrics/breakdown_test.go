package metrics

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
)

func twoOps() Breakdown {
	var b Breakdown
	b.Add(Timeline{storeSet, 0, 100, []Interval{{reserve, 0, 0, 10}, {wait, 0, 30, 100}}}.Critical())
	b.Add(Timeline{storeSet, 0, 100, []Interval{{submit, 0, 50, 95}}}.Critical())
	return b
}

func TestBreakdownAdd(t *testing.T) {
	one := Breakdown{storeSet, 1, 10, []int64{1, 2, 3}, 4}
	var sum Breakdown
	sum.Add(one)
	sum.Add(Breakdown{})
	sum.Add(one)
	if want := (Breakdown{storeSet, 2, 20, []int64{2, 4, 6}, 8}); !reflect.DeepEqual(sum, want) {
		t.Errorf("got %+v, want %+v", sum, want)
	}
	if one.Stages[0] != 1 {
		t.Error("adding changed what was added")
	}
	// Another set with the same names is the same set.
	sum.Add(Breakdown{NewStageSet("store", "reserve", "submit", "wait"), 1, 10, []int64{10, 0, 0}, 0})
	if sum.Ops != 3 || sum.Stages[reserve] != 12 {
		t.Errorf("got %+v", sum)
	}
	for _, set := range []*StageSet{NewStageSet("store", "a", "b", "c"), NewStageSet("other", "a")} {
		mustPanic(t, `added to one of "store"`, func() { sum.Add(Breakdown{Set: set, Ops: 1}) })
	}
}

func TestBreakdownText(t *testing.T) {
	var b strings.Builder
	if err := twoOps().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `
         store  ns/op  percent
       reserve    5.0      5.0
        submit   22.5     22.5
          wait   35.0     35.0
  unattributed   37.5     37.5
         total  100.0    100.0
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got%swant%s", got, want)
	}
}

func TestBreakdownJSON(t *testing.T) {
	got, err := json.Marshal(twoOps())
	want := `{"set":"store","ops":2,"ns_op":100,"stages":[` +
		`{"stage":"reserve","ns_op":5,"percent":5},{"stage":"submit","ns_op":22.5,"percent":22.5},` +
		`{"stage":"wait","ns_op":35,"percent":35},{"stage":"unattributed","ns_op":37.5,"percent":37.5}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	got, err = json.Marshal(Breakdown{})
	if want := `{"set":"","ops":0,"ns_op":0,"stages":[{"stage":"unattributed","ns_op":0,"percent":0}]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

type reported map[string]float64

func (r reported) ReportMetric(n float64, unit string) { r[unit] = n }

func TestBreakdownReport(t *testing.T) {
	got := reported{}
	Breakdown{Set: storeSet, Stages: []int64{0, 0, 0}}.Report(got)
	if len(got) != 0 {
		t.Errorf("reported %v without operations", got)
	}
	twoOps().Report(got)
	want := reported{"reserve-ns/op": 5, "submit-ns/op": 22.5, "wait-ns/op": 35, "unattributed-ns/op": 37.5}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
