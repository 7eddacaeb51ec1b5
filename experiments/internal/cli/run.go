package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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

// runFlags are the flags of latlab run.
type runFlags struct {
	choice
	blocks      int
	min, budget time.Duration
	seed        uint64
	out, dir    string
	json        bool
}

func newRun(e env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Run an experiment's arms on its rigs, and judge",
		Long: `Run opens every arm on a rig, and the baseline twice: the second is the A/A
control, which shows the noise floor. It warms up, then runs blocks of one trial
an arm in random order. Ctrl-C ends it and keeps what was measured.

By default it runs on all rigs that are available, one after the other, and arms
differ from the baseline in one factor.`,
		Example: `  latlab run rawblock/putmany --rig channels --set strategy=sequential,batch
  latlab run rawblock/putmany --kind real --cross strategy,keys --dir /mnt/disk`,
		Args: exactly(1, "the name of one experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				f.seed = rand.Uint64()
			}
			return f.run(cmd.Context(), e, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.rigs, "rig", nil, "rigs, comma-separated (default all that are available)")
	flags.StringVar(&f.kind, "kind", "", "only rigs of this kind: virtual, bubble, emulated or real")
	flags.StringArrayVar(&f.sets, "set", nil, "factor=level[,level]: only these levels; the first is the baseline; repeatable")
	flags.StringSliceVar(&f.cross, "cross", nil, "run all combinations of these factors' levels")
	flags.IntVar(&f.blocks, "blocks", 10, "blocks: trials of each arm")
	flags.DurationVar(&f.min, "min", 0, "least time of a trial, in the rig's own time (default 1s on real rigs, 100ms on others)")
	flags.DurationVar(&f.budget, "budget", 10*time.Minute, "wall time for all rigs together")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of order and trials (default random; it is printed)")
	flags.StringVar(&f.out, "out", "results", "folder for result files")
	flags.StringVar(&f.dir, "dir", "", "existing folder where rigs on a real file make their nameless file; sets "+lab.DirVariable)
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	return cmd
}

// check refuses numbers that can't be meant.
func (f runFlags) check() error {
	switch {
	case f.blocks < 1:
		return usagef("--blocks %d: want at least 1", f.blocks)
	case f.min < 0:
		return usagef("--min %v: want a time above 0", f.min)
	case f.budget <= 0:
		return usagef("--budget %v: want a time above 0", f.budget)
	}
	if f.dir != "" {
		if info, err := os.Stat(f.dir); err != nil {
			return usagef("--dir: %w; name an existing folder", err)
		} else if !info.IsDir() {
			return usagef("--dir %s: not a folder; name an existing one", f.dir)
		}
	}
	return nil
}

func (f runFlags) run(ctx context.Context, e env, name string) error {
	if err := f.check(); err != nil {
		return err
	}
	x, err := e.experiments.Find(name)
	if err != nil {
		return err
	}
	if f.dir != "" {
		if err := os.Setenv(lab.DirVariable, f.dir); err != nil {
			return fmt.Errorf("set %s: %w", lab.DirVariable, err)
		}
	}
	jobs, notes, err := f.jobs(ctx, x)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(e.err, "latlab: "+n)
	}
	h, err := fingerprint(ctx)
	if err != nil {
		return err
	}
	return f.all(ctx, e, x, jobs, h)
}

// all runs rig after rig. Each gets an equal part of the time that is left.
func (f runFlags) all(ctx context.Context, e env, x lab.Experiment, jobs []job, h host.Fingerprint) error {
	start := time.Now()
	var runs []report.Run
	var errs []error
	for i, j := range jobs {
		budget := (f.budget - time.Since(start)) / time.Duration(len(jobs)-i)
		r, err := f.one(ctx, e, x, j, max(budget, 1), h)
		if errors.Is(err, runner.ErrConfig) {
			return err // nothing was run
		}
		if err != nil {
			errs = append(errs, err)
		}
		runs = append(runs, r)
		if !f.json {
			if i > 0 {
				fmt.Fprintln(e.out)
			}
			if err := report.Text(e.out, r); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			errs = append(errs, errInterrupted)
			break
		}
		if !r.Set.Measured() {
			err := fmt.Errorf("%s on rig %s: nothing was measured: every arm was refused, the first since: %w", x.Name, j.rig.Name(), r.Set.Refused()[0].Reason)
			if len(f.rigs) == 0 && len(jobs) > 1 { // one of all that there are: the others count
				fmt.Fprintln(e.err, "latlab: "+err.Error())
			} else {
				errs = append(errs, err)
			}
		}
	}
	if f.json {
		if err := report.JSON(e.out, runs); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (f runFlags) one(ctx context.Context, e env, x lab.Experiment, j job, budget time.Duration, h host.Fingerprint) (report.Run, error) {
	c := runner.Config{Seed: f.seed, Blocks: f.blocks, Min: f.min, Budget: budget, Host: h}
	if c.Min == 0 {
		c.Min = 100 * time.Millisecond
		if j.rig.Kind() == lab.KindReal {
			c.Min = time.Second
		}
	}
	if e.terminal {
		line := progressLine{w: e.err, rig: j.rig.Name()}
		c.Progress = line.show
		defer line.clear()
	}
	set, err := runner.Run(ctx, c, x, j.rig, j.arms)
	if errors.Is(err, runner.ErrConfig) {
		return report.Run{}, err
	}
	files, werr := results.Write(f.out, set, results.ReadBuild())
	if werr != nil {
		werr = fmt.Errorf("%w; name another folder with --out", werr)
	}
	return report.Run{Set: set, Analysis: stats.Analyse(set), Files: files}, errors.Join(err, werr)
}

// progressLine is one line of a terminal that is written over.
type progressLine struct {
	w     interface{ Write([]byte) (int, error) }
	rig   string
	width int
}

func (l *progressLine) show(p runner.Progress) {
	text := fmt.Sprintf("%s: block %d/%d, trial %d/%d, %v left", l.rig, p.Block, p.Blocks, p.Trial, p.Trials, p.Left.Round(time.Second))
	if p.Block == 0 {
		text = fmt.Sprintf("%s: warm-up %d/%d", l.rig, p.Trial, p.Trials)
	}
	fmt.Fprintf(l.w, "\r%-*s", l.width, text)
	l.width = max(l.width, len(text))
}

func (l *progressLine) clear() { fmt.Fprint(l.w, "\r"+strings.Repeat(" ", l.width)+"\r") }
