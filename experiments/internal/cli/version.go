package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"latlab.example/experiments/results"
	"latlab.example/rawblock/uring"
)

func newVersion(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what this program was built from",
		Args:  exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			b := results.ReadBuild()
			commit := b.Commit
			switch {
			case commit == "":
				commit = "unknown"
			case b.Modified:
				commit += ", modified"
			}
			ring := "not built in (build with -tags giouring -ldflags=-checklinkname=0)"
			if uring.Built {
				ring = "built in"
			}
			return writeTable(e.out, [][]string{
				{"latlab", b.Version},
				{"commit", commit},
				{"go", b.Go + " " + runtime.GOOS + "/" + runtime.GOARCH},
				{"io_uring", ring},
			})
		},
	}
}
