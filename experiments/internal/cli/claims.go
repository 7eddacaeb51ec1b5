package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"latlab.example/experiments/claims"
)

func newClaims(e env) *cobra.Command {
	var asJSON, markdown bool
	var from []string
	cmd := &cobra.Command{
		Use:   "claims [CASE]",
		Short: "Set what the studies claim beside its audit, its models and measurements",
		Long: `Claims shows, for each claim of a study, the figures as published, what their
audit says, what came out here, modelled and measured, and the verdict of either.
It reads the newest result of each experiment and rig that latlab run wrote, and
says which run is missing. An arm that isn't named in a claim's rule is at its
baseline.

A verdict is by where the interval of the effect lies: holds, fails, inconclusive,
or not measurable here. Where rigs of one provenance disagree it is inconclusive:
the claim rests on what the rigs assume.

Calibrations that were made with latlab calibrate CASE --compare are shown at the
end: predicted against measured, with the residuals.`,
		Example: `  latlab claims rawblock
  latlab claims --markdown`,
		Args: cobra.MatchAll(func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes the name of at most one case, but got %d; see %s --help", cmd.Name(), len(args), cmd.CommandPath())
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && markdown {
				return usagef("--json and --markdown: choose one")
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			study, err := claims.Load()
			if err != nil {
				return err
			}
			if err := study.CheckCase(name); err != nil {
				return usageError{err}
			}
			found, err := claims.ReadResults(from...)
			if err != nil {
				return err
			}
			for _, note := range found.Notes {
				fmt.Fprintln(e.err, note)
			}
			entries, err := study.Ledger(cmd.Context(), e.experiments, found, name)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return claims.WriteJSON(e.out, entries)
			case markdown:
				return errors.Join(claims.WriteMarkdown(e.out, entries), claims.WritePredictionsMarkdown(e.out, found.Predictions, name))
			}
			if err := claims.WriteText(e.out, entries); err != nil {
				return err
			}
			return claims.WritePredictions(e.out, found.Predictions, name)
		},
	}
	cmd.Flags().StringSliceVar(&from, "from", []string{"results", "experiments/reference"}, "folders with result files; the models' committed ones are in a clone")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a Markdown table")
	return cmd
}
