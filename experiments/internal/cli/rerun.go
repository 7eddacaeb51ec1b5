package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/report"
	"latlab.example/experiments/results"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

func newRerun(e env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "rerun RESULT",
		Short: "Run what a result file records once more: same arms, order and seeds",
		Long: `Rerun reads the .json of a result and runs the same arms on the same rig, with the
recorded seed and number of blocks. It says if the program's commit is another one.

In virtual time the figures must be the same to the digit; the exit code is 1 if
one isn't. On the wall clock the two results are set side by side.`,
		Args: exactly(1, "one result file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			old, err := results.ReadMetaFile(args[0])
			if err != nil {
				return err
			}
			return rerun(cmd.Context(), e, old, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "results", "folder for result files")
	return cmd
}

// errOther occurs when a rerun in virtual time gives other figures.
var errOther = errors.New("the figures are not the same")

func rerun(ctx context.Context, e env, old results.Stored, out string) error {
	m := old.Meta
	x, err := e.experiments.Find(m.Experiment)
	if err != nil {
		return err
	}
	r, err := rigOf(x, m.Rig)
	if err != nil {
		return err
	}
	j := job{rig: r}
	for _, a := range m.Arms {
		if a.Control {
			continue
		}
		arm, err := x.ParseArm(r, a.Arm)
		if err != nil {
			return fmt.Errorf("%s: %w; the experiment may have changed since commit %s", old.Path, err, commit(m.Build))
		}
		j.arms = append(j.arms, arm)
	}
	if len(j.arms) == 0 {
		return fmt.Errorf("%s: it records no arm but the control; there is nothing to run", old.Path)
	}
	if now := results.ReadBuild(); now.Commit != m.Build.Commit || now.Modified || m.Build.Modified {
		fmt.Fprintf(e.err, "recorded at commit %s, and this program is of %s; for the same code check that one out and build it\n", commit(m.Build), commit(now))
	}
	if err := results.Writable(out); err != nil {
		return fmt.Errorf("%w; name another with --out", err)
	}
	var h host.Fingerprint
	if j.wall() {
		if h, err = fingerprint(ctx); err != nil {
			return err
		}
	}
	set, err := runner.Run(ctx, runner.Config{
		Seed: m.Seed, Blocks: max(1, m.Blocks), Min: m.Min, Budget: 24 * time.Hour, Host: h,
	}, x, r, j.arms)
	if err != nil && !set.Measured() {
		return stoppedOr(ctx, err)
	}
	// What was measured is written, whatever failed afterwards.
	files, werr := write(out, set)
	if err := errors.Join(err, werr); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil && set.Measured():
		return stoppedBy(ctx, kept)
	case ctx.Err() != nil:
		return stoppedBy(ctx, nothing)
	}
	if why := set.Rows[0].Refused; why != nil {
		return fmt.Errorf("%s on rig %s: %w: %w", x.Name, r.Name(), runner.ErrBaseline, why)
	}
	if err := report.Text(e.out, report.Run{Set: set, Analysis: stats.Analyse(set), Files: files, Budget: 24 * time.Hour}); err != nil {
		return err
	}
	if !j.wall() {
		n, err := sameFigures(m, set)
		if err != nil {
			return fmt.Errorf("rerun of %s: %w", old.Path, err)
		}
		_, err = fmt.Fprintf(e.out, "\nrerun     %s: the same figures, to the digit\n", count(n, "trial"))
		return err
	}
	for _, f := range files {
		again, err := results.ReadMetaFile(f)
		if err != nil {
			return err
		}
		if again.Meta.Provenance == m.Provenance {
			return sideBySide(e, old.Path, f)
		}
	}
	return fmt.Errorf("rerun of %s: %w: no %s figures this time", old.Path, errOther, m.Provenance)
}

// wall says whether the job's time is the host's.
func (j job) wall() bool { return j.rig.Kind() == lab.KindEmulated || j.rig.Kind() == lab.KindReal }

func commit(b results.Build) string {
	switch {
	case b.Commit == "":
		return "unknown"
	case b.Modified:
		return b.Commit + " with changes"
	}
	return b.Commit
}

// sameFigures counts the trials that both have, or says which figure is another.
func sameFigures(m results.Meta, set runner.Set) (int, error) {
	n := 0
	for _, a := range m.Arms {
		i := slices.IndexFunc(set.Rows, func(r runner.Row) bool { return r.Arm.String() == a.Arm && r.Control == a.Control })
		if i < 0 {
			return n, fmt.Errorf("%w: arm %s is missing", errOther, a.Arm)
		}
		for k, old := range a.Trials {
			if k >= len(set.Rows[i].Trials) {
				return n, fmt.Errorf("%w: arm %s has %d trials, and had %d", errOther, a.Arm, k, len(a.Trials))
			}
			if now := set.Rows[i].Trials[k]; now.Result.Seed() != old.Seed || !maps.Equal(now.Result.Values(), old.Values) {
				return n, fmt.Errorf("%w: arm %s, block %d: seed %d gave %v, and seed %d gives %v", errOther, a.Arm, old.Block+1, old.Seed, old.Values, now.Result.Seed(), now.Result.Values())
			}
			n++
		}
	}
	return n, nil
}

// sideBySide compares two results across what differs in host, since the reader
// asked for it.
func sideBySide(e env, old, now string) error {
	a, err := results.ReadFile(text(old))
	if err != nil {
		return err
	}
	b, err := results.ReadFile(text(now))
	if err != nil {
		return err
	}
	fmt.Fprintln(e.out)
	return compareFiles(e, a, b, []string{acrossHost})
}

// text is a result's .txt.
func text(path string) string {
	if base, ok := strings.CutSuffix(path, ".json"); ok {
		return base + ".txt"
	}
	return path
}
