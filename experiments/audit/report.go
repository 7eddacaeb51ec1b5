package audit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"latlab.example/common/laws"
)

// Finding is one thing that follows from the table's figures. Its Value is of the
// quantity that the sentence speaks of.
type Finding struct {
	laws.Finding
	Key        string   `json:"key"` // law and subject; stays the same as long as the rows do
	Case       string   `json:"case,omitempty"`
	Rows       []string `json:"rows"`       // ids of the figures that it rests on
	Arithmetic string   `json:"arithmetic"` // with the figures as written
	// Against are those of Rows that the finding speaks against. A change in
	// percent that doesn't follow says nothing against the rows it comes from.
	Against []string `json:"against"`
	// Rests are other figures that were worked out from rows of this
	// contradiction: a change in percent, say.
	Rests []string `json:"rests,omitempty"`
}

// String is the finding in a few lines.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s [%s]", f.Grade, f.Text, f.Law)
	switch {
	case f.Assumes == "":
	case f.Grade == laws.Must:
		fmt.Fprintf(&b, " Provided that %s.", f.Assumes)
	default:
		fmt.Fprintf(&b, " It would need: %s.", f.Assumes)
	}
	fmt.Fprintf(&b, "\n    %s", f.Arithmetic)
	fmt.Fprintf(&b, "\n    rows: %s", strings.Join(f.Rows, ", "))
	if len(f.Rests) > 0 {
		fmt.Fprintf(&b, "\n    so these rest on it: %s", strings.Join(f.Rests, ", "))
	}
	return b.String()
}

// Report is what an audit gave.
type Report struct {
	// Findings, impossible ones first, then by the order of the table.
	Findings []Finding `json:"findings"`
	// Used names, for each row, the laws that were held against it, broken or not.
	Used map[string][]string `json:"used"`
}

// Broken are the findings of grade impossible and implausible.
func (r Report) Broken() []Finding {
	n := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Grade == laws.Must })
	if n < 0 {
		return r.Findings
	}
	return r.Findings[:n]
}

// Find gives the finding of that key.
func (r Report) Find(key string) (Finding, bool) {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Key == key })
	if i < 0 {
		return Finding{}, false
	}
	return r.Findings[i], true
}

// Of are the findings of one case, or all if the name is empty.
func (r Report) Of(name string) Report {
	if name == "" {
		return r
	}
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Case != name })
	return r
}

// WriteText writes the findings as a list, with a line that counts them. It
// returns the error of w.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	count := make(map[laws.Grade]int)
	for _, f := range r.Findings {
		count[f.Grade]++
		fmt.Fprintf(&b, "- %v\n", f)
	}
	fmt.Fprintf(&b, "%d impossible, %d implausible, %d must be true if the figures are\n",
		count[laws.Impossible], count[laws.Implausible], count[laws.Must])
	_, err := io.WriteString(w, b.String())
	return err
}

// auditor collects findings.
type auditor struct {
	*Table
	findings []Finding
	used     map[string]map[string]bool
}

// Audit holds every law against every figure of which the columns give what the
// law needs.
func (t *Table) Audit() Report {
	a := &auditor{Table: t, used: make(map[string]map[string]bool)}
	for _, r := range a.runs() {
		a.auditRun(r)
	}
	for _, g := range a.groups() {
		a.auditSeries(g)
		a.auditLoads(g)
	}
	a.auditRelations()
	a.nest()
	a.rest()
	order := []laws.Grade{laws.Impossible, laws.Implausible, laws.Must}
	slices.SortStableFunc(a.findings, func(x, y Finding) int {
		return cmp.Compare(slices.Index(order, x.Grade), slices.Index(order, y.Grade))
	})
	r := Report{Findings: a.findings, Used: make(map[string][]string)}
	for id, names := range a.used {
		r.Used[id] = slices.Sorted(maps.Keys(names))
	}
	return r
}

// nest drops what a group says of its runs where a larger group says it of more.
func (a *auditor) nest() {
	within := func(f Finding) bool {
		return strings.HasPrefix(f.Key, "one load/") && slices.ContainsFunc(a.findings, func(o Finding) bool {
			return o.Law == f.Law && o.Key != f.Key && len(o.Rows) > len(f.Rows) &&
				!slices.ContainsFunc(f.Rows, func(id string) bool { return !slices.Contains(o.Rows, id) })
		})
	}
	var keep []Finding
	for _, f := range a.findings {
		if !within(f) {
			keep = append(keep, f)
		}
	}
	a.findings = keep
}

// law notes that a law was held against the figures.
func (a *auditor) law(name string, figs ...*Figure) {
	for _, f := range figs {
		if a.used[f.ID] == nil {
			a.used[f.ID] = make(map[string]bool)
		}
		a.used[f.ID][name] = true
	}
}

// say adds a finding on the figures; subject completes its key.
func (a *auditor) say(name, subject string, f Finding, figs ...*Figure) {
	f.Key = name + "/" + subject
	// JSON has no infinity, and a figure that may be 0 divides to one.
	f.Value.Lo = max(-math.MaxFloat64, min(f.Value.Lo, math.MaxFloat64))
	f.Value.Hi = max(-math.MaxFloat64, min(f.Value.Hi, math.MaxFloat64))
	for _, fig := range figs {
		f.Rows = append(f.Rows, fig.ID)
	}
	f.Against = f.Rows
	if ofFirst[name] {
		f.Against = f.Rows[:1]
	}
	f.Case = figs[0].Case
	a.findings = append(a.findings, f)
}

// doubtful are the laws that cast doubt on rows as such. The others say that a
// row doesn't follow from sound ones, or that two don't belong together.
var doubtful = map[string]bool{
	"little": true, "monotone in latency": true, "percentiles rise": true, "mean and percentiles": true,
	"share over a limit": true, "counts over the limit": true,
}

// ofFirst are the laws that speak against the first of their rows: it doesn't
// follow from the others.
var ofFirst = map[string]bool{
	"derived": true, "bound": true, "statement": true, "like with like": true, "Little's law takes a mean": true,
}

// rest names what was worked out from rows that can't be true together.
func (a *auditor) rest() {
	uses := make(map[*Figure][]*Figure) // what a derived figure is made of
	for _, f := range a.Figures {
		for _, r := range f.relations {
			if r.verb == derived && r.left == nil {
				uses[f] = r.expr.rows(uses[f])
			}
		}
	}
	for i := range a.findings {
		f := &a.findings[i]
		if law, _, _ := strings.Cut(f.Key, "/"); f.Grade != laws.Impossible || !doubtful[law] {
			continue
		}
		bad := make(map[string]bool)
		for _, id := range f.Rows {
			bad[id] = true
		}
		// Figures in the table's order may rest on later ones: go on until nothing is added.
		for more := true; more; {
			more = false
			for _, fig := range a.Figures {
				if !bad[fig.ID] && slices.ContainsFunc(uses[fig], func(u *Figure) bool { return bad[u.ID] }) {
					bad[fig.ID], more = true, true
					f.Rests = append(f.Rests, fig.ID)
				}
			}
		}
	}
}
