package results

import (
	"fmt"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// Meta is the content of a result's JSON file. Times are in nanoseconds unless
// their name says otherwise.
type Meta struct {
	Experiment  string            `json:"experiment"`
	Question    string            `json:"question"`
	Note        string            `json:"note,omitempty"`
	Rule        string            `json:"rule"`
	Rig         string            `json:"rig"`
	Kind        string            `json:"kind"`
	Provenance  string            `json:"provenance"`
	Build       Build             `json:"build"`
	Start       time.Time         `json:"start"`
	Took        time.Duration     `json:"took_ns"`
	Seed        uint64            `json:"seed,string"`
	Blocks      int               `json:"blocks"` // complete
	Planned     int               `json:"planned_blocks"`
	Min         time.Duration     `json:"min_ns"` // of a trial
	Interrupted bool              `json:"interrupted"`
	OverBudget  bool              `json:"over_budget"`
	Narrow      bool              `json:"narrow"`         // ended early, since intervals were narrow enough
	Host        *host.Fingerprint `json:"host,omitempty"` // of wall-clock rigs
	HostID      string            `json:"host_id,omitempty"`
	// What the run's figures are, and what it judged; none in files of before this
	// was recorded.
	Units    []Unit    `json:"units,omitempty"`
	Unit     string    `json:"unit,omitempty"`     // of the noise floor, and what the rule judges first
	Baseline string    `json:"baseline,omitempty"` // the arm that the others differ from
	Floor    *float64  `json:"noise_floor"`        // a share; null if unknown
	AA       Interval  `json:"aa_ratio"`           // of the A/A control to its twin
	Arms     []Arm     `json:"arms"`
	Refused  []Refused `json:"refused"`
}

// Arm is one arm's part of Meta.
type Arm struct {
	Arm         string            `json:"arm"`
	Control     bool              `json:"control"` // the A/A control, a second session of the first arm
	Assumptions []string          `json:"assumptions"`
	Calibration string            `json:"calibration,omitempty"`
	Trials      []Trial           `json:"trials"`
	Path        []metrics.Row     `json:"critical_path,omitempty"`
	Stages      *metrics.Snapshot `json:"stages,omitempty"`
	Times       *metrics.Dist     `json:"times,omitempty"`    // of operations; only in virtual time
	Effect      *Effect           `json:"effect,omitempty"`   // none for the baseline
	Timeline    *Timeline         `json:"timeline,omitempty"` // of one operation
}

// Trial is one trial's part of Meta.
type Trial struct {
	Block  int                `json:"block"`
	Place  int                `json:"place"`    // in the block's random order
	Start  time.Duration      `json:"start_ns"` // since the run's start
	End    time.Duration      `json:"end_ns"`   // likewise
	Seed   uint64             `json:"seed,string"`
	Ops    int                `json:"ops"`
	Took   time.Duration      `json:"took_ns"`
	Values map[string]float64 `json:"values"`
	Noise  *host.Noise        `json:"noise,omitempty"`
	Dirty  string             `json:"dirty,omitempty"` // why it is marked as disturbed
}

// Refused is a row without figures.
type Refused struct {
	Arm     string `json:"arm"`
	Control bool   `json:"control"`
	Reason  string `json:"reason"`
}

// newMeta describes the set's rows of one provenance, and all that were refused.
func newMeta(set runner.Set, p lab.Provenance, b Build) (Meta, error) {
	m := Meta{
		Experiment: set.Experiment.Name, Question: set.Experiment.Question, Note: set.Experiment.Note, Rule: set.Experiment.Rule.String(),
		Rig: set.Rig.Name(), Kind: set.Rig.Kind().String(), Provenance: p.String(),
		Build: b, Start: set.Start.UTC(), Took: set.Took,
		Seed: set.Config.Seed, Blocks: set.Blocks, Planned: set.Config.Blocks, Min: set.Config.Min,
		Interrupted: set.Interrupted, OverBudget: set.OverBudget, Narrow: set.Narrow,
		Arms: []Arm{}, Refused: []Refused{},
	}
	judged := stats.Analyse(set)
	m.Units, m.Unit, m.Baseline = newUnits(set.Experiment.AllUnits()), judged.Unit.Name, set.Rows[0].Arm.String()
	m.Floor, m.AA = finite(judged.Floor), NewInterval(judged.Control)
	effects := make(map[string]*Effect)
	for _, t := range judged.Tables {
		for _, r := range t.Rows {
			if r.Effect != nil {
				effects[r.Arm.String()] = newEffect(r.Effect)
			}
		}
	}
	for _, r := range set.Rows {
		if r.Refused != nil {
			m.Refused = append(m.Refused, Refused{r.Arm.String(), r.Control, r.Refused.Error()})
		}
		if len(r.Trials) == 0 || r.Stamp.Provenance != p {
			continue
		}
		if m.HostID = r.Stamp.Host; m.HostID != "" {
			m.Host = &set.Config.Host
		}
		a, err := newArm(r)
		if err != nil {
			return Meta{}, err
		}
		if !r.Control {
			a.Effect = effects[a.Arm]
		}
		m.Arms = append(m.Arms, a)
	}
	return m, nil
}

func newArm(r runner.Row) (Arm, error) {
	a := Arm{
		Arm: r.Arm.String(), Control: r.Control,
		Assumptions: append([]string{}, r.Stamp.Assumptions...), Calibration: r.Stamp.Calibration,
		Timeline: NewTimeline(r.Typical),
	}
	if r.Times.Count() > 0 {
		a.Times = &r.Times
	}
	for _, t := range r.Trials {
		a.Trials = append(a.Trials, Trial{
			Block: t.Block, Place: t.Place, Start: t.Start, End: t.End, Seed: t.Result.Seed(), Ops: t.Result.Ops(), Took: t.Result.Took(),
			Values: t.Result.Values(), Noise: t.Noise, Dirty: t.Dirty,
		})
	}
	if path := r.Path(); path.Ops > 0 {
		a.Path = path.Rows()
	}
	stages, err := r.Stages()
	if err != nil {
		return Arm{}, fmt.Errorf("results: %s: %w", a.Arm, err)
	}
	if stages.Set != "" {
		a.Stages = &stages
	}
	return a, nil
}
