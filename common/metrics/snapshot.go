package metrics

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// ErrSet occurs when snapshots of different stage sets are merged.
var ErrSet = errors.New("stage sets differ")

// Snapshot holds the distributions of a recorder's stages at one moment. It is
// a plain value and round-trips through JSON.
type Snapshot struct {
	Set    string      `json:"set"`
	Stages []StageDist `json:"stages"`
}

// StageDist is the distribution of one stage.
type StageDist struct {
	Name string `json:"name"`
	Dist Dist   `json:"dist"`
}

// Merge adds the records of o to s. The zero Snapshot takes any o. Otherwise
// both must be of one stage set: if not, s stays as it was and the error wraps
// [ErrSet].
func (s *Snapshot) Merge(o Snapshot) error {
	if s.Set == "" && len(s.Stages) == 0 {
		s.Set, s.Stages = o.Set, append([]StageDist(nil), o.Stages...)
		return nil
	}
	if s.Set != o.Set || len(s.Stages) != len(o.Stages) {
		return fmt.Errorf("metrics: merge of snapshot %q (%d stages) into %q (%d stages): %w; merge snapshots of one StageSet only",
			o.Set, len(o.Stages), s.Set, len(s.Stages), ErrSet)
	}
	for i := range s.Stages {
		if s.Stages[i].Name != o.Stages[i].Name {
			return fmt.Errorf("metrics: merge of snapshot %q: stage %d is %q there and %q here: %w; merge snapshots of one StageSet only",
				o.Set, i, o.Stages[i].Name, s.Stages[i].Name, ErrSet)
		}
	}
	// A new slice, since copies of s may share the old one.
	merged := append([]StageDist(nil), s.Stages...)
	for i := range merged {
		merged[i].Dist.Merge(o.Stages[i].Dist)
	}
	s.Stages = merged
	return nil
}

// WriteText writes a table with a row a stage: count, mean, median, 99th
// percentile and largest value. It returns the error of w.
func (s Snapshot) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tcount\tmean\tp50\tp99\tmax\t\n", s.Set)
	for _, st := range s.Stages {
		d := st.Dist
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t\n", st.Name, d.Count(), short(int64(d.Mean())),
			short(d.Quantile(0.5)), short(d.Quantile(0.99)), short(d.Max()))
	}
	return t.Flush()
}

// short writes ns as a duration of about four digits.
func short(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 10000*unit {
			return ascii(d.Round(unit))
		}
	}
	return ascii(d.Round(time.Second))
}

// ascii writes a duration with "us", since "µs" breaks benchmark names.
func ascii(d time.Duration) string { return strings.ReplaceAll(d.String(), "µs", "us") }
