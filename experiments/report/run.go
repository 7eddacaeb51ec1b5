package report

import (
	"slices"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// Run is what there is to print of one run.
type Run struct {
	Set      runner.Set
	Analysis stats.Analysis
	Files    []string // where the results were written
	// Budget is the wall time that was asked for, of all rigs together; Shared
	// says that this rig had a part of it.
	Budget time.Duration
	Shared bool
}

// heading says in words what the figures of a provenance are.
func heading(p lab.Provenance) string {
	if p == lab.Measured {
		return "MEASURED: a real device or server on this host"
	}
	return "MODELLED: something underneath is simulated"
}

// short names an arm by what differs from the baseline, which is printed in full.
func short(arm, baseline lab.Arm) string {
	var parts []string
	for _, name := range arm.Differs(baseline) {
		level, _ := arm.Level(name)
		parts = append(parts, name+"="+level)
	}
	if len(parts) == 0 {
		return "baseline"
	}
	return strings.Join(parts, " ")
}

// OnHost says whether a figure's time is this host's.
func (r Run) OnHost() bool {
	return slices.ContainsFunc(r.Set.Rows, func(row runner.Row) bool { return row.Stamp.Host != "" && len(row.Trials) > 0 })
}

func (r Run) baseline() lab.Arm { return r.Set.Rows[0].Arm }

// rowName is short, and says so if the row is the control.
func (r Run) rowName(arm lab.Arm, control bool) string {
	if control {
		return "A/A control"
	}
	return short(arm, r.baseline())
}
