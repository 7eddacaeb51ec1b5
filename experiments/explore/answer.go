package explore

import (
	"cmp"
	"math"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/experiments/report"
	"latlab.example/experiments/results"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

// Answer is what a model says of a setting after some of its blocks.
type Answer struct {
	Provenance string `json:"provenance"` // always modelled
	Experiment string `json:"experiment"`
	Rig        string `json:"rig"`
	Blocks     int    `json:"blocks"` // done
	Planned    int    `json:"planned"`
	Final      bool   `json:"final"`         // no further answer comes
	Cut        string `json:"cut,omitempty"` // why it is final before all blocks were done

	Factor    string  `json:"factor"` // that the rule is about
	Chosen    string  `json:"chosen"` // its level
	Baseline  string  `json:"baseline"`
	Now       Side    `json:"now"`
	Reference *Side   `json:"reference,omitempty"` // nil if the setting is the reference
	Effects   []Delta `json:"effects,omitempty"`   // of Now against Reference
	Verdict   string  `json:"verdict,omitempty"`   // empty until all blocks are done, and where nothing is judged
	Reason    string  `json:"reason,omitempty"`
	Floor     string  `json:"floor,omitempty"` // the noise floor

	Changed []string      `json:"changed,omitempty"` // parameters that aren't the model's own
	Command string        `json:"command"`
	Took    time.Duration `json:"took_ns"` // wall time
}

// Side is one setting's figures.
type Side struct {
	Ops      int               `json:"ops"`        // in all trials
	Virtual  time.Duration     `json:"virtual_ns"` // time of these operations
	Figures  []Figure          `json:"figures"`
	Rate     string            `json:"rate"`    // throughput; empty if there is none
	RateN    float64           `json:"rate_n"`  // the same as a number
	RateOf   string            `json:"rate_of"` // of all users together; empty if of one caller, one operation after the other
	Path     []metrics.Row     `json:"path"`    // where the time of an operation went; empty if the model doesn't say
	Timeline *results.Timeline `json:"timeline,omitempty"`
	Times    *Times            `json:"times,omitempty"`
}

// Figure is an outcome: its median and the interval that it lies in.
type Figure struct {
	Unit   string   `json:"unit"`
	Better string   `json:"better"`
	Text   string   `json:"text"`
	Mid    *float64 `json:"mid"` // null if unknown
}

// Delta is an outcome against the reference's: the median of their ratio.
type Delta struct {
	Unit   string           `json:"unit"`
	Better string           `json:"better"`
	Text   string           `json:"text"`
	Ratio  results.Interval `json:"ratio"`
}

// Times are the times of operations, in nanoseconds.
type Times struct {
	Count     uint64      `json:"count"`
	Quantiles [][2]int64  `json:"quantiles"` // parts of a thousand, and the time
	Buckets   [][3]uint64 `json:"buckets"`   // from, to, count
}

// maxBuckets is how many buckets a picture of a distribution needs at most.
const maxBuckets = 240

func newTimes(d metrics.Dist) *Times {
	if d.Count() == 0 {
		return nil
	}
	t := &Times{Count: d.Count()}
	for _, q := range []int64{0, 10, 50, 100, 250, 500, 750, 900, 950, 990, 999, 1000} {
		t.Quantiles = append(t.Quantiles, [2]int64{q, d.Quantile(float64(q) / 1000)})
	}
	for b, n := range d.Buckets() {
		t.Buckets = append(t.Buckets, [3]uint64{uint64(b.Lower), uint64(b.Upper), n})
	}
	for len(t.Buckets) > maxBuckets { // neighbours go together
		joined := t.Buckets[:0:0]
		for i := 0; i < len(t.Buckets); i += 2 {
			b := t.Buckets[i]
			if i+1 < len(t.Buckets) {
				b[1], b[2] = t.Buckets[i+1][1], b[2]+t.Buckets[i+1][2]
			}
			joined = append(joined, b)
		}
		t.Buckets = joined
	}
	return t
}

// answer is what the set says so far.
func (s setting) answer(set runner.Set) Answer {
	a := stats.Analyse(set)
	factor := s.experiment.FactorsOn(s.rig)[0]
	out := Answer{
		Provenance: set.Rows[0].Stamp.Provenance.String(), Experiment: s.experiment.Name, Rig: s.rig.Name(),
		Blocks: set.Blocks, Planned: set.Config.Blocks, Factor: factor.Name(), Baseline: factor.Label(0),
		Changed: s.changed, Command: s.command(), Took: time.Since(set.Start),
	}
	out.Chosen, _ = s.arms[len(s.arms)-1].Level(factor.Name())
	out.Final = set.Blocks >= set.Config.Blocks
	rows := a.Tables[0].Rows
	out.Now = s.side(rows[len(rows)-1])
	if !math.IsInf(a.Floor, 0) {
		out.Floor = strings.TrimPrefix(report.Percent(1+a.Floor), "+")
	}
	if len(rows) < 2 {
		return out
	}
	reference := s.side(rows[0])
	out.Reference = &reference
	e := rows[1].Effect
	for _, u := range s.experiment.AllUnits() {
		if r, ok := e.Ratios[u.Name]; ok && !math.IsNaN(r.Mid) {
			out.Effects = append(out.Effects, Delta{u.Name, u.Better.String(), change(r), results.NewInterval(r)})
		}
	}
	if e.Judged && out.Final {
		out.Verdict, out.Reason = string(e.Verdict), e.Reason
	}
	return out
}

// change is a ratio's change; without an interval while there is none.
func change(r lab.Interval) string {
	if math.IsInf(r.Lo, 0) || math.IsInf(r.Hi, 0) {
		return report.Percent(r.Mid)
	}
	return report.Change(r)
}

func (s setting) side(r stats.Row) Side {
	out := Side{Figures: []Figure{}, Path: r.Path().Rows(), Timeline: results.NewTimeline(r.Typical), Times: newTimes(r.Times)}
	if r.Path().Ops == 0 {
		out.Path = []metrics.Row{}
	}
	for _, t := range r.Trials {
		out.Ops += t.Result.Ops()
		out.Virtual += t.Result.Took()
	}
	for _, u := range s.experiment.AllUnits() {
		f, ok := r.Figures[u.Name]
		if !ok {
			continue
		}
		text := f
		if math.IsInf(f.Lo, 0) || math.IsInf(f.Hi, 0) { // no interval yet
			text.Lo, text.Hi = f.Mid, f.Mid
		}
		written := readable(u, text)
		out.Figures = append(out.Figures, Figure{u.Name, u.Better.String(), written, results.NewInterval(lab.Interval{Mid: f.Mid}).Mid})
		if results.Rate(u) {
			out.RateOf, out.RateN = strings.TrimSuffix(u.Name, "/s"), f.Mid
		}
	}
	if f, ok := r.Figures[lab.SecPerOp.Name]; ok && out.RateOf == "" && f.Mid > 0 {
		out.RateN = 1 / f.Mid
	}
	if out.RateN > 0 {
		out.Rate = report.Figure(lab.Unit{}, out.RateN) + " " + cmp.Or(out.RateOf, "op") + "/s"
	}
	return out
}

// readable writes a figure in its unit; times that a unit has in nanoseconds as
// times.
func readable(u lab.Unit, s stats.Summary) string {
	if name, _, _ := strings.Cut(u.Name, "/"); name == "ns" || strings.HasSuffix(name, "-ns") {
		u, s.Lo, s.Mid, s.Hi = lab.SecPerOp, s.Lo/1e9, s.Mid/1e9, s.Hi/1e9
	}
	return report.Summary(u, s)
}
