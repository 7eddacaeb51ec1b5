package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/report"
	"latlab.example/experiments/results"
	"latlab.example/experiments/stats"
)

// panel is one run as the template needs it.
type panel struct {
	ID, Of    string // of the panel, and of its experiment
	N         int    // of the experiment's panels
	Modelled  bool
	Word      string // modelled or measured
	Rig       string
	When      string
	Place     string // kind of rig, and the host's ID or virtual time
	Facts     []fact
	Baseline  string
	Factor    string // that the question is about
	Unjudged  string // why there are no verdicts, or empty
	Headline  []headline
	Groups    []group // the main one first
	Folded    []group // shown when asked for
	Notes     []string
	Bars      *figureView
	Falls     []figureView
	Warm      bool // these are of a warm-up
	Curves    []figureView
	More      []figureView // curves on which no answer flips
	Dists     []figureView
	StageRows *table
	All       *table // every figure of every arm
	Assumes   []string
	Calibrate []fact
	Disturbed []fact
	Earlier   []earlier
	File      string
}

// fact is a name and a text.
type fact struct{ Name, Text string }

// headline is a judged arm's verdict in short.
type headline struct {
	Arm, Effect string
	Verdict     verdict
}

// verdict is a word with its sign.
type verdict string

// Sign is a shape for each verdict, so that colour isn't alone.
func (v verdict) Sign() string {
	switch lab.Verdict(v) {
	case lab.Holds:
		return "✓"
	case lab.Fails:
		return "✕"
	}
	return "?"
}

// group is arms on a common axis.
type group struct {
	Title  string
	Unit   string
	Axis   template.HTML
	Rows   []row
	Judged bool // at least one row has a verdict
}

// row is an arm.
type row struct {
	Name          string
	Plot          template.HTML
	Mid, Interval string
	Effect, Range string // the change against the reference, and its interval
	Verdict       verdict
	Reason        string
	Dirty         string
	Refused       string // why there are no figures
	Baseline      bool
}

// table is text in cells; the first cell of a row heads it.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// figureView is a picture with the table that says the same.
type figureView struct {
	Title string
	Note  string
	SVG   template.HTML
	Table *table
	Key   template.HTML
	Wide  bool   // takes the whole width
	Flips string // the factor along which a verdict changes, or empty
}

// earlier is an older run of the same arms.
type earlier struct{ When, Commit, Blocks, Said, File string }

// run is a meta with what all its pictures need.
type run struct {
	results.Stored
	unit     lab.Unit // that is judged, or time
	units    []lab.Unit
	baseline string
	first    string // the factor that the question is about
	arms     []results.Arm
	control  *results.Arm
}

func newRun(s results.Stored) run {
	r := run{Stored: s, unit: lab.SecPerOp, baseline: s.Meta.Baseline}
	for _, u := range s.Meta.Units {
		r.units = append(r.units, u.Lab())
		if u.Name == s.Meta.Unit {
			r.unit = u.Lab()
		}
	}
	for i, a := range s.Meta.Arms {
		if a.Control {
			r.control = &s.Meta.Arms[i]
		} else {
			r.arms = append(r.arms, a)
		}
	}
	if r.units == nil { // a file of before units were recorded: which way is better isn't known
		for _, name := range valueNames(r.arms) {
			r.units = append(r.units, lab.Unit{Name: name})
		}
	}
	if r.baseline == "" && len(r.arms) > 0 {
		r.baseline = r.arms[0].Arm
	}
	r.first = levels(r.baseline)[0].factor
	return r
}

func valueNames(arms []results.Arm) []string {
	seen := make(map[string]bool)
	var names []string
	for _, a := range arms {
		for _, t := range a.Trials {
			for name := range t.Values {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func (r run) modelled() bool { return r.Meta.Provenance == lab.Modelled.String() }

// values are an arm's figures of a unit, by trial; NaN where it has none.
func values(a results.Arm, u lab.Unit) []float64 {
	var all []float64
	for _, t := range a.Trials {
		v, ok := t.Values[u.Name]
		if !ok {
			v = math.NaN()
		}
		all = append(all, v)
	}
	return all
}

func summarise(a results.Arm, u lab.Unit) stats.Summary {
	v := slices.DeleteFunc(values(a, u), math.IsNaN)
	return stats.Sample{Unit: u, Values: v}.Summarize()
}

func dirty(a results.Arm) int {
	n := 0
	for _, t := range a.Trials {
		if t.Dirty != "" {
			n++
		}
	}
	return n
}

// many is a plural: 1 block, 2 blocks.
func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

const stamp = "2006-01-02 15:04 UTC"

// foldFrom is the number of arms from which a panel shows only the main ones at
// once.
const foldFrom = 14

func newPanel(of string, n int, r run) panel {
	m := r.Meta
	p := panel{
		ID: fmt.Sprintf("%s-%d", of, n), Of: of, N: n, Modelled: r.modelled(), Word: m.Provenance, Rig: m.Rig, When: m.Start.UTC().Format(stamp),
		Place: "virtual time", Baseline: strings.ReplaceAll(r.baseline, "/", ", "), Factor: r.first, File: r.Path,
	}
	if m.HostID != "" {
		p.Place = "host " + m.HostID
	}
	if m.Kind != lab.KindVirtual.String() {
		p.Place = m.Kind + ", " + p.Place
	}
	p.Warm = m.Kind == lab.KindEmulated.String() || m.Kind == lab.KindReal.String()
	p.groups(r)
	p.headline(r)
	p.facts(r)
	p.pictures(r)
	p.details(r)
	return p
}

// groups puts the arms in tables: those that differ from the baseline in the first
// factor alone; then, for each other choice that several of them share, those; then
// the rest, one factor at a time.
func (p *panel) groups(r run) {
	type member struct {
		name    string
		arm     *results.Arm
		refused string
	}
	var order []string
	by := make(map[string][]member)
	put := func(arm string, m member) {
		var rest []level
		own := ""
		for _, l := range levels(arm) {
			if l.factor == r.first {
				own = l.label
			}
		}
		for _, l := range differing(arm, r.baseline) {
			if l.factor != r.first {
				rest = append(rest, l)
			}
		}
		key := ""
		if len(rest) > 0 {
			key = name(rest, "")
		}
		m.name = own
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], m)
	}
	for i := range r.arms {
		put(r.arms[i].Arm, member{arm: &r.arms[i]})
	}
	for _, x := range r.Meta.Refused {
		if !x.Control && !slices.ContainsFunc(r.arms, func(a results.Arm) bool { return a.Arm == x.Arm }) {
			put(x.Arm, member{refused: x.Reason})
		}
	}
	ref := r.arm(r.baseline)
	build := func(title string, ms []member, with bool) group {
		g := group{Title: title, Unit: unitName(r.unit)}
		var all []float64
		add := ms
		if with && ref != nil {
			all = append(all, slices.DeleteFunc(values(*ref, r.unit), math.IsNaN)...)
		}
		for _, m := range add {
			if m.arm != nil {
				s := summarise(*m.arm, r.unit)
				all = append(all, append(slices.DeleteFunc(values(*m.arm, r.unit), math.IsNaN), s.Lo, s.Hi)...)
			}
		}
		sc := scaleFor(all)
		g.Axis = axis(sc, r.unit)
		if sc.log {
			g.Title += " (log scale)"
		}
		at := math.NaN()
		if ref != nil && with {
			at = summarise(*ref, r.unit).Mid
		} else if len(ms) > 0 && ms[0].arm != nil {
			at = summarise(*ms[0].arm, r.unit).Mid
		}
		for _, m := range ms {
			row := row{Name: m.name, Refused: m.refused}
			if m.arm != nil {
				row = p.row(r, *m.arm, m.name, sc, at)
			}
			g.Judged = g.Judged || row.Verdict != ""
			g.Rows = append(g.Rows, row)
		}
		return g
	}
	var alone []member
	total := len(r.arms) + len(r.Meta.Refused)
	for _, key := range order {
		ms := by[key]
		switch {
		case key == "":
			p.Groups = append(p.Groups, build(r.first, ms, true))
		case len(ms) == 1:
			m := ms[0]
			if m.arm != nil {
				m.name = name(differing(m.arm.Arm, r.baseline), "")
			} else {
				m.name = key
			}
			alone = append(alone, m)
		default:
			p.Folded = append(p.Folded, build(r.first+" at "+key, ms, false))
		}
	}
	if len(alone) > 0 {
		p.Folded = append(p.Folded, build("one factor at a time", alone, true))
	}
	if total <= foldFrom || len(p.Groups) == 0 {
		p.Groups, p.Folded = append(p.Groups, p.Folded...), nil
	}
}

// arm finds an arm by its name, or nil.
func (r run) arm(name string) *results.Arm {
	for i := range r.arms {
		if r.arms[i].Arm == name {
			return &r.arms[i]
		}
	}
	return nil
}

func (p *panel) row(r run, a results.Arm, name string, sc scale, at float64) row {
	s := summarise(a, r.unit)
	out := row{Name: name, Baseline: a.Arm == r.baseline}
	out.Mid, out.Interval = summary(r.unit, s)
	out.Plot = dot(sc, r.unit, a, s, at, r.modelled())
	if n := dirty(a); n > 0 {
		out.Dirty = fmt.Sprintf("%d of %s disturbed", n, many(len(a.Trials), "trial"))
	}
	e := a.Effect
	if e == nil {
		return out
	}
	if i, ok := e.Ratios[r.unit.Name]; ok {
		out.Effect, out.Range = change(i.Lab())
	}
	if e.Judged {
		out.Verdict, out.Reason = verdict(e.Verdict), typeset(e.Reason)
	}
	if e.ReferenceProvenance != r.Meta.Provenance {
		if out.Reason != "" {
			out.Reason += "; "
		}
		out.Reason += "against a " + e.ReferenceProvenance + " arm: a modelled figure, since one side is simulated"
	}
	return out
}

// headline takes the judged arms of the main group, the largest change first.
func (p *panel) headline(r run) {
	type judged struct {
		headline
		size float64
	}
	var all []judged
	for _, a := range r.arms {
		e := a.Effect
		d := differing(a.Arm, r.baseline)
		if e == nil || !e.Judged || len(d) != 1 || d[0].factor != r.first {
			continue
		}
		i := e.Ratios[r.unit.Name].Lab()
		mid, interval := change(i)
		size := math.Abs(math.Log(i.Mid))
		if math.IsNaN(size) {
			size = 0
		}
		all = append(all, judged{headline{r.call(d[0].label), strings.TrimSpace(mid + " " + interval), verdict(e.Verdict)}, size})
	}
	slices.SortStableFunc(all, func(a, b judged) int { return cmp.Compare(b.size, a.size) })
	for _, j := range all {
		p.Headline = append(p.Headline, j.headline)
	}
	switch {
	case len(all) > 0:
	case r.Meta.Units == nil:
		p.Unjudged = "written by an older latlab, without its verdicts; run it again"
	case r.Meta.Rule == "no rule":
		p.Unjudged = "no rule, so nothing is judged"
	case len(p.Groups) > 0 && len(p.Groups[0].Rows) > 1:
		p.Unjudged = "the arms to judge have no figures"
	default:
		p.Unjudged = "nothing to judge: only one level of " + r.first + " was run"
	}
}

func (p *panel) facts(r run) {
	m := r.Meta
	blocks := fmt.Sprintf("%d of %s", m.Blocks, many(m.Planned, "block"))
	switch {
	case m.Interrupted:
		blocks += ", interrupted"
	case m.OverBudget:
		blocks += ", stopped when its budget was spent"
	case m.Narrow:
		blocks += ", enough: intervals were narrow"
	}
	floor := "unknown"
	if m.Floor != nil {
		floor = typeset(fmt.Sprintf("%.1f%%", 100**m.Floor))
		if mid, interval := change(m.AA.Lab()); m.AA.Mid != nil {
			floor += ": the A/A control differs by " + strings.TrimSpace(mid+" "+interval)
		}
	}
	n, all := 0, 0
	for _, a := range m.Arms {
		n, all = n+dirty(a), all+len(a.Trials)
	}
	disturbed := "none of " + many(all, "trial")
	if m.HostID == "" {
		disturbed = "not possible in virtual time"
	} else if n > 0 {
		disturbed = fmt.Sprintf("%d of %s; they are kept and marked ×", n, many(all, "trial"))
	}
	commit := m.Build.Commit
	switch {
	case commit == "":
		commit = "unknown"
	default:
		commit = commit[:min(12, len(commit))]
		if m.Build.Modified {
			commit += ", with changes that weren't committed"
		}
	}
	p.Facts = []fact{
		{"run", fmt.Sprintf("%s, %s in %v", p.When, blocks, m.Took.Round(100*time.Millisecond))},
		{"noise floor", floor}, {"disturbed", disturbed}, {"seed", fmt.Sprint(m.Seed)}, {"commit", commit}, {"file", r.Path},
	}
}

// details are what is read by who doubts a figure.
func (p *panel) details(r run) {
	p.All = allFigures(r)
	holders := make(map[string][]string)
	calibrated := make(map[string]int)
	for _, a := range r.arms {
		short := name(differing(a.Arm, r.baseline), "")
		for _, s := range a.Assumptions {
			if holders[s] == nil {
				p.Assumes = append(p.Assumes, s)
			}
			holders[s] = append(holders[s], short)
		}
		if a.Calibration != "" {
			if i, ok := calibrated[a.Calibration]; ok {
				p.Calibrate[i].Name += "; " + short
			} else {
				calibrated[a.Calibration] = len(p.Calibrate)
				p.Calibrate = append(p.Calibrate, fact{short, a.Calibration})
			}
		}
	}
	for i, s := range p.Assumes {
		if n := len(holders[s]); n < len(r.arms) {
			p.Assumes[i] += " (" + strings.Join(holders[s], "; ") + ")"
		}
	}
	for _, a := range r.Meta.Arms {
		short := name(differing(a.Arm, r.baseline), "")
		if a.Control {
			short = "A/A control"
		}
		for _, t := range a.Trials {
			if t.Dirty != "" && len(p.Disturbed) < maxDisturbed {
				p.Disturbed = append(p.Disturbed, fact{fmt.Sprintf("%s, block %d", short, t.Block+1), t.Dirty})
			}
		}
	}
	for _, x := range r.Meta.Refused {
		if x.Control {
			p.Notes = append(p.Notes, "the A/A control is refused: "+x.Reason)
		}
	}
}

// maxDisturbed is how many reasons of disturbed trials are listed.
const maxDisturbed = 40

// allFigures is every unit's median and interval of every arm.
func allFigures(r run) *table {
	t := &table{Caption: "Medians with 95 % intervals, " + r.Meta.Provenance, Head: []string{"arm"}}
	var units []lab.Unit
	for _, u := range r.units {
		if slices.ContainsFunc(r.arms, func(a results.Arm) bool { return summarise(a, u).N > 0 }) {
			units = append(units, u)
			t.Head = append(t.Head, unitName(u))
		}
	}
	t.Head = append(t.Head, "p", "p Holm")
	rows := r.arms
	if r.control != nil {
		rows = append(slices.Clone(rows), *r.control)
	}
	for _, a := range rows {
		cells := []string{name(differing(a.Arm, r.baseline), "")}
		if a.Control {
			cells[0] = "A/A control"
		}
		for _, u := range units {
			mid, interval := summary(u, summarise(a, u))
			cells = append(cells, strings.TrimSpace(mid+" "+interval))
		}
		p, holm := "–", "–"
		if e := a.Effect; e != nil {
			if e.P != nil {
				p = report.P(*e.P)
			}
			if e.Holm != nil {
				holm = report.P(*e.Holm)
			}
		}
		t.Rows = append(t.Rows, append(cells, p, holm))
	}
	return t
}
