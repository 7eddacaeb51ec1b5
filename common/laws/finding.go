package laws

import (
	"fmt"
	"io"
	"strings"
)

// Grade says how much weight a finding has.
type Grade string

const (
	// Must is what follows from the figures: it is true if they are.
	Must Grade = "must be true"
	// Impossible is a contradiction: the figures can't all be true of one
	// steady run, whatever the system is.
	Impossible Grade = "impossible"
	// Implausible is what could be, but only under the assumption that the
	// finding names.
	Implausible Grade = "implausible"
)

// Finding is one thing that follows from figures.
type Finding struct {
	Grade Grade  `json:"grade"`
	Law   string `json:"law"`  // the law used, as a formula or a name
	Text  string `json:"text"` // a sentence for people
	// Assumes is what else has to hold: for Must, what the conclusion rests on;
	// for Implausible, what would explain the figures. Often empty.
	Assumes string `json:"assumes,omitempty"`
	// Value is the number that Text speaks of, in Unit: seconds ("s"), a share
	// ("1") or a count ("requests", "users", "servers", "1/s").
	Value Interval `json:"value"`
	Unit  string   `json:"unit"`
}

// String is the finding as one paragraph.
func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s [%s]", f.Grade, f.Text, f.Law)
	switch {
	case f.Assumes == "":
	case f.Grade == Implausible:
		s += " It would need: " + f.Assumes + "."
	default:
		s += " Provided that " + f.Assumes + "."
	}
	return s
}

// WriteText writes the findings as a list, a paragraph each: what is impossible
// first, then what is implausible, then what must be true. It returns the error
// of w.
func WriteText(w io.Writer, findings []Finding) error {
	var b strings.Builder
	for _, g := range []Grade{Impossible, Implausible, Must} {
		for _, f := range findings {
			if f.Grade == g {
				fmt.Fprintf(&b, "- %v\n", f)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// seconds writes a time of so many seconds in a unit that suits it.
func seconds(i Interval) string {
	unit, factor := "s", 1.0
	switch m := max(i.Hi, -i.Lo); {
	case m < 1e-6:
		unit, factor = "ns", 1e9
	case m < 1e-3:
		unit, factor = "us", 1e6
	case m < 1:
		unit, factor = "ms", 1e3
	}
	scaled := i.Mul(Exact(factor))
	text := scaled.String()
	if value, bounds, ok := strings.Cut(text, " ("); ok {
		return value + " " + unit + " (" + bounds
	}
	return text + " " + unit
}

// percent writes a share.
func percent(i Interval) string {
	text := i.Mul(Exact(100)).String()
	if value, bounds, ok := strings.Cut(text, " ("); ok {
		return value + " % (" + bounds
	}
	return text + " %"
}
