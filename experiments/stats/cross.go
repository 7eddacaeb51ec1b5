package stats

import (
	"math"

	"latlab.example/common/lab"
	"latlab.example/experiments/runner"
)

// Crossed says what factors do that were varied together: the answer to whether
// turning one on at a time misleads. Ratios are of the analysis' unit and taken
// block by block, as those of effects.
type Crossed struct {
	Main         []Main
	Interactions []Interaction
}

// Setting is a factor at a level.
type Setting struct{ Factor, Level string }

func (s Setting) String() string { return s.Factor + "=" + s.Level }

// Main is the main effect of a setting: against the factor's baseline level, as
// the geometric mean over all combinations of the other factors' levels that were
// run with both.
type Main struct {
	Setting
	Provenance   lab.Provenance // modelled if one of the arms is
	Ratio        lab.Interval
	Combinations int // at least 2
}

// Interaction sets what two settings do together against what they do alone, all
// other factors at the baseline. Together is what was found, Expected the product
// of the two alone, and Ratio the one over the other: 1 if the settings don't mind
// each other. If its interval leaves out 1, turning one on at a time misleads.
type Interaction struct {
	A, B               Setting
	Provenance         lab.Provenance
	AloneA, AloneB     lab.Interval
	Expected, Together lab.Interval
	Ratio              lab.Interval
}

// Misleads says that the interval of the interaction leaves out 1, by more than
// the noise floor.
func (i Interaction) Misleads(floor float64) bool {
	return i.Ratio.Lo > 1+floor || i.Ratio.Hi < 1-floor
}

// crossed is empty unless two factors were varied together.
func crossed(set runner.Set, u lab.Unit) Crossed {
	d := design{set: set, unit: u, rows: make(map[string]runner.Row), levels: make(map[string][]string)}
	for _, r := range set.Rows {
		if r.Control || len(r.Trials) == 0 {
			continue
		}
		d.rows[r.Arm.String()] = r
		for name, label := range r.Arm.All() {
			if len(d.levels[name]) == 0 {
				d.names = append(d.names, name)
			}
			d.add(name, label)
		}
	}
	var out Crossed
	for _, name := range d.names {
		for _, level := range d.levels[name][1:] {
			if m, ok := d.main(Setting{name, level}); ok {
				out.Main = append(out.Main, m)
			}
		}
	}
	for i, f := range d.names {
		for _, g := range d.names[i+1:] {
			for _, a := range d.levels[f][1:] {
				for _, b := range d.levels[g][1:] {
					if x, ok := d.interaction(Setting{f, a}, Setting{g, b}); ok {
						out.Interactions = append(out.Interactions, x)
					}
				}
			}
		}
	}
	return out
}

type design struct {
	set    runner.Set
	unit   lab.Unit
	rows   map[string]runner.Row // that have figures, by arm
	names  []string
	levels map[string][]string // that were run, the baseline's first
}

func (d *design) add(name, label string) {
	for _, have := range d.levels[name] {
		if have == label {
			return
		}
	}
	d.levels[name] = append(d.levels[name], label)
}

// at is the row of an arm with other levels.
func (d *design) at(a lab.Arm, settings ...Setting) (runner.Row, bool) {
	for _, s := range settings {
		var err error
		if a, err = a.At(s.Factor, s.Level); err != nil {
			return runner.Row{}, false
		}
	}
	r, ok := d.rows[a.String()]
	return r, ok
}

// ratio is the median over blocks of the product of over's figures to the product
// of under's, as the n-th root.
func (d *design) ratio(over, under []runner.Row, n int) lab.Interval {
	var ratios []float64
	for b := range d.set.Blocks {
		sum, ok := 0.0, true
		for _, side := range []struct {
			rows []runner.Row
			sign float64
		}{{over, 1}, {under, -1}} {
			for _, r := range side.rows {
				byBlock, _ := r.Values(d.unit)
				v, there := byBlock[b]
				ok = ok && there && v > 0
				sum += side.sign * math.Log(v)
			}
		}
		if ok {
			ratios = append(ratios, math.Exp(sum/float64(n)))
		}
	}
	if len(ratios) == 0 {
		return unknown
	}
	s := Sample{Unit: lab.Unit{Name: d.unit.Name, Better: d.unit.Better}, Values: ratios}.Summarize()
	return lab.Interval{Lo: s.Lo, Mid: s.Mid, Hi: s.Hi}
}

// provenance is measured only if all rows are.
func provenance(rows ...runner.Row) lab.Provenance {
	for _, r := range rows {
		if r.Stamp.Provenance != lab.Measured {
			return lab.Modelled
		}
	}
	return lab.Measured
}

func (d *design) main(s Setting) (Main, bool) {
	base := Setting{s.Factor, d.levels[s.Factor][0]}
	var over, under []runner.Row
	for _, r := range d.set.Rows {
		if l, _ := r.Arm.Level(s.Factor); r.Control || l != s.Level {
			continue
		}
		with, ok := d.rows[r.Arm.String()]
		without, there := d.at(r.Arm, base)
		if ok && there {
			over, under = append(over, with), append(under, without)
		}
	}
	if len(over) < 2 {
		return Main{}, false
	}
	return Main{
		Setting: s, Provenance: provenance(append(over, under...)...),
		Ratio: d.ratio(over, under, len(over)), Combinations: len(over),
	}, true
}

func (d *design) interaction(a, b Setting) (Interaction, bool) {
	base := d.set.Rows[0].Arm
	none, ok0 := d.at(base)
	onlyA, okA := d.at(base, a)
	onlyB, okB := d.at(base, b)
	both, ok := d.at(base, a, b)
	if !ok0 || !okA || !okB || !ok {
		return Interaction{}, false
	}
	rows := func(r ...runner.Row) []runner.Row { return r }
	return Interaction{
		A: a, B: b, Provenance: provenance(none, onlyA, onlyB, both),
		AloneA:   d.ratio(rows(onlyA), rows(none), 1),
		AloneB:   d.ratio(rows(onlyB), rows(none), 1),
		Expected: d.ratio(rows(onlyA, onlyB), rows(none, none), 1),
		Together: d.ratio(rows(both), rows(none), 1),
		Ratio:    d.ratio(rows(both, none), rows(onlyA, onlyB), 1),
	}, true
}
