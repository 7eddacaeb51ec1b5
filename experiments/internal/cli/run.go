package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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

// runFlags are the flags of latlab run.
type runFlags struct {
	choice
	blocks      int
	min, budget time.Duration
	seed        uint64
	out, dir    string
	json        bool
	precision   float64
	calibration string
	sweep       string
	untilFlip   bool
	tornado     bool
	params      []string
	given       func(flag string) bool // on the command line
}

func newRun(e env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT | CASE | --kind KIND",
		Short: "Run an experiment's arms on its rigs, and judge",
		Long: `Run opens every arm on a rig, and the baseline twice: the second is the A/A
control, which shows the noise floor. It warms up, then runs blocks of one trial
an arm in random order. It ends when the budget of time is spent; the warm-up and
one block are run in any case.

By default it runs on all rigs that are available, one after the other, and arms
differ from the baseline in one factor.

The name of a case runs all its experiments, and --kind alone all of that kind of
rig: a line each is printed, and the files have the rest. latlab report shows them.

A model's parameters are its assumptions; latlab list EXPERIMENT shows them. With
--param one has another value, with --sweep one is varied, with --tornado each in turn, and what becomes of the
verdicts is printed.

Exit code 1 says that something failed: a rig's baseline was refused, so that
nothing could be compared, or results couldn't be written. Where rigs weren't
named, a fake that can't keep time on this host is no failure as long as another
rig gives figures. Ctrl-C, SIGTERM and SIGHUP end a run and keep what was
measured, with exit code 130, 143 or 129.`,
		Example: `  latlab run rawblock/putmany --rig channels --set strategy=sequential,batch
  latlab run rawblock/putmany --kind real --cross strategy,keys --dir /mnt/disk
  latlab run rawblock/putmany --kind virtual --sweep dispatch=1us..100us --until-flip
  latlab run --kind virtual`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 0 && cmd.Flags().Changed("kind") {
				return nil
			}
			return usagef("run takes the name of one experiment or case, or --kind alone, but got %d; see %s --help", len(args), cmd.CommandPath())
		},
		ValidArgsFunction: e.experimentNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			if !f.given("seed") {
				f.seed = rand.Uint64()
			}
			chosen := e.experiments
			if len(args) == 1 {
				var err error
				if chosen, err = e.experiments.Of(args[0]); err != nil {
					return err
				}
				if chosen[0].Name == args[0] {
					return f.run(cmd.Context(), e, chosen[0])
				}
			}
			return f.suite(cmd.Context(), e, chosen)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.rigs, "rig", nil, "rigs, comma-separated (default all that are available)")
	flags.BoolVar(&f.available, "available", false, "of the rigs named, leave out with a note those that can't run here")
	flags.StringVar(&f.kind, "kind", "", "only rigs of this kind: virtual, bubble, emulated or real")
	flags.StringArrayVar(&f.sets, "set", nil, "factor=level[,level]: only these levels; the first is the baseline; repeatable")
	flags.StringSliceVar(&f.cross, "cross", nil, "run all combinations of these factors' levels")
	flags.BoolVar(&f.judged, "judged", false, "only the arms that the rule judges: the levels of the first factor, all else at the baseline")
	flags.IntVar(&f.blocks, "blocks", 10, "blocks: trials of each arm")
	flags.DurationVar(&f.min, "min", 0, "least time of a trial, in the rig's own time (default 1s on real rigs, 100ms on others)")
	flags.DurationVar(&f.budget, "budget", 10*time.Minute, "wall time for all rigs together; the warm-up and one block are run in any case")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of order and trials (default random; it is printed)")
	flags.StringVar(&f.out, "out", "results", "folder for result files")
	flags.StringVar(&f.dir, "dir", "", "existing folder where rigs on a real file make their nameless file; sets "+lab.DirVariable)
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	flags.Float64Var(&f.precision, "precision", 0, "percent: end once every judged interval, and the control's, reaches no further from its middle; --blocks is then the most")
	flags.StringArrayVar(&f.params, "param", nil, "parameter=value: give a model another value of a parameter; repeatable")
	flags.StringVar(&f.calibration, "calibration", "", "file of latlab calibrate: run the model that was fitted to this host")
	flags.StringVar(&f.sweep, "sweep", "", "parameter=a..b: run a model at values between; nothing is written")
	flags.BoolVar(&f.untilFlip, "until-flip", false, "with --sweep: find where a verdict changes")
	flags.BoolVar(&f.tornado, "tornado", false, "run a model with each parameter at both ends of its range; nothing is written")
	return cmd
}

// check refuses numbers that can't be meant.
func (f runFlags) check() error {
	switch {
	case f.blocks < 1:
		return usagef("--blocks %d: want at least 1", f.blocks)
	case f.given("min") && f.min <= 0:
		return usagef("--min %v: want a time above 0", f.min)
	case f.given("precision") && !(f.precision > 0 && f.precision < 100):
		return usagef("--precision %g: want a percentage above 0 and under 100", f.precision)
	case f.budget <= 0:
		return usagef("--budget %v: want a time above 0", f.budget)
	}
	if err := f.checkVary(); err != nil {
		return err
	}
	if err := f.named("rig", f.rigs); err != nil {
		return err
	}
	if err := f.named("cross", f.cross); err != nil {
		return err
	}
	if f.given("dir") {
		if info, err := os.Stat(f.dir); err != nil {
			return usagef("--dir: %w; name an existing folder", err)
		} else if !info.IsDir() {
			return usagef("--dir %s: not a folder; name an existing one", f.dir)
		}
	}
	return nil
}

// named refuses a list of names in which one is empty or stands twice.
func (f runFlags) named(flag string, names []string) error {
	if f.given(flag) && len(names) == 0 || slices.Contains(names, "") {
		return usagef("--%s %q: want NAME[,NAME]", flag, strings.Join(names, ","))
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return usagef("--%s %q: %s is named twice", flag, strings.Join(names, ","), name)
		}
	}
	return nil
}

func (f runFlags) run(ctx context.Context, e env, x lab.Experiment) error {
	if err := f.prepare(); err != nil {
		return err
	}
	if f.calibration != "" {
		var err error
		if x, err = calibrated(ctx, x, f.calibration); err != nil {
			return err
		}
	}
	jobs, notes, err := f.jobs(ctx, x)
	if ctx.Err() != nil {
		return stoppedBy(ctx, nothing)
	} else if err != nil {
		return err
	}
	if len(f.params) > 0 {
		if jobs, err = f.setParams(x, jobs); err != nil {
			return err
		}
	}
	if f.varies() {
		return f.vary(ctx, e, x, jobs)
	}
	var tasks []task
	for _, j := range jobs {
		tasks = append(tasks, task{x, j})
	}
	for i, n := range notes {
		notes[i] = "latlab: " + n
	}
	return f.start(ctx, e, tasks, notes, func(i int, r report.Run) error {
		if i > 0 {
			fmt.Fprintln(e.out)
		}
		return report.Text(e.out, r)
	})
}

// prepare checks the flags and applies --dir.
func (f runFlags) prepare() error {
	if err := f.check(); err != nil {
		return err
	}
	if f.dir != "" {
		if err := os.Setenv(lab.DirVariable, f.dir); err != nil {
			return fmt.Errorf("set %s: %w", lab.DirVariable, err)
		}
	}
	return nil
}

// task is an experiment's arms on a rig.
type task struct {
	experiment lab.Experiment
	job
}

// start runs the tasks, once it is clear that their results can be written. show
// prints what one gave.
func (f runFlags) start(ctx context.Context, e env, tasks []task, notes []string, show func(int, report.Run) error) error {
	if err := results.Writable(f.out); err != nil {
		return fmt.Errorf("%w; name another with --out", err)
	}
	for _, n := range notes {
		fmt.Fprintln(e.err, n)
	}
	h, err := fingerprint(ctx)
	if ctx.Err() != nil {
		return stoppedBy(ctx, nothing)
	} else if err != nil {
		return err
	}
	return f.all(ctx, e, tasks, h, show)
}

// What a run that was ended early leaves behind.
const (
	nothing = " before anything was measured"
	kept    = "; what was measured until then is kept"
)

// all runs task after task. Each gets an equal part of the time that is left.
func (f runFlags) all(ctx context.Context, e env, tasks []task, h host.Fingerprint, show func(int, report.Run) error) error {
	start := time.Now()
	var runs []report.Run
	var errs, off []error // off: fakes that couldn't keep time here
	measured := false
	for i, j := range tasks {
		budget := (f.budget - time.Since(start)) / time.Duration(len(tasks)-i)
		shared := len(tasks) > 1
		r, err := f.one(ctx, e, j.experiment, j.job, max(budget, 1), shared, h)
		if errors.Is(err, runner.ErrConfig) {
			return err // nothing was run
		}
		if err != nil {
			errs = append(errs, err)
		}
		runs, measured = append(runs, r), measured || r.Set.Measured()
		if !f.json && (r.Set.Measured() || !r.Set.Interrupted) {
			if err := show(i, r); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			break
		}
		if why := r.Set.Rows[0].Refused; why != nil {
			err := fmt.Errorf("%s on rig %s: %w: %w", j.experiment.Name, j.rig.Name(), runner.ErrBaseline, why)
			if errors.Is(why, lab.ErrRefused) && f.tolerant() || errors.Is(why, lab.ErrUnavailable) && f.available {
				off = append(off, err)
			} else {
				errs = append(errs, err)
			}
		}
	}
	if err := f.finish(e, runs, h); err != nil {
		return err
	}
	if measured && len(errs) == 0 {
		for _, err := range off {
			fmt.Fprintln(e.err, "latlab: "+err.Error())
		}
		off = nil
	}
	errs = append(errs, off...)
	switch {
	case ctx.Err() == nil:
	case measured:
		errs = append(errs, stoppedBy(ctx, kept))
	default:
		errs = append(errs, stoppedBy(ctx, nothing))
	}
	return errors.Join(errs...)
}

// finish prints what bears on all runs: the host, or all of them as JSON.
func (f runFlags) finish(e env, runs []report.Run, h host.Fingerprint) error {
	if f.json {
		return report.JSON(e.out, runs)
	}
	if !slices.ContainsFunc(runs, report.Run.OnHost) {
		return nil
	}
	if len(runs) > 1 {
		fmt.Fprintln(e.out)
	}
	return report.Host(e.out, h)
}

func (f runFlags) one(ctx context.Context, e env, x lab.Experiment, j job, budget time.Duration, shared bool, h host.Fingerprint) (report.Run, error) {
	c := runner.Config{Seed: f.seed, Blocks: f.blocks, Min: f.min, Budget: budget, Host: h, Times: true}
	if f.precision > 0 {
		c.Enough = func(s runner.Set) bool { return stats.Analyse(s).Within(f.precision / 100) }
	}
	if c.Min == 0 {
		c.Min = 100 * time.Millisecond
		if j.rig.Kind() == lab.KindReal {
			c.Min = time.Second
		}
	}
	fmt.Fprintln(e.err, f.plan(j, c, shared))
	if e.terminal {
		line := progressLine{w: e.err, rig: j.rig.Name()}
		c.Progress = line.show
		defer line.clear()
	}
	set, err := runner.Run(ctx, c, x, j.rig, j.arms)
	if errors.Is(err, runner.ErrConfig) {
		return report.Run{}, err
	}
	files, werr := write(f.out, set)
	return report.Run{Set: set, Analysis: stats.Analyse(set), Files: files, Budget: f.budget, Shared: shared}, errors.Join(err, werr)
}

// write writes the results under the folder. If it can't, after all, it writes
// them to a temporary one, and the error says where.
func write(dir string, set runner.Set) ([]string, error) {
	files, err := results.Write(dir, set, results.ReadBuild())
	if err == nil {
		return files, nil
	}
	temp, terr := os.MkdirTemp("", "latlab-results-")
	if terr == nil {
		var rescued []string
		rescued, terr = results.Write(temp, set, results.ReadBuild())
		files = append(files, rescued...)
	}
	if terr != nil {
		return files, fmt.Errorf("%w; nor can a temporary folder take them: %w; name another folder with --out", err, terr)
	}
	return files, fmt.Errorf("%w; they are in %s instead", err, temp)
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
	l.text(text)
}

func (l *progressLine) text(s string) {
	fmt.Fprintf(l.w, "\r%-*s", l.width, s)
	l.width = max(l.width, len(s))
}

func (l *progressLine) clear() { fmt.Fprint(l.w, "\r"+strings.Repeat(" ", l.width)+"\r") }
