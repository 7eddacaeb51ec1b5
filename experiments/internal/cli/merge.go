package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"latlab.example/experiments/report"
	"latlab.example/experiments/results"
)

func newMerge(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "merge RESULT RESULT...",
		Short: "Join what several load machines measured of one server at the same time",
		Long: `Merge takes measured results of one experiment from several machines, started
together with one --seed, and so in one order. Trials that didn't run at the same
time on all of them are dropped and counted. Each machine's figures are kept in a
column of its own; rates, whose unit ends in /s, also have their sum. Times aren't
added or averaged.

The machines' clocks must agree to a small part of a trial, as with NTP.`,
		Example: `  latlab merge hostA/run.json hostB/run.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("merge takes two result files or more, but got %d; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var files []results.Stored
			for _, path := range args {
				f, err := results.ReadMetaFile(path)
				if err != nil {
					return err
				}
				files = append(files, f)
			}
			m, err := results.Merge(files)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(e.out, m)
			}
			return merged(e, m)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func merged(e env, m results.Merged) error {
	fmt.Fprintf(e.out, "%s on rig %s: %s by %d machines at the same time\n\n", m.Experiment, m.Rig, strings.ToUpper(m.Provenance), len(m.Hosts))
	rows := [][]string{append(append([]string{"provenance", "unit", "arm", "blocks"}, m.Hosts...), "together")}
	for _, a := range m.Arms {
		for _, f := range a.Figures {
			row := []string{m.Provenance, f.Unit.Name, strings.ReplaceAll(a.Arm, "/", " "), fmt.Sprint(a.Blocks)}
			for _, s := range f.Hosts {
				row = append(row, report.Summary(f.Unit, s))
			}
			together := "-"
			if f.Together != nil {
				together = report.Summary(f.Unit, *f.Together)
			}
			rows = append(rows, append(row, together))
		}
	}
	if err := writeTable(e.out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.out, "%d trials dropped: they didn't run on all machines for %.0f %% of the longest at once\n", m.Dropped, 100*results.Overlap)
	return err
}
