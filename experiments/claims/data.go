package claims

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"latlab.example/experiments/audit"
)

//go:embed *.csv
var files embed.FS

// ErrData occurs when the data beside this code contradicts itself: a row that
// isn't there, a rule that can't be read. It is a fault in the program.
var ErrData = errors.New("the ledger's data is wrong")

// ErrCase occurs when no study has that name. It comes wrapped with the names.
var ErrCase = errors.New("no such case")

// Claim is what a study says, and how it is answered.
type Claim struct {
	ID        string
	Case      string
	Text      string   // one sentence
	Published string   // its figures
	Rows      []string // of published.csv
	cited     []string // those of them that Published shows, and statements

	// Experiment answers the claim, by these arms. It is empty if none does; then
	// Why says why.
	Experiment string
	Unit       string     // as the experiment names it
	Arms       []Selector // one, or several for rule order
	Against    Selector
	Rigs       []string // empty: all
	Rule       Rule
	Why        string
	Pending    bool // the experiment isn't built yet
}

// Selector chooses levels of factors; all others are at their baseline.
type Selector []Level

// Level is one of them.
type Level struct{ Factor, Label string }

// String is the selector as written: strategy=batch,keys=100.
func (s Selector) String() string {
	var parts []string
	for _, l := range s {
		parts = append(parts, l.Factor+"="+l.Label)
	}
	return strings.Join(parts, ",")
}

func parseSelector(text string) (Selector, error) {
	var s Selector
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		factor, label, ok := strings.Cut(part, "=")
		if !ok || factor == "" || label == "" {
			return nil, fmt.Errorf("%q: want factor=level", part)
		}
		s = append(s, Level{factor, label})
	}
	return s, nil
}

// Sentence is what a reader found by hand.
type Sentence struct {
	Case, Text string
	Findings   []string // keys of audit.Finding that say it; or
	Beyond     string   // why no law does
}

// Source is a document.
type Source struct{ Name, Title, Date, Subject string }

// Study is all that is known of what was published.
type Study struct {
	Table     *audit.Table
	Report    audit.Report
	Claims    []Claim
	Context   map[string]string // rows of which nothing is claimed, with the reason
	Sentences []Sentence
	Sources   []Source
	Pending   []string // experiments that aren't registered yet
}

// Load reads the data, once. The error wraps [ErrData].
func Load() (*Study, error) { return load() }

var load = sync.OnceValues(func() (*Study, error) {
	s, err := newStudy()
	if err != nil {
		return nil, fmt.Errorf("claims: %w: %w", ErrData, err)
	}
	return s, nil
})

// Tables gives the published figures as they lie in the program, for [audit.Read].
func Tables() []audit.Source {
	var sources []audit.Source
	for _, name := range []string{"published.csv", "statements.csv"} {
		b, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		sources = append(sources, audit.Source{Name: name, Reader: bytes.NewReader(b)})
	}
	return sources
}

func newStudy() (*Study, error) {
	s := &Study{Context: make(map[string]string)}
	var err error
	if s.Table, err = audit.Read(Tables()...); err != nil {
		return nil, err
	}
	s.Report = s.Table.Audit()
	for _, f := range []struct {
		name    string
		columns int
		row     func([]string) error
	}{
		{"sources.csv", 4, func(c []string) error { s.Sources = append(s.Sources, Source{c[0], c[1], c[2], c[3]}); return nil }},
		{"pending.csv", 2, func(c []string) error { s.Pending = append(s.Pending, c[0]); return nil }},
		{"context.csv", 2, s.context},
		{"sentences.csv", 4, s.sentence},
		{"claims.csv", 12, s.claim},
	} {
		if err := each(f.name, f.columns, f.row); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// each reads a file's rows, without its first line.
func each(name string, columns int, row func([]string) error) error {
	b, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.Comment, r.FieldsPerRecord = '#', columns
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, cells := range rows[1:] {
		if err := row(cells); err != nil {
			return fmt.Errorf("%s: %s: %w", name, cells[0], err)
		}
	}
	return nil
}

// match lists the ids of rows that fit one of the patterns; each must fit one.
func (s *Study) match(patterns string) ([]string, error) {
	var ids []string
	for pattern := range strings.FieldsSeq(patterns) {
		found := false
		for _, f := range s.Table.Figures {
			// Dots part an id's words, and a star is for one or several of them.
			ok, err := path.Match(pattern, f.ID)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", pattern, err)
			}
			if ok {
				found = true
				if !slices.Contains(ids, f.ID) {
					ids = append(ids, f.ID)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("no row %q", pattern)
		}
	}
	return ids, nil
}

func (s *Study) context(c []string) error {
	ids, err := s.match(c[0])
	for _, id := range ids {
		s.Context[id] = c[1]
	}
	if c[1] == "" {
		err = errors.New("it needs a reason")
	}
	return err
}

func (s *Study) sentence(c []string) error {
	x := Sentence{Case: c[0], Text: c[1], Beyond: c[3]}
	for key := range strings.SplitSeq(c[2], ";") {
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if _, ok := s.Report.Find(key); !ok {
			return fmt.Errorf("%q: no finding %q", x.Text, key)
		}
		x.Findings = append(x.Findings, key)
	}
	if (len(x.Findings) == 0) == (x.Beyond == "") {
		return fmt.Errorf("%q: it has either findings or a reason why no law says it", x.Text)
	}
	s.Sentences = append(s.Sentences, x)
	return nil
}

// claim reads id, case, text, published, rows, experiment, unit, arm, against,
// rigs, rule, why.
func (s *Study) claim(c []string) error {
	x := Claim{ID: c[0], Case: c[1], Text: c[2], Experiment: c[5], Unit: c[6], Rigs: strings.Fields(c[9]), Why: c[11]}
	if slices.ContainsFunc(s.Claims, func(o Claim) bool { return o.ID == x.ID }) {
		return errors.New("the id stands there twice")
	}
	var err error
	if x.Rows, err = s.match(c[4]); err != nil {
		return err
	}
	for _, id := range x.Rows {
		if f, _ := s.Table.Find(id); f.Statement() {
			x.cited = append(x.cited, id)
		}
	}
	if x.Published, err = s.fill(c[3], &x.cited); err != nil {
		return err
	}
	for _, id := range x.cited {
		if !slices.Contains(x.Rows, id) {
			x.Rows = append(x.Rows, id)
		}
	}
	if x.Experiment == "" {
		if x.Why == "" || strings.Join(c[6:11], "") != "" {
			return errors.New("without an experiment it needs the reason why, and no arm")
		}
		s.Claims = append(s.Claims, x)
		return nil
	}
	x.Pending = slices.Contains(s.Pending, x.Experiment)
	if x.Rule, err = ParseRule(c[10]); err != nil {
		return err
	}
	for arm := range strings.SplitSeq(c[7], "|") {
		sel, err := parseSelector(strings.TrimSpace(arm))
		if err != nil {
			return err
		}
		x.Arms = append(x.Arms, sel)
	}
	if x.Against, err = parseSelector(c[8]); err != nil {
		return err
	}
	if x.Rule.against() != (c[8] != "") || (len(x.Arms) > 1) != (x.Rule.kind == "order") || x.Unit == "" || x.Why != "" {
		return fmt.Errorf("rule %q doesn't fit the other columns", x.Rule)
	}
	s.Claims = append(s.Claims, x)
	return nil
}

// fill puts figures in place of {row ids}, and adds these to the rows.
func (s *Study) fill(text string, rows *[]string) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		id, after, ok := strings.Cut(rest, "}")
		f, known := s.Table.Find(id)
		if !ok || !known || f.Statement() {
			return "", fmt.Errorf("{%s}: no such row with a value", id)
		}
		b.WriteString(f.String())
		if !slices.Contains(*rows, id) {
			*rows = append(*rows, id)
		}
		text = after
	}
}

// Audit are the findings on the claim's rows that say more than what must be
// true: first those on figures that the claim shows, within these impossible ones.
func (s *Study) Audit(c Claim) []audit.Finding {
	touches := func(f audit.Finding, rows []string) bool {
		of := func(id string) bool { return slices.Contains(rows, id) }
		return slices.ContainsFunc(f.Against, of) || slices.ContainsFunc(f.Rests, of)
	}
	var near, far []audit.Finding
	for _, f := range s.Report.Broken() {
		switch {
		case touches(f, c.cited):
			near = append(near, f)
		case touches(f, c.Rows):
			far = append(far, f)
		}
	}
	return append(near, far...)
}

// Cases are the studies' names, in the order of the claims.
func (s *Study) Cases() []string {
	var names []string
	for _, c := range s.Claims {
		if !slices.Contains(names, c.Case) {
			names = append(names, c.Case)
		}
	}
	return names
}

// CheckCase gives an error that wraps [ErrCase] unless the name is a study's or
// empty.
func (s *Study) CheckCase(name string) error {
	if names := s.Cases(); name != "" && !slices.Contains(names, name) {
		return fmt.Errorf("%w: %q; choose one of: %s", ErrCase, name, strings.Join(names, ", "))
	}
	return nil
}

// Forgotten are the rows of published.csv that no claim, law or context uses, and
// those of the context that a claim uses after all.
func (s *Study) Forgotten() (unused, twice []string) {
	claimed := make(map[string]bool)
	for _, c := range s.Claims {
		for _, id := range c.Rows {
			claimed[id] = true
		}
	}
	for _, f := range s.Table.Figures {
		_, context := s.Context[f.ID]
		used := claimed[f.ID] || len(s.Report.Used[f.ID]) > 0
		switch {
		case !used && !context:
			unused = append(unused, f.ID)
		case claimed[f.ID] && context:
			twice = append(twice, f.ID)
		}
	}
	return unused, twice
}
