package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Breakdown says where the time of Ops operations went: nanoseconds on the
// critical path, summed. Total is always the sum of Stages and Unattributed. It
// isn't for use by several goroutines while one adds to it.
type Breakdown struct {
	Set          *StageSet
	Ops          int
	Total        int64
	Stages       []int64 // by Stage
	Unattributed int64
}

// Add adds the operations of o to b. A Breakdown without a set adds nothing, and
// takes the set of the first that is added to it. It panics when both have a set
// and the sets differ, which is an error in the program.
func (b *Breakdown) Add(o Breakdown) {
	if o.Set == nil {
		return
	}
	if b.Set == nil {
		o.Stages = slices.Clone(o.Stages)
		*b = o
		return
	}
	if !b.Set.same(o.Set) {
		panic(fmt.Sprintf("metrics: breakdown of stage set %q added to one of %q", o.Set.Name(), b.Set.Name()))
	}
	b.Ops += o.Ops
	b.Total += o.Total
	for i, ns := range o.Stages {
		b.Stages[i] += ns
	}
	b.Unattributed += o.Unattributed
}

// Row is a line of a breakdown: what a stage (or [Unattributed]) took, in
// nanoseconds an operation, and its part of the whole in percent.
type Row struct {
	Stage   string  `json:"stage"`
	NsOp    float64 `json:"ns_op"`
	Percent float64 `json:"percent"`
}

// Rows returns a row a stage, in their order, and the unattributed one last.
func (b Breakdown) Rows() []Row {
	rows := make([]Row, 0, len(b.Stages)+1)
	for i, ns := range b.Stages {
		rows = append(rows, b.row(b.Set.Stage(Stage(i)), ns))
	}
	return append(rows, b.row(Unattributed, b.Unattributed))
}

func (b Breakdown) row(name string, ns int64) Row {
	r := Row{Stage: name}
	if b.Ops > 0 {
		r.NsOp = float64(ns) / float64(b.Ops)
	}
	if b.Total > 0 {
		r.Percent = 100 * float64(ns) / float64(b.Total)
	}
	return r
}

// WriteText writes a table with a row a stage, one for the unattributed time and
// one for the whole. It returns the error of w.
func (b Breakdown) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tns/op\tpercent\t\n", b.Set.Name())
	for _, r := range append(b.Rows(), b.row("total", b.Total)) {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t\n", r.Stage, r.NsOp, r.Percent)
	}
	return t.Flush()
}

// MarshalJSON writes the set, the operations, the whole in nanoseconds an
// operation, and the rows.
func (b Breakdown) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Set    string  `json:"set"`
		Ops    int     `json:"ops"`
		NsOp   float64 `json:"ns_op"`
		Stages []Row   `json:"stages"`
	}{b.Set.Name(), b.Ops, b.row("", b.Total).NsOp, b.Rows()})
}

// Report gives the rows to a benchmark (a *testing.B) in units such as
// "reserve-ns/op" and "unattributed-ns/op". Without operations it reports
// nothing.
func (b Breakdown) Report(to interface {
	ReportMetric(n float64, unit string)
},
) {
	if b.Ops == 0 {
		return
	}
	for _, r := range b.Rows() {
		to.ReportMetric(r.NsOp, r.Stage+"-ns/op")
	}
}
