package runner

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// Set is what a run gave. Nothing changes it after Run returned.
type Set struct {
	Experiment lab.Experiment
	Rig        lab.Rig
	Config     Config
	Start      time.Time
	Took       time.Duration // wall time of the whole run
	Rows       []Row         // the arms in the order given, then the A/A control
	Blocks     int           // complete ones; only these are paired

	Interrupted bool // the context was cancelled
	OverBudget  bool // the budget was spent before all blocks were run
	Narrow      bool // Config.Enough said so before all blocks were run
}

// Row is an arm's share of a set.
type Row struct {
	Arm     lab.Arm
	Control bool      // the A/A control, a second session of the first arm
	Stamp   lab.Stamp // provenance and what goes with it; zero if the row was never opened
	Trials  []Trial   // in the order of blocks; none if the row was refused
	Refused error     // why there are no figures, or nil
	// Typical is the timeline of one operation, the one with the median time of
	// some: of the uncounted warm-up, or in virtual time, which has none, of the
	// first block. Its Set is nil if the subject makes no timelines.
	Typical metrics.Timeline
	// Times are those of the counted trials' operations, if the run was asked for
	// them and the subject makes timelines; else empty.
	Times metrics.Dist
}

// Trial is one counted trial of a row.
type Trial struct {
	Block int // from 0
	Place int // in the block's random order, from 0
	// Start and End are when it ran, in wall time since the run's start.
	Start, End time.Duration
	Result     lab.Result
	Noise      *host.Noise // what others did meanwhile; nil in virtual time
	// Dirty is why the trial is marked as disturbed, by the noise meter, by the
	// subject or by both; empty if it isn't.
	Dirty string
}

// Refused is a row without figures, and why.
type Refused struct {
	Arm     lab.Arm
	Control bool
	Reason  error
}

// Refused lists the rows that have no figures.
func (s Set) Refused() []Refused {
	var all []Refused
	for _, r := range s.Rows {
		if r.Refused != nil {
			all = append(all, Refused{r.Arm, r.Control, r.Refused})
		}
	}
	return all
}

// Measured says whether an arm has at least one trial.
func (s Set) Measured() bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool { return len(r.Trials) > 0 })
}

// Control is the A/A control's row.
func (s Set) Control() Row { return s.Rows[len(s.Rows)-1] }

// Results are the arms' results of one provenance, block by block, within a
// block in the order of Rows: not the random one in which they were run, which
// Trial.Place has. They are without the control's, whose figures would count as
// the first arm's.
func (s Set) Results(p lab.Provenance) []lab.Result {
	var trials []Trial
	for _, r := range s.Rows {
		if !r.Control && r.Stamp.Provenance == p {
			trials = append(trials, r.Trials...)
		}
	}
	slices.SortStableFunc(trials, func(a, b Trial) int { return cmp.Compare(a.Block, b.Block) })
	var results []lab.Result
	for _, t := range trials {
		results = append(results, t.Result)
	}
	return results
}

// Values are the row's figures of a unit by block, and in the order of blocks.
func (r Row) Values(u lab.Unit) (byBlock map[int]float64, all []float64) {
	byBlock = make(map[int]float64)
	for _, t := range r.Trials {
		if v, ok := t.Result.Value(u); ok {
			byBlock[t.Block] = v
			all = append(all, v)
		}
	}
	return byBlock, all
}

// Dirty counts the trials that are marked as disturbed.
func (r Row) Dirty() int {
	n := 0
	for _, t := range r.Trials {
		if t.Dirty != "" {
			n++
		}
	}
	return n
}

// Path is the critical path summed over the row's trials.
func (r Row) Path() metrics.Breakdown {
	var sum metrics.Breakdown
	for _, t := range r.Trials {
		sum.Add(t.Result.Path())
	}
	return sum
}

// Stages are the histograms merged over the row's trials. Trials without
// histograms add nothing. The error wraps metrics.ErrSet where a subject
// changed its stages.
func (r Row) Stages() (metrics.Snapshot, error) {
	var sum metrics.Snapshot
	for _, t := range r.Trials {
		if s := t.Result.Stages(); s.Set != "" {
			if err := sum.Merge(s); err != nil {
				return metrics.Snapshot{}, err
			}
		}
	}
	return sum, nil
}

// joined are two reasons as one; either may be empty.
func joined(a, b string) string {
	if a != "" && b != "" {
		return a + "; " + b
	}
	return a + b
}

// reason leaves out of an error of Experiment.Open or Session.Run where it
// happened, since a row says that already.
func reason(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
