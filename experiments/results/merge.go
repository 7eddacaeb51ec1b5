package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/stats"
)

// ErrMerge occurs when results can't have been measured together.
var ErrMerge = errors.New("can't be merged")

// Overlap is the share of the longest trial for which all hosts' trials must have
// run at once to be counted.
const Overlap = 0.8

// Merged is what several hosts measured of one server at the same time. Each
// host's own figures are kept; only rates have a sum.
type Merged struct {
	Experiment string      `json:"experiment"`
	Rig        string      `json:"rig"`
	Provenance string      `json:"provenance"`
	Hosts      []string    `json:"hosts"` // one a file, made unique
	Arms       []MergedArm `json:"arms"`
	Dropped    int         `json:"dropped"` // trials without a partner at the same time
}

// MergedArm is an arm's part.
type MergedArm struct {
	Arm     string         `json:"arm"`
	Blocks  int            `json:"blocks"` // in which all hosts ran it at once
	Figures []MergedFigure `json:"figures"`
}

// MergedFigure is a unit's part.
type MergedFigure struct {
	Unit     lab.Unit
	Hosts    []stats.Summary // in the order of Merged.Hosts
	Together *stats.Summary  // the sum of a rate; nil for what can't be added
}

// MarshalJSON writes intervals, with null for what is unknown.
func (f MergedFigure) MarshalJSON() ([]byte, error) {
	flat := func(s stats.Summary) Interval { return NewInterval(lab.Interval{Lo: s.Lo, Mid: s.Mid, Hi: s.Hi}) }
	out := struct {
		Unit     string     `json:"unit"`
		Hosts    []Interval `json:"hosts"`
		Together *Interval  `json:"together"`
	}{Unit: f.Unit.Name}
	for _, s := range f.Hosts {
		out.Hosts = append(out.Hosts, flat(s))
	}
	if f.Together != nil {
		i := flat(*f.Together)
		out.Together = &i
	}
	return json.Marshal(out)
}

// Rate says that figures of the unit from several hosts add up: its name ends in
// /s.
func Rate(u lab.Unit) bool { return strings.HasSuffix(u.Name, "/s") }

// Merge joins results of one experiment and rig that several hosts measured with
// one seed, and so in one order. Trials are paired by block; those that didn't run
// at the same time are dropped and counted. Times are those of the hosts' clocks,
// which must agree to a small part of a trial. The error wraps ErrMerge.
func Merge(files []Stored) (Merged, error) {
	if len(files) < 2 {
		return Merged{}, fmt.Errorf("%w: %d file; name two or more", ErrMerge, len(files))
	}
	first := files[0].Meta
	out := Merged{Experiment: first.Experiment, Rig: first.Rig, Provenance: first.Provenance}
	for i, f := range files {
		m := f.Meta
		switch {
		case m.Provenance != lab.Measured.String():
			return Merged{}, fmt.Errorf("%s: %w: it is %s; only what real servers gave has several load machines", f.Path, ErrMerge, m.Provenance)
		case m.Experiment != first.Experiment || m.Rig != first.Rig:
			return Merged{}, fmt.Errorf("%s: %w: it is of %s on rig %s, and %s of %s on rig %s", f.Path, ErrMerge, m.Experiment, m.Rig, files[0].Path, first.Experiment, first.Rig)
		case m.Seed != first.Seed:
			return Merged{}, fmt.Errorf("%s: %w: its seed is %d, that of %s is %d; run all with one --seed, so that they take the arms in one order", f.Path, ErrMerge, m.Seed, files[0].Path, first.Seed)
		}
		name := m.HostID
		for n := 2; slices.Contains(out.Hosts, name); n++ {
			name = fmt.Sprintf("%s#%d", m.HostID, n)
		}
		out.Hosts = append(out.Hosts, name)
		for _, g := range files[:i] {
			if g.Path == f.Path || m.HostID == g.Meta.HostID && m.Start.Equal(g.Meta.Start) {
				return Merged{}, fmt.Errorf("%s: %w: it is the same run as %s", f.Path, ErrMerge, g.Path)
			}
		}
	}
	for _, a := range first.Arms {
		if a.Control {
			continue
		}
		arms := make([]Arm, 0, len(files))
		for _, f := range files {
			if i := slices.IndexFunc(f.Meta.Arms, func(b Arm) bool { return b.Arm == a.Arm && !b.Control }); i >= 0 {
				arms = append(arms, f.Meta.Arms[i])
			}
		}
		if len(arms) < len(files) {
			out.Dropped += len(a.Trials)
			continue
		}
		merged, dropped := mergeArm(files, arms, units(first))
		out.Dropped += dropped
		if merged.Blocks > 0 {
			out.Arms = append(out.Arms, merged)
		}
	}
	if len(out.Arms) == 0 {
		return Merged{}, fmt.Errorf("%s and %d more: %w: no trial ran on all hosts at the same time; start the runs together, with one --seed", files[0].Path, len(files)-1, ErrMerge)
	}
	return out, nil
}

func units(m Meta) []lab.Unit {
	var all []lab.Unit
	for _, u := range m.Units {
		all = append(all, u.Lab())
	}
	return all
}

func mergeArm(files []Stored, arms []Arm, units []lab.Unit) (out MergedArm, dropped int) {
	out.Arm = arms[0].Arm
	var together [][]Trial // by block, a trial a host
	for _, t := range arms[0].Trials {
		row := []Trial{t}
		for _, a := range arms[1:] {
			if i := slices.IndexFunc(a.Trials, func(u Trial) bool { return u.Block == t.Block }); i >= 0 {
				row = append(row, a.Trials[i])
			}
		}
		if len(row) == len(arms) && overlap(files, row) >= Overlap {
			together = append(together, row)
		}
	}
	for _, a := range arms {
		dropped += len(a.Trials) - len(together)
	}
	out.Blocks = len(together)
	for _, u := range units {
		f := MergedFigure{Unit: u}
		var sums []float64
		values := make([][]float64, len(arms))
		for _, row := range together {
			sum, all := 0.0, true
			for i, t := range row {
				v, ok := t.Values[u.Name]
				if ok {
					values[i] = append(values[i], v)
				}
				sum, all = sum+v, all && ok
			}
			if all {
				sums = append(sums, sum)
			}
		}
		for _, v := range values {
			f.Hosts = append(f.Hosts, stats.Sample{Unit: u, Values: v}.Summarize())
		}
		if Rate(u) && len(sums) > 0 {
			s := stats.Sample{Unit: u, Values: sums}.Summarize()
			f.Together = &s
		}
		if !slices.ContainsFunc(values, func(v []float64) bool { return len(v) == 0 }) {
			out.Figures = append(out.Figures, f)
		}
	}
	return out, dropped
}

// overlap is the share of the longest trial of a row in which all ran.
func overlap(files []Stored, row []Trial) float64 {
	var from, to time.Time
	var longest time.Duration
	for i, t := range row {
		start, end := files[i].Meta.Start.Add(t.Start), files[i].Meta.Start.Add(t.End)
		if i == 0 || start.After(from) {
			from = start
		}
		if i == 0 || end.Before(to) {
			to = end
		}
		longest = max(longest, end.Sub(start))
	}
	if longest <= 0 {
		return 0
	}
	return float64(max(0, to.Sub(from))) / float64(longest)
}
