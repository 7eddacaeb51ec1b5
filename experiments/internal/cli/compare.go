package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"latlab.example/experiments/report"
	"latlab.example/experiments/results"
	"latlab.example/experiments/stats"
)

func newCompare(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "compare A.txt B.txt",
		Short: "Set two result files of one experiment, rig and host side by side",
		Long: `Compare shows the medians of each arm in both files with their intervals, the
change from A to B, and the p of a Mann-Whitney U test, not corrected for the
number of rows. It refuses a modelled file against a measured one.`,
		Args: exactly(2, "two result files"),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := results.ReadFile(args[0])
			if err != nil {
				return err
			}
			b, err := results.ReadFile(args[1])
			if err != nil {
				return err
			}
			return compare(e, a, b)
		},
	}
}

// errDiffer occurs when two files are of different experiments, rigs or hosts.
var errDiffer = errors.New("can't be compared")

func comparable(a, b results.File) error {
	where := fmt.Sprintf("compare %s with %s", a.Path, b.Path)
	ca, cb := a.Config, b.Config
	switch {
	case ca.Provenance != cb.Provenance:
		return fmt.Errorf("%s: %w: the first is %s, the second %s; compare within one provenance", where, stats.ErrMixed, ca.Provenance, cb.Provenance)
	case ca.Experiment != cb.Experiment:
		return fmt.Errorf("%s: %w: one is of experiment %s, the other of %s; compare runs of one experiment", where, errDiffer, ca.Experiment, cb.Experiment)
	case ca.Host != cb.Host:
		return fmt.Errorf("%s: %w: one is from host %s, the other from %s; compare runs of one host", where, errDiffer, ca.Host, cb.Host)
	case ca.Rig != cb.Rig:
		return fmt.Errorf("%s: %w: one is from rig %s, the other from %s; compare runs of one rig", where, errDiffer, ca.Rig, cb.Rig)
	}
	return nil
}

func compare(e env, a, b results.File) error {
	if err := comparable(a, b); err != nil {
		return err
	}
	names, common := shortNames(append(append([]string{}, a.Names...), b.Names...))
	rows := [][]string{{"provenance", "unit", "arm", "A", "B", "change", "p"}}
	var alone []string
	for _, u := range a.Units {
		for _, name := range a.Names {
			sa, sb := a.Sample(name, u), b.Sample(name, u)
			if len(sa.Values) == 0 {
				continue
			}
			if len(sb.Values) == 0 {
				alone = append(alone, fmt.Sprintf("only in A: %s %s", names[name], u.Name))
				continue
			}
			c, err := stats.Compare(sa, sb)
			if err != nil {
				return err
			}
			rows = append(rows, []string{
				a.Config.Provenance.String(), u.Name, names[name], report.Summary(u, c.A), report.Summary(u, c.B),
				report.Percent(c.Change()), report.P(c.P),
			})
		}
	}
	for _, name := range b.Names {
		for _, u := range b.Units {
			if len(b.Sample(name, u).Values) > 0 && len(a.Sample(name, u).Values) == 0 {
				alone = append(alone, fmt.Sprintf("only in B: %s %s", names[name], u.Name))
			}
		}
	}
	if len(rows) == 1 {
		return fmt.Errorf("compare %s with %s: %w: they have no arm and unit in common", a.Path, b.Path, errDiffer)
	}
	fmt.Fprintf(e.out, "%s on rig %s, host %s: %s\nA  %s\nB  %s\nboth  %s\n\n", a.Config.Experiment, a.Config.Rig, a.Config.Host,
		strings.ToUpper(a.Config.Provenance.String()), a.Path, b.Path, common)
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	for _, line := range alone {
		fmt.Fprintln(e.out, line)
	}
	return nil
}

// shortNames leaves out of benchmark names the parts that all have, and returns
// those as one text.
func shortNames(all []string) (names map[string]string, common string) {
	count := make(map[string]int)
	seen := make(map[string]bool)
	for _, name := range all {
		if !seen[name] {
			seen[name] = true
			for _, part := range strings.Split(name, "/") {
				count[part]++
			}
		}
	}
	names = make(map[string]string)
	for name := range seen {
		var own, shared []string
		for _, part := range strings.Split(name, "/") {
			if count[part] == len(seen) {
				shared = append(shared, part)
			} else {
				own = append(own, part)
			}
		}
		if len(own) == 0 {
			own = []string{"-"}
		}
		names[name], common = strings.Join(own, " "), strings.Join(shared, " ")
	}
	return names, common
}
