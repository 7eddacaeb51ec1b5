package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"latlab.example/experiments/page"
	"latlab.example/experiments/results"
)

func newReport(e env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report [RESULTS...]",
		Short: "Make one HTML file of results, which opens offline",
		Long: `Report reads the results of runs and writes one HTML file with verdicts,
intervals, stages, distributions and curves. It opens from disk and makes no
request. Name folders or single result files; without a name it reads ./results.

A file in a folder that can't be read is left out, and the report names it. A file
that you name must be one of a run.`,
		Example: `  latlab report
  latlab report results/measured --out measured.html`,
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out: want the name of a file")
			}
			if len(args) == 0 {
				args = []string{"results"}
			}
			return writeReport(e, args, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "report.html", "file to write")
	return cmd
}

func writeReport(e env, args []string, out string) error {
	in, err := readResults(args)
	if err != nil {
		return err
	}
	for _, x := range e.experiments {
		in.Order = append(in.Order, x.Name)
	}
	in.Made, in.Build = time.Now(), results.ReadBuild()
	for _, s := range in.Skipped {
		fmt.Fprintf(e.err, "latlab: %s is left out: %v\n", s.Path, s.Err)
	}
	p, err := page.New(in)
	if errors.Is(err, page.ErrNothing) {
		return fmt.Errorf("report: %w in %s; make some with latlab run", err, strings.Join(args, ", "))
	} else if err != nil {
		return err
	}
	size, err := writeWhole(out, p)
	if err != nil {
		return fmt.Errorf("report: %w; name another file with --out", err)
	}
	full, err := filepath.Abs(out)
	if err != nil {
		full = out
	}
	fmt.Fprintf(e.out, "%s (%d KiB): %s\n", full, (size+1023)/1024, p.Counts)
	return nil
}

// readResults reads folders and files. One that is named must be readable.
func readResults(args []string) (page.Input, error) {
	var in page.Input
	seen := make(map[string]bool)
	add := func(s results.Stored) {
		if key, err := filepath.Abs(s.Path); err != nil || !seen[key] {
			seen[key] = true
			in.Runs = append(in.Runs, s)
		}
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case errors.Is(err, fs.ErrNotExist) && arg == "results" && len(args) == 1:
			return in, fmt.Errorf("report: %w: there is no folder ./results; make some with latlab run, or name another", page.ErrNothing)
		case err != nil:
			return in, fmt.Errorf("report: %w", err)
		case info.IsDir():
			found, skipped, err := results.ReadFolder(arg)
			if err != nil {
				return in, fmt.Errorf("report: %w", err)
			}
			in.Skipped = append(in.Skipped, skipped...)
			for _, s := range found {
				add(s)
			}
		default:
			s, err := results.ReadMetaFile(arg)
			if err != nil {
				return in, fmt.Errorf("report: %w", err)
			}
			add(s)
		}
	}
	return in, nil
}

// writeWhole puts the page in place at once: a page that is open in a browser is
// never half a page.
func writeWhole(out string, p *page.Page) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(out), ".*.tmp")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // what is in place has another name
	err = p.Write(f)
	info, serr := f.Stat()
	if err := errors.Join(err, serr, f.Chmod(0o644), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), out)
}
