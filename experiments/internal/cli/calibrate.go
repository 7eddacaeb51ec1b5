package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	coldfit "latlab.example/coldfetch/calibrate"
	coldfetch "latlab.example/coldfetch/study"
	"latlab.example/common/calibration"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	rawfit "latlab.example/rawblock/calibrate"
	rawblock "latlab.example/rawblock/study"
	spatialfit "latlab.example/spatial/calibrate"
	spatial "latlab.example/spatial/study"
)

// calibrator fits a case's model to this host.
type calibrator struct {
	name       string // of the case
	experiment string // that the fitted model answers
	fit        func(context.Context) (calibration.Fitted, error)
	compare    func(context.Context, calibration.Fitted) (calibration.Fitted, error) // measures what it predicts
	rig        func(io.Reader, host.Fingerprint) (lab.Rig, error)
}

var calibrators = []calibrator{
	newCalibrator(coldfit.Case, coldfetch.LoopBlocking, coldfetch.Calibrate, coldfetch.Compare, coldfetch.Calibrated),
	newCalibrator(rawfit.Case, rawblock.PutMany, rawblock.Calibrate, rawblock.Compare, rawblock.Calibrated),
	newCalibrator(spatialfit.Case, spatial.PoolSize, spatial.Calibrate, spatial.Compare, spatial.Calibrated),
}

func newCalibrator[C calibration.Fitted](name string, x lab.Experiment, fit func(context.Context) (C, error), compare func(context.Context, C) (C, error), rig func(C) lab.Rig) calibrator {
	return calibrator{
		name: name, experiment: x.Name,
		fit: func(ctx context.Context) (calibration.Fitted, error) { return fit(ctx) },
		compare: func(ctx context.Context, c calibration.Fitted) (calibration.Fitted, error) {
			return compare(ctx, c.(C)) // it is what fit gave
		},
		rig: func(r io.Reader, h host.Fingerprint) (lab.Rig, error) {
			c, err := calibration.Read[C](r)
			if err != nil {
				return lab.Rig{}, err
			}
			return rig(c), c.Heading().For(h)
		},
	}
}

func calibratorOf(name string) (calibrator, error) {
	i := slices.IndexFunc(calibrators, func(c calibrator) bool { return c.name == name || c.experiment == name })
	if i >= 0 {
		return calibrators[i], nil
	}
	var names, experiments []string
	for _, c := range calibrators {
		names, experiments = append(names, c.name), append(experiments, c.experiment)
	}
	return calibrator{}, usagef("nothing to calibrate for %q; choose one of: %s (for %s)", name, strings.Join(names, ", "), strings.Join(experiments, ", "))
}

func newCalibrate(e env) *cobra.Command {
	var out, dir string
	var compare bool
	cmd := &cobra.Command{
		Use:   "calibrate CASE",
		Short: "Fit a case's model to this host, and see what it predicts",
		Long: `Calibrate measures the real thing on this host, fits the model's parameters to it,
and writes them to a file with the host's fingerprint. latlab run --calibration FILE
then runs the fitted model.

With --compare it also measures what the fitted model predicts, and prints both
with their residuals.`,
		Example: `  latlab calibrate rawblock --compare
  latlab run rawblock/putmany --calibration results/calibration/rawblock.json`,
		Args: exactly(1, "the name of one case"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := calibratorOf(args[0])
			if err != nil {
				return err
			}
			if dir != "" {
				if err := os.Setenv(lab.DirVariable, dir); err != nil {
					return fmt.Errorf("set %s: %w", lab.DirVariable, err)
				}
			}
			path := out
			if path == "" {
				path = filepath.Join("results", "calibration", c.name+".json")
			}
			return stoppedOr(cmd.Context(), c.write(cmd.Context(), e, path, compare))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write (default results/calibration/CASE.json)")
	cmd.Flags().StringVar(&dir, "dir", "", "existing folder for real files; sets "+lab.DirVariable)
	cmd.Flags().BoolVar(&compare, "compare", false, "measure what the fitted model predicts, too")
	return cmd
}

func (c calibrator) write(ctx context.Context, e env, path string, compare bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("calibrate %s: %w; name another file with --out", c.name, err)
	}
	store := func(fitted calibration.Fitted) error {
		var text bytes.Buffer
		if err := calibration.Write(&text, fitted); err != nil {
			return fmt.Errorf("calibrate %s: %w", c.name, err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
			return fmt.Errorf("calibrate %s: %w; name another file with --out", c.name, err)
		}
		return nil
	}
	fitted, err := c.fit(ctx)
	if err != nil {
		return fmt.Errorf("calibrate %s: %w", c.name, err)
	}
	if err := errors.Join(store(fitted), fitted.WriteFit(e.out)); err != nil {
		return err
	}
	if compare {
		if fitted, err = c.compare(ctx, fitted); err != nil {
			return fmt.Errorf("calibrate %s: %w", c.name, err)
		}
		fmt.Fprintln(e.out)
		if err := errors.Join(store(fitted), calibration.WriteResiduals(e.out, fitted.Heading().Residuals)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(e.out, "\nfile      %s\nrun       latlab run %s --calibration %s\n", path, c.experiment, path)
	return err
}

// calibrated is the experiment with the fitted model as its only rig.
func calibrated(ctx context.Context, x lab.Experiment, path string) (lab.Experiment, error) {
	c, err := calibratorOf(x.Name)
	if err != nil {
		return x, err
	}
	f, err := os.Open(path)
	if err != nil {
		return x, fmt.Errorf("--calibration: %w; latlab calibrate %s makes one", err, c.name)
	}
	defer f.Close()
	h, err := fingerprint(ctx)
	if err != nil {
		return x, err
	}
	r, err := c.rig(f, h)
	if err != nil {
		return x, fmt.Errorf("--calibration %s: %w; latlab calibrate %s makes one", path, err, c.name)
	}
	x.Rigs = []lab.Rig{r}
	return x, nil
}
