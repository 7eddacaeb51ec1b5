package param

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText writes a row a parameter: name, value, range, source, and what it is.
// It returns the error of w.
func (t Table) WriteText(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "parameter\tvalue\trange\tsource\twhat it is")
	for _, p := range t.params {
		between := "-"
		if p.Lo != p.Hi {
			between = p.Unit.format(p.Lo) + ".." + p.Unit.format(p.Hi)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%v\t%s\n", p.Name, p.Text(), between, p.Source, p.What)
	}
	return tab.Flush()
}

// MarshalJSON writes an array with an object a parameter. Values are numbers in
// the base unit, and text beside it.
func (t Table) MarshalJSON() ([]byte, error) {
	type row struct {
		Name   string `json:"name"`
		Value  int64  `json:"value"`
		Text   string `json:"text"`
		Unit   string `json:"unit"`
		Lo     int64  `json:"lo"`
		Hi     int64  `json:"hi"`
		Kind   string `json:"kind"`
		Source string `json:"source"`
		What   string `json:"what"`
	}
	rows := make([]row, 0, len(t.params))
	for _, p := range t.params {
		rows = append(rows, row{p.Name, p.Value, p.Text(), p.Unit.String(), p.Lo, p.Hi, p.Source.Kind.String(), p.Source.Text, p.What})
	}
	return json.Marshal(rows)
}

// WriteTornado writes a row a bar: the parameter, the outcome at both ends of its
// range against the base, and the parameter's source. It returns the error of w.
func WriteTornado(w io.Writer, base float64, bars []Bar) error {
	fmt.Fprintf(w, "the outcome is %.4g\n", base)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "parameter\tfrom\tto\toutcome at from\tat to\tsource")
	for _, b := range bars {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%.4g\t%.4g\t%v\n", b.Param.Name, b.Param.Unit.format(b.Param.Lo), b.Param.Unit.format(b.Param.Hi), b.AtLo, b.AtHi, b.Param.Source.Kind)
	}
	return tab.Flush()
}
