package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/results"
)

// ErrNothing occurs when there is no result to make a page of.
var ErrNothing = errors.New("no results")

// Input is what a report is made of. The same input gives the same bytes.
type Input struct {
	results.Folder
	Claims   []Claim // those of a case side by side
	Fidelity []Fidelity
	// Order has the experiments' names as they shall stand; others follow.
	Order []string
	Made  time.Time
	Build results.Build // of the program that makes the page
}

// Page is a report that is ready to be written.
type Page struct {
	Made, Commit string
	Counts       string
	Cases        []caseView
	Experiments  []experiment
	Sensitive    []sensitivity // of experiments without a run
	Claims       []claimsOf
	Fidelity     []fidelityView
	Hosts        []hostView
	Skipped      []fact
	Measured     bool // some run is
}

// caseView is a case's part of the overview.
type caseView struct {
	Name string
	Rows []overview
}

// overview is an experiment in a line.
type overview struct {
	ID, Name, Question string
	Modelled, Measured []glance
}

// glance is a run's verdicts in short.
type glance struct {
	ID, Rig string
	Word    string
	Lines   []headline
	More    int      // verdicts that are left to the panel
	Flips   []string // factors along which a verdict changes
	None    string
}

// experiment is a section.
type experiment struct {
	ID, Name, Question, Note, Rule string
	Panels                         []panel
	Sensitive                      []sensitivity
}

type hostView struct{ ID, Text string }

// Limits of what a page shows of a folder.
const (
	maxPanels  = 4  // runs in full of one experiment on one rig and host
	maxEarlier = 20 // rows of earlier runs
	maxGlance  = 3  // verdicts of a run in the overview
)

// New sorts the results and draws their pictures. The error wraps ErrNothing.
func New(in Input) (*Page, error) {
	if len(in.Runs)+len(in.Sweeps)+len(in.Tornados) == 0 {
		return nil, ErrNothing
	}
	p := &Page{
		Made: in.Made.UTC().Format(stamp), Commit: in.Build.Commit,
		Claims: ledger(in.Claims), Fidelity: fidelities(in.Fidelity),
	}
	by := make(map[string][]run)
	var names []string
	for _, s := range in.Runs {
		if by[s.Meta.Experiment] == nil {
			names = append(names, s.Meta.Experiment)
		}
		by[s.Meta.Experiment] = append(by[s.Meta.Experiment], newRun(s))
	}
	rank := make(map[string]int)
	for i, name := range in.Order {
		rank[name] = i - len(in.Order)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	ids := make(map[string]bool)
	for _, name := range names {
		p.experiment(unique(ids, name), by[name])
	}
	p.sensitive(sensitivities(in.Sweeps, in.Tornados), ids)
	p.count(in)
	p.hosts(in)
	for _, s := range in.Skipped {
		p.Skipped = append(p.Skipped, fact{s.Path, s.Err.Error()})
	}
	return p, nil
}

// unique makes an ID of a name: small letters, digits and hyphens.
func unique(taken map[string]bool, name string) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	id = "x-" + id[:min(len(id), 60)]
	for try, n := id, 2; ; try, n = fmt.Sprintf("%s-%d", id, n), n+1 {
		if !taken[try] {
			taken[try] = true
			return try
		}
	}
}

// experiment adds a section and its line in the overview.
func (p *Page) experiment(id string, runs []run) {
	// Modelled first, then by rig and host; the newest first.
	slices.SortStableFunc(runs, func(a, b run) int {
		return cmp.Or(
			-cmp.Compare(a.Meta.Provenance, b.Meta.Provenance), cmp.Compare(kindRank(a), kindRank(b)), cmp.Compare(a.Meta.Rig, b.Meta.Rig),
			cmp.Compare(a.Meta.HostID, b.Meta.HostID), b.Meta.Start.Compare(a.Meta.Start), cmp.Compare(b.Path, a.Path))
	})
	newest := runs[0].Meta
	for _, r := range runs {
		if r.Meta.Start.After(newest.Start) {
			newest = r.Meta
		}
	}
	e := experiment{ID: id, Name: newest.Experiment, Question: newest.Question, Note: newest.Note, Rule: newest.Rule}
	line := overview{ID: id, Name: newest.Experiment, Question: newest.Question}
	at := make(map[string]int) // panels by what they are of
	full := make(map[string]int)
	for _, r := range runs {
		where := strings.Join([]string{r.Meta.Provenance, r.Meta.Rig, r.Meta.HostID}, "\x00")
		key := where + "\x00" + r.Meta.Rule + "\x00" + arms(r)
		i, seen := at[key]
		if !seen && full[where] < maxPanels {
			full[where]++
			at[key] = len(e.Panels)
			n := newPanel(id, len(e.Panels)+1, r)
			e.Panels = append(e.Panels, n)
			if full[where] == 1 {
				if r.modelled() {
					line.Modelled = append(line.Modelled, newGlance(n))
				} else {
					line.Measured = append(line.Measured, newGlance(n))
				}
			}
			continue
		}
		if !seen { // too many different choices of arms: to the last that is shown
			i = len(e.Panels) - 1
		}
		if q := &e.Panels[i]; len(q.Earlier) < maxEarlier {
			q.Earlier = append(q.Earlier, newEarlier(r))
		}
	}
	p.Experiments = append(p.Experiments, e)
	c, _, _ := strings.Cut(e.Name, "/")
	if n := len(p.Cases); n == 0 || p.Cases[n-1].Name != c {
		p.Cases = append(p.Cases, caseView{Name: c})
	}
	last := &p.Cases[len(p.Cases)-1]
	last.Rows = append(last.Rows, line)
}

func kindRank(r run) lab.Kind {
	k, _ := lab.ParseKind(r.Meta.Kind) // ReadMeta has checked it
	return k
}

// arms names what a run has, in one text.
func arms(r run) string {
	var all []string
	for _, a := range r.arms {
		all = append(all, a.Arm)
	}
	for _, x := range r.Meta.Refused {
		if !x.Control {
			all = append(all, x.Arm)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\x00")
}

func newGlance(n panel) glance {
	g := glance{ID: n.ID, Rig: n.Rig, Word: n.Word, Lines: n.Headline, None: n.Unjudged}
	if len(g.Lines) > maxGlance {
		g.More = len(g.Lines) - maxGlance
		g.Lines = g.Lines[:maxGlance]
	}
	for _, v := range n.Curves {
		if v.Flips != "" {
			g.Flips = append(g.Flips, v.Flips)
		}
	}
	return g
}

func newEarlier(r run) earlier {
	n := panel{}
	n.headline(r)
	var said []string
	for _, h := range n.Headline {
		said = append(said, h.Arm+" "+h.Effect+" "+string(h.Verdict))
	}
	commit := r.Meta.Build.Commit
	return earlier{
		When: r.Meta.Start.UTC().Format(stamp), Commit: commit[:min(12, len(commit))], Blocks: itoa(r.Meta.Blocks),
		Said: strings.Join(said, "; "), File: r.Path,
	}
}

// sensitive puts what a model rests on into its experiment's section, or on its own
// if no run of it is there.
func (p *Page) sensitive(all []sensitivity, ids map[string]bool) {
	for _, s := range all {
		s.ID = unique(ids, "model-"+s.Name)
		i := slices.IndexFunc(p.Experiments, func(e experiment) bool { return e.Name == s.Name })
		if i < 0 {
			p.Sensitive = append(p.Sensitive, s)
		} else {
			p.Experiments[i].Sensitive = append(p.Experiments[i].Sensitive, s)
		}
	}
}

// pictures are a panel's figures beside its table of arms.
func (p *panel) pictures(r run) {
	p.Bars = r.bars()
	p.Falls = r.falls()
	p.Curves, p.More = r.curves()
	p.Dists, p.StageRows = r.dists()
}

func (p *Page) count(in Input) {
	modelled, measured, refused := 0, 0, 0
	for _, s := range in.Runs {
		if s.Meta.Provenance == lab.Measured.String() {
			measured++
		} else {
			modelled++
		}
		refused += len(s.Meta.Refused)
	}
	p.Measured = measured > 0
	p.Counts = fmt.Sprintf("%s, %s: %d modelled, %d measured", many(len(p.Experiments), "experiment"), many(len(in.Runs), "run"), modelled, measured)
	if refused > 0 {
		p.Counts += fmt.Sprintf("; %s refused", many(refused, "arm"))
	}
}

func (p *Page) hosts(in Input) {
	by := make(map[string]host.Fingerprint)
	var ids []string
	for _, s := range in.Runs {
		if s.Meta.Host == nil || s.Meta.HostID == "" {
			continue
		}
		if _, ok := by[s.Meta.HostID]; !ok {
			ids = append(ids, s.Meta.HostID)
		}
		by[s.Meta.HostID] = *s.Meta.Host
	}
	slices.Sort(ids)
	for _, id := range ids {
		p.Hosts = append(p.Hosts, hostView{ID: id, Text: strings.TrimPrefix(by[id].String(), by[id].ID()+": ")})
	}
}

var (
	//go:embed page.gohtml
	layout string
	//go:embed style.css
	style string
	//go:embed page.js
	script string

	parsed = template.Must(template.New("page").Parse(layout))
)

// Write writes the page. It returns the error of w.
func (p *Page) Write(w io.Writer) error {
	var out bytes.Buffer
	err := parsed.Execute(&out, struct {
		*Page
		Style  template.CSS
		Script template.JS
		Policy string
	}{p, template.CSS(style), template.JS(script), policy()})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// policy allows this style and this script, and no request at all.
func policy() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}
