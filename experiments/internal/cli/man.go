package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write a manual page for each command into a folder",
		Args:  exactly(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // no date: the same pages each time
			if err := doc.GenManTree(root, &doc.GenManHeader{Title: "LATLAB", Section: "1", Source: "latlab", Manual: "latlab"}, dir); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			_, err := fmt.Fprintf(e.out, "man -l %s\n", filepath.Join(dir, "latlab.1"))
			return err
		},
	}
}
