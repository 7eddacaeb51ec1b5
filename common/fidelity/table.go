package fidelity

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Status is what is known of one row.
type Status string

// The three of them.
const (
	Equal   Status = "equal"
	Differs Status = "differs"
	Unknown Status = "unknown"
)

// Row is one fact, on both sides. An empty value is unknown.
type Row struct {
	Name       string `json:"name"`
	Production string `json:"production"`
	Here       string `json:"here"`
	Status     Status `json:"status"`
	Why        string `json:"why,omitempty"` // as declared; else where it was read
}

// Table is what differs from production: declared rows in their order, then what
// was only read here.
type Table []Row

// Compare holds what was read beside what was declared. Declared facts come from
// Parse.
func Compare(declared, here Facts) Table {
	var t Table
	for _, d := range declared {
		h, _ := here.Get(d.Name)
		r := Row{Name: d.Name, Production: d.Value, Here: h.Value, Status: Unknown, Why: d.Why}
		if r.Why == "" {
			r.Why = h.Why
		}
		if d.Value != "" && h.Value != "" {
			r.Status = Differs
			if ok, err := matches(d.Value, h.Value); err == nil && ok {
				r.Status = Equal
			}
		}
		t = append(t, r)
	}
	for _, h := range here {
		if _, ok := declared.Get(h.Name); !ok {
			t = append(t, Row{Name: h.Name, Here: h.Value, Status: Unknown, Why: h.Why})
		}
	}
	return t
}

// Count is how many rows have that status.
func (t Table) Count(s Status) (n int) {
	for _, r := range t {
		if r.Status == s {
			n++
		}
	}
	return n
}

// String is a line such as "3 equal, 5 differ (cores, fsync, ...), 2 unknown".
func (t Table) String() string {
	var names []string
	for _, r := range t {
		if r.Status == Differs {
			names = append(names, r.Name)
		}
	}
	list := ""
	if len(names) > 0 {
		list = " (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf("%d equal, %d differ%s, %d unknown", t.Count(Equal), len(names), list, t.Count(Unknown))
}

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// WriteText writes the table in columns. It returns the error of w.
func (t Table) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "fact\tproduction\there\t\twhy") // tw keeps its error for Flush
	for _, r := range t {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r.Name, orUnknown(r.Production), orUnknown(r.Here), r.Status, r.Why)
	}
	return tw.Flush()
}

// WriteMarkdown writes the table for a page. It returns the error of w.
func (t Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| fact | production | here | | why |\n|---|---|---|---|---|\n")
	for _, r := range t {
		b.WriteString("|")
		for _, cell := range []string{r.Name, orUnknown(r.Production), orUnknown(r.Here), string(r.Status), r.Why} {
			cell = strings.ReplaceAll(cell, "|", `\|`)
			if !utf8.ValidString(cell) {
				cell = strings.ToValidUTF8(cell, "?")
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
