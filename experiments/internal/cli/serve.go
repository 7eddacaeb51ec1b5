package cli

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"latlab.example/experiments/explore/web"
)

func newServe(e env) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page on which a model's toggles are flipped, until it is interrupted",
		Long: `Serve prints the address of a page. On it a person flips the toggles of the models
and moves their parameters, sees where the time goes, and copies the command line
that gives the same figures. Everything there is modelled.

It listens on loopback unless told otherwise, refuses requests for another host's
name and those of other sites' pages, and reads and writes no file. Whoever can
reach the address can keep two of this host's processors busy.`,
		Example: `  latlab serve
  latlab serve --addr 127.0.0.1:8080`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return usagef("--addr %q: %w; want HOST:PORT, with port 0 for a free one", addr, err)
			}
			p, c, err := explored(e, nil)
			if err != nil {
				return err
			}
			h, err := web.Handler(p, c, host)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
			if err != nil {
				return fmt.Errorf("serve: %w; choose another address with --addr", err)
			}
			if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
				fmt.Fprintln(e.err, "latlab: this listens beyond loopback; others on the network can use it")
			}
			fmt.Fprintf(e.out, "http://%s/\n", l.Addr())
			if err := web.Serve(ctx, l, h); ctx.Err() == nil {
				return fmt.Errorf("serve: %w", err)
			}
			return nil // it was asked to end
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "host:port to listen at; port 0 takes a free one")
	return cmd
}
