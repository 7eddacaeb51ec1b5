package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	aerospike "latlab.example/aerospike/fake"
)

func newFake(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fake",
		Short: "Run a case's fake server for any client",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("no fake %q; see latlab fake --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:                "aerospike [FLAGS]",
		Short:              "Run an Aerospike cluster in memory until it is interrupted; -h lists its flags",
		DisableFlagParsing: true, // the fake has its own
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			err := aerospike.Serve(ctx, e.out, args...)
			switch {
			case errors.Is(err, aerospike.ErrUsage):
				return usagef("fake aerospike: %w", err)
			case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
				return nil // it was asked to end
			case err != nil:
				return fmt.Errorf("fake aerospike: %w", err)
			}
			return nil
		},
	})
	return cmd
}
