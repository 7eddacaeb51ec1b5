package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/registry"
	"latlab.example/experiments/report"
)

// suite runs several experiments, and prints a line for each rig.
func (f runFlags) suite(ctx context.Context, e env, list registry.List) error {
	for _, flag := range []string{"rig", "set", "cross", "param", "sweep", "until-flip", "tornado", "calibration"} {
		if f.given(flag) {
			return usagef("--%s needs one experiment; name it", flag)
		}
	}
	if err := f.prepare(); err != nil {
		return err
	}
	var tasks []task
	var notes []string
	for _, x := range list {
		if f.kind != "" && !hasKind(x, f.kind) {
			continue
		}
		jobs, left, err := f.jobs(ctx, x)
		var usage usageError
		switch {
		case ctx.Err() != nil:
			return stoppedBy(ctx, nothing)
		case errors.As(err, &usage):
			return err
		case err != nil:
			notes = append(notes, err.Error())
		}
		for _, n := range left {
			notes = append(notes, x.Name+": "+n)
		}
		for _, j := range jobs {
			tasks = append(tasks, task{x, j})
		}
	}
	if len(tasks) == 0 {
		return fmt.Errorf("no experiment can run here: %s", strings.Join(notes, "; "))
	}
	first := true
	return f.start(ctx, e, tasks, notes, func(_ int, r report.Run) error {
		if first && !f.json {
			first = false
			fmt.Fprintf(e.out, suiteLine, "provenance", "experiment", "rig", "blocks", "arms", "time", "verdicts")
		}
		_, err := fmt.Fprintf(e.out, suiteLine, provenances(r), r.Set.Experiment.Name, r.Set.Rig.Name(),
			fmt.Sprint(r.Set.Blocks), fmt.Sprint(len(r.Set.Rows)-1), r.Set.Took.Round(10*time.Millisecond), verdicts(r))
		return err
	})
}

const suiteLine = "%-17s  %-30s  %-18s  %6s  %4s  %8v  %s\n"

func hasKind(x lab.Experiment, kind string) bool {
	k, err := lab.ParseKind(kind)
	if err != nil {
		return true // said where it is read
	}
	for _, r := range x.Rigs {
		if r.Kind() == k {
			return true
		}
	}
	return false
}

func provenances(r report.Run) string {
	var words []string
	for _, t := range r.Analysis.Tables {
		words = append(words, t.Provenance.String())
	}
	return strings.Join(words, "+")
}

// verdicts counts those of a run's judged arms.
func verdicts(r report.Run) string {
	count := make(map[lab.Verdict]int)
	for _, t := range r.Analysis.Tables {
		for _, row := range t.Rows {
			if row.Effect != nil && row.Effect.Judged {
				count[row.Effect.Verdict]++
			}
		}
	}
	var words []string
	for _, v := range []lab.Verdict{lab.Holds, lab.Fails, lab.Inconclusive} {
		if count[v] > 0 {
			words = append(words, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	if n := len(r.Set.Refused()); n > 0 {
		words = append(words, fmt.Sprintf("%d refused", n))
	}
	if len(words) == 0 {
		return "nothing judged"
	}
	return strings.Join(words, ", ")
}
