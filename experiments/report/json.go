package report

import (
	"encoding/json"
	"io"
	"math"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/stats"
)

type jsonRun struct {
	Experiment  string        `json:"experiment"`
	Rig         string        `json:"rig"`
	Kind        string        `json:"kind"`
	Rule        string        `json:"rule"`
	Seed        uint64        `json:"seed,string"`
	Blocks      int           `json:"blocks"`
	Planned     int           `json:"planned_blocks"`
	Interrupted bool          `json:"interrupted"`
	OverBudget  bool          `json:"over_budget"`
	Narrow      bool          `json:"narrow"`
	Unit        string        `json:"unit"` // of effects, p-values and the noise floor
	NoiseFloor  *float64      `json:"noise_floor"`
	Arms        []jsonArm     `json:"arms"`
	Refused     []jsonRefused `json:"refused"`
	Files       []string      `json:"files"`
}

type jsonArm struct {
	Provenance  string                  `json:"provenance"`
	Arm         string                  `json:"arm"`
	Trials      int                     `json:"trials"`
	Dirty       int                     `json:"dirty"`
	Figures     map[string]jsonInterval `json:"figures"`
	Effect      *jsonEffect             `json:"effect"`
	Path        []metrics.Row           `json:"critical_path,omitempty"`
	Assumptions []string                `json:"assumptions"`
	Calibration string                  `json:"calibration,omitempty"`
}

type jsonEffect struct {
	Reference           string                  `json:"reference"`
	ReferenceProvenance string                  `json:"reference_provenance"`
	Ratios              map[string]jsonInterval `json:"ratios"`
	P                   *float64                `json:"p"`
	Holm                *float64                `json:"p_holm"`
	Verdict             lab.Verdict             `json:"verdict,omitempty"`
	Reason              string                  `json:"reason,omitempty"`
}

type jsonInterval struct {
	Lo  *float64 `json:"lo"`
	Mid *float64 `json:"mid"`
	Hi  *float64 `json:"hi"`
}

type jsonRefused struct {
	Arm     string `json:"arm"`
	Control bool   `json:"control"`
	Reason  string `json:"reason"`
}

// JSON writes the runs as an array. Times are in seconds; what is unknown is
// null. It returns the error of w.
func JSON(w io.Writer, runs []Run) error {
	out := []jsonRun{}
	for _, r := range runs {
		out = append(out, newJSON(r))
	}
	return writeJSON(w, out)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func newJSON(r Run) jsonRun {
	s := r.Set
	out := jsonRun{
		Experiment: s.Experiment.Name, Rig: s.Rig.Name(), Kind: s.Rig.Kind().String(), Rule: s.Experiment.Rule.String(),
		Seed: s.Config.Seed, Blocks: s.Blocks, Planned: s.Config.Blocks, Interrupted: s.Interrupted, OverBudget: s.OverBudget, Narrow: s.Narrow,
		Unit: r.Analysis.Unit.Name, NoiseFloor: finite(r.Analysis.Floor),
		Arms: []jsonArm{}, Refused: []jsonRefused{}, Files: append([]string{}, r.Files...),
	}
	for _, t := range r.Analysis.Tables {
		for _, row := range t.Rows {
			out.Arms = append(out.Arms, newJSONArm(row))
		}
	}
	for _, x := range s.Refused() {
		out.Refused = append(out.Refused, jsonRefused{x.Arm.String(), x.Control, x.Reason.Error()})
	}
	return out
}

func newJSONArm(r stats.Row) jsonArm {
	a := jsonArm{
		Provenance: r.Stamp.Provenance.String(), Arm: r.Arm.String(), Trials: len(r.Trials), Dirty: r.Dirty(),
		Figures: make(map[string]jsonInterval), Assumptions: append([]string{}, r.Stamp.Assumptions...), Calibration: r.Stamp.Calibration,
	}
	for unit, f := range r.Figures {
		a.Figures[unit] = newJSONInterval(lab.Interval{Lo: f.Lo, Mid: f.Mid, Hi: f.Hi})
	}
	if path := r.Path(); path.Ops > 0 {
		a.Path = path.Rows()
	}
	if e := r.Effect; e != nil {
		a.Effect = &jsonEffect{
			Reference: e.Reference.String(), ReferenceProvenance: e.Provenance.String(), Ratios: make(map[string]jsonInterval),
			P: finite(e.P), Holm: finite(e.Holm), Verdict: e.Verdict, Reason: e.Reason,
		}
		for unit, i := range e.Ratios {
			a.Effect.Ratios[unit] = newJSONInterval(i)
		}
	}
	return a
}

func newJSONInterval(i lab.Interval) jsonInterval {
	return jsonInterval{finite(i.Lo), finite(i.Mid), finite(i.Hi)}
}

// finite is nil for what JSON can't hold.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}
