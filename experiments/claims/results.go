package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/perf/benchunit"

	"latlab.example/common/calibration"
	"latlab.example/common/lab"
	"latlab.example/experiments/results"
	"latlab.example/experiments/stats"
)

// Results are the result files of some folders, and their calibrations.
type Results struct {
	files []results.File // newest first
	// Predictions are the calibrations that were compared with what they predict.
	Predictions []Predictions
	// Notes are about files that aren't results, a line each.
	Notes []string
}

// Predictions are what a model that was fitted to a host predicts, beside what was
// measured there.
type Predictions struct {
	calibration.Head
	Path string // of the calibration's file
}

// CalibrationDir is the folder, under one of results, that calibrations are in.
const CalibrationDir = "calibration"

// ReadResults reads all result files and calibrations under the folders. One that
// doesn't exist is empty; a .txt file that isn't a result, or a .json file among the
// calibrations that isn't one, is noted and left out. Other errors are those of the
// file system.
func ReadResults(dirs ...string) (Results, error) {
	var r Results
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if filepath.Ext(path) == ".json" && filepath.Base(filepath.Dir(path)) == CalibrationDir {
				return r.addPredictions(path)
			}
			if filepath.Ext(path) != ".txt" {
				return nil
			}
			f, err := results.ReadFile(path)
			switch {
			case errors.Is(err, results.ErrFile), errors.Is(err, stats.ErrMixed):
				r.Notes = append(r.Notes, fmt.Sprintf("left out: %v", err))
			case err != nil:
				return err
			default:
				r.files = append(r.files, f)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Results{}, fmt.Errorf("claims: results in %s: %w", dir, err)
		}
	}
	// Names begin with the time of the run, in UTC.
	slices.SortStableFunc(r.files, func(a, b results.File) int {
		return strings.Compare(filepath.Base(b.Path), filepath.Base(a.Path))
	})
	return r, nil
}

func (r *Results) addPredictions(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch h, err := calibration.ReadHead(f); {
	case err != nil:
		r.Notes = append(r.Notes, fmt.Sprintf("left out: %s: %v", path, err))
	case len(h.Residuals) > 0:
		r.Predictions = append(r.Predictions, Predictions{h, path})
	}
	return nil
}

// of are the files of an experiment on a rig.
func (r Results) of(experiment, rig string) []results.File {
	var found []results.File
	for _, f := range r.files {
		if f.Config.Experiment == experiment && f.Config.Rig == rig {
			found = append(found, f)
		}
	}
	return found
}

// column is an arm's figures of a unit in one file.
type column struct {
	file   results.File
	unit   lab.Unit
	factor float64 // that benchfmt multiplied the figures by
	values []float64
}

// columnOf finds an arm's figures. benchfmt writes p95-ns/op as p95-sec/op.
func columnOf(f results.File, e lab.Experiment, arm lab.Arm, unit string) (column, bool) {
	factor, name := benchunit.Tidy(1, unit)
	u := lab.Unit{Name: name}
	if i := slices.IndexFunc(f.Units, func(u lab.Unit) bool { return u.Name == name }); i >= 0 {
		u = f.Units[i]
	}
	want := strings.TrimPrefix(e.BenchmarkName(), "Benchmark")
	if s := arm.String(); s != "" {
		want += "/" + s
	}
	for _, n := range f.Names {
		// The number of processors stands behind the last dash.
		if at := strings.LastIndexByte(n, '-'); n != want && (at < 0 || n[:at] != want) {
			continue
		}
		if v := f.Sample(n, u).Values; len(v) > 0 {
			return column{f, u, factor, v}, true
		}
		// benchfmt leaves the unit of a figure of 0 as it was written.
		if v := f.Sample(n, lab.Unit{Name: unit}).Values; len(v) > 0 {
			return column{f, u, factor, v}, true
		}
	}
	return column{}, false
}

// figure is the median with its interval.
func (c column) figure() stats.Summary {
	return stats.Sample{Provenance: c.file.Config.Provenance, Unit: c.unit, Values: c.values}.Summarize()
}

// ratio is the median of the ratios block by block, with its interval: a file has
// the trials in the order of blocks.
func (c column) ratio(by column) lab.Interval {
	var ratios []float64
	for i := range min(len(c.values), len(by.values)) {
		switch v, w := c.values[i], by.values[i]; {
		case v == w:
			ratios = append(ratios, 1)
		case w == 0:
			return lab.Interval{Lo: math.Inf(-1), Mid: math.NaN(), Hi: math.Inf(1)}
		default:
			ratios = append(ratios, v/w)
		}
	}
	s := stats.Sample{Unit: c.unit, Values: ratios}.Summarize()
	return lab.Interval{Lo: s.Lo, Mid: s.Mid, Hi: s.Hi}
}

// floor is the noise floor: the largest difference, as a share, that the interval of the A/A
// control allows, whichever twin is called the baseline. It is infinite if it
// isn't known: the .json file beside the results has it.
func floor(path, unit string) float64 {
	stored, err := results.ReadMetaFile(path)
	if err != nil {
		return math.Inf(1)
	}
	m := stored.Meta
	i := slices.IndexFunc(m.Arms, func(a results.Arm) bool { return a.Control })
	if i < 0 {
		return math.Inf(1)
	}
	control := m.Arms[i]
	j := slices.IndexFunc(m.Arms, func(a results.Arm) bool { return !a.Control && a.Arm == control.Arm })
	if j < 0 {
		return math.Inf(1)
	}
	of := func(a results.Arm, unit string) (v []float64) {
		for _, t := range a.Trials {
			if x, ok := t.Values[unit]; ok {
				v = append(v, x)
			}
		}
		return v
	}
	if len(of(control, unit)) == 0 {
		unit = lab.SecPerOp.Name // a stage's time is noisy as the whole's is
	}
	r := column{unit: lab.Unit{Name: unit}, values: of(control, unit)}.ratio(column{values: of(m.Arms[j], unit)})
	if !(r.Lo > 0) || math.IsInf(r.Hi, 0) {
		return math.Inf(1)
	}
	return max(r.Hi, 1/r.Lo) - 1
}
