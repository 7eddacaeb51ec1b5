package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"latlab.example/experiments/internal/scaffold"
)

func newNew(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Write the skeleton of something new",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "case NAME",
		Short: "Write the skeleton of a case: a module that passes its contract's tests",
		Long: `New case writes a module with a small piece of real code, a fake, and a study with
one experiment in virtual time, into a folder of the workspace that you are in. It
changes no file that is there, and says what joins the case to the command.`,
		Args: exactly(1, "the name of the case"),
		RunE: func(_ *cobra.Command, args []string) error {
			root, err := workspace()
			if err != nil {
				return err
			}
			written, err := scaffold.Write(root, args[0])
			switch {
			case errors.Is(err, scaffold.ErrName):
				return usageError{err}
			case errors.Is(err, fs.ErrExist):
				return fmt.Errorf("%w; take another name, or remove that first", err)
			case err != nil:
				return err
			}
			for _, f := range written {
				fmt.Fprintln(e.out, f)
			}
			_, err = fmt.Fprintf(e.out, `
next, in %[2]s:
  go work use ./%[1]s
  go test ./%[1]s/...
  (cd experiments && GOWORK=off go mod edit -require=latlab.example/%[1]s@v0.0.0 -replace=latlab.example/%[1]s=../%[1]s)
and in experiments/registry/registry.go:
  %[1]s "latlab.example/%[1]s/study"     among the imports
  %[1]s.Experiments,                     in the call of New
then make tidy
`, args[0], root)
			return err
		},
	})
	return cmd
}

// workspace is the folder with go.work and common/ that this folder is in.
func workspace() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if isFile(filepath.Join(dir, "go.work")) && isFile(filepath.Join(dir, "common", "go.mod")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("new case: %s isn't in latlab's workspace: no folder above it has go.work and common/go.mod; change to your clone", start)
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
