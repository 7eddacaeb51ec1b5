package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	predict "latlab.example/aerospike/app"
	aerospike "latlab.example/aerospike/fake"
	coldfetchapp "latlab.example/coldfetch/app"
	s3 "latlab.example/coldfetch/fake"
	spatialapp "latlab.example/spatial/app"
	postgis "latlab.example/spatial/fake"
)

// server is something of a case's that runs until it is interrupted. It has flags
// of its own; usage is the error of those that it can't understand.
type server struct {
	name, short string
	serve       func(ctx context.Context, out io.Writer, args ...string) error
	usage       error
}

func newFake(e env) *cobra.Command {
	return newServers(e, "fake", "Run a case's fake server for any client",
		server{"aerospike", "Run an Aerospike cluster in memory", aerospike.Serve, aerospike.ErrUsage},
		server{"postgis", "Run a PostgreSQL with PostGIS in memory", postgis.Serve, postgis.ErrUsage},
		server{"s3", "Run an S3 store in memory", s3.Serve, s3.ErrUsage},
	)
}

func newApp(e env) *cobra.Command {
	return newServers(e, "app", "Run a case's service for any load tool",
		server{"coldfetch", "Run the document service behind its proxy", coldfetchapp.Serve, coldfetchapp.ErrUsage},
		server{"predict", "Run the recommendation service on the batch reader", predict.Serve, predict.ErrUsage},
		server{"spatial", "Run the radius search", spatialapp.Serve, spatialapp.ErrUsage},
	)
}

func newServers(e env, what, short string, servers ...server) *cobra.Command {
	cmd := &cobra.Command{
		Use:   what,
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("no %s %q; see latlab %s --help", what, args[0], what)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, s := range servers {
		name := what + " " + s.name
		cmd.AddCommand(&cobra.Command{
			Use:                s.name + " [FLAGS]",
			Short:              s.short + " until it is interrupted; -h lists its flags",
			DisableFlagParsing: true, // it has its own
			RunE: func(cmd *cobra.Command, args []string) error {
				ctx := cmd.Context()
				err := s.serve(ctx, e.out, args...)
				switch {
				case errors.Is(err, s.usage):
					return usagef("%s: %w", name, err)
				case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
					return nil // it was asked to end
				case err != nil:
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			},
		})
	}
	return cmd
}
