package lab

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
)

// Config is the result's configuration in the Go benchmark format: one
// `key: value` line each. Stock benchstat compares only results whose
// configuration is equal, so it holds provenance and where it ran, and no more.
func (s Stamp) Config() string {
	host := s.Host
	if host == "" {
		host = "virtual-time" // an empty value would drop the key
	}
	return fmt.Sprintf("provenance: %s\nrig: %s\nhost: %s\nexperiment: %s\n", s.Provenance, s.Rig, host, s.Experiment)
}

// Metadata is the unit's line in the Go benchmark format.
func (u Unit) Metadata() string {
	line := "Unit " + u.Name
	switch u.Better {
	case Down:
		line += " better=lower"
	case Up:
		line += " better=higher"
	}
	if u.Exact {
		line += " assume=exact"
	}
	return line + "\n"
}

// Line is the result as one line of the Go benchmark format, without the
// newline: name, operations, ns/op, outcomes in the experiment's order, then
// the mean critical-path time of each stage.
func (r Result) Line() string {
	var s strings.Builder
	s.WriteString(r.bench)
	if arm := r.arm.String(); arm != "" {
		s.WriteString("/" + arm)
	}
	fmt.Fprintf(&s, "-%d\t%d", runtime.GOMAXPROCS(0), r.ops)
	figure := func(v float64, unit string) {
		s.WriteString("\t" + strconv.FormatFloat(v, 'g', -1, 64) + " " + unit)
	}
	figure(float64(r.took.Nanoseconds())/float64(r.ops), "ns/op")
	for _, u := range r.units {
		if v, ok := r.obs[u.Name]; ok {
			figure(v, u.Name)
		}
	}
	r.path.Report(reportFunc(func(v float64, unit string) { figure(v, unit) }))
	return s.String()
}

type reportFunc func(float64, string)

func (f reportFunc) ReportMetric(v float64, unit string) { f(v, unit) }

// WriteResults writes results in the Go benchmark format. A configuration is
// written again where it changes. Given the same results it writes the same bytes.
func WriteResults(w io.Writer, results []Result) error {
	var s strings.Builder
	seen := make(map[string]bool)
	config := ""
	for _, r := range results {
		for _, u := range r.units {
			if !seen[u.Name] {
				seen[u.Name] = true
				s.WriteString(u.Metadata())
			}
		}
		if c := r.stamp.Config(); c != config {
			config = c
			s.WriteString("\n" + c + "\n")
		}
		s.WriteString(r.Line() + "\n")
	}
	_, err := io.WriteString(w, s.String())
	return err
}
