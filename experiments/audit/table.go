package audit

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ErrTable occurs when a table can't be read. It comes wrapped in an error that
// names file, line and column.
var ErrTable = errors.New("not a table of figures")

// columns are what a table may have. The first three it must have.
var columns = []string{
	"id", "value", "unit",
	"case", "source", "setting", "arm", "metric",
	"run", "quantity", "statistic", "concurrency", "servers", "group", "n", "wait", "within", "relation", "assumes",
}

// Columns are the names of columns that a table may have; the first three it must
// have.
func Columns() []string { return slices.Clone(columns) }

// maxRows of a table: more than any study publishes.
const maxRows = 10_000

// maxBytes of a table's text.
const maxBytes = 16 << 20

// Table is a table of figures whose relations have been resolved. Nothing changes
// it.
type Table struct {
	Figures []*Figure
	byID    map[string]*Figure
	slots   map[slot]*Figure // the figures of each run that laws read
}

// slot is what a run has one figure of: its mean response, say.
type slot struct{ run, quantity, statistic string }

// Find gives the figure of that id.
func (t *Table) Find(id string) (*Figure, bool) {
	f, ok := t.byID[id]
	return f, ok
}

// ReadFile is [Read] for a file.
func ReadFile(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(Source{path, f})
}

// Source is a text with the name that errors call it by.
type Source struct {
	Name string
	io.Reader
}

// Read reads one table from one or several sources, so that statements may lie
// beside figures. Each begins with a line of column names, in any order; lines
// that begin with # are comments. A column that is needed and missing, or a cell
// that can't be read, gives an error that wraps [ErrTable] and names the place as
// name:line:column; other errors are the reader's.
func Read(sources ...Source) (*Table, error) {
	t := &Table{byID: make(map[string]*Figure), slots: make(map[slot]*Figure)}
	var unresolved []pending
	for _, s := range sources {
		more, err := t.read(s)
		if err != nil {
			return nil, err
		}
		unresolved = append(unresolved, more...)
	}
	if len(t.Figures) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no row", sources[0].Name, ErrTable)
	}
	for _, p := range unresolved {
		if err := t.resolve(p); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// pending is a row's relations until all rows are known.
type pending struct {
	fig  *Figure
	refs []*ref
	cell place
}

// place is where a cell's text begins.
type place struct {
	name         string
	line, column int
}

func (p place) fail(offset int, err error) error {
	return fmt.Errorf("%s:%d:%d: %w: %w", p.name, p.line, p.column+offset, ErrTable, err)
}

// within puts an error at its byte of the cell.
func (p place) within(err error) error {
	var s *syntaxError
	if errors.As(err, &s) {
		return p.fail(s.at, fmt.Errorf("relation: %w", err))
	}
	return p.fail(0, err)
}

func (t *Table) read(s Source) ([]pending, error) {
	text, err := io.ReadAll(io.LimitReader(s, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s:1:1: %w: it is larger than %d MiB", s.Name, ErrTable, maxBytes>>20)
	}
	lines := bytes.Split(text, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.TrimLeadingSpace = '#', true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1:1: %w: it is empty; its first line names the columns: %s", s.Name, ErrTable, strings.Join(columns, ","))
	} else if err != nil {
		return nil, csvError(s.Name, err)
	}
	// Spreadsheets put a mark before the first name.
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	at := make(map[string]int)
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		line, col := r.FieldPos(i)
		p := place{s.Name, line, col}
		switch _, twice := at[name]; {
		case !slices.Contains(columns, name):
			return nil, p.fail(0, fmt.Errorf("no column %q is known; there are %s", name, strings.Join(columns, ", ")))
		case twice:
			return nil, p.fail(0, fmt.Errorf("column %q stands there twice", name))
		}
		at[name] = i
	}
	for _, name := range columns[:3] {
		if _, ok := at[name]; !ok {
			return nil, place{s.Name, 1, 1}.fail(0, fmt.Errorf("column %q is missing", name))
		}
	}
	var unresolved []pending
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return unresolved, nil
		} else if err != nil {
			return nil, csvError(s.Name, err)
		}
		w := row{name: s.Name, r: r, lines: lines, cells: cells, at: at}
		p, err := w.figure()
		if err != nil {
			return nil, err
		}
		if first, twice := t.byID[p.fig.ID]; twice {
			return nil, w.place("id").fail(0, fmt.Errorf("id %q is that of line %d already", p.fig.ID, first.Line))
		}
		if len(t.Figures) == maxRows {
			return nil, w.place("id").fail(0, fmt.Errorf("more than %d rows", maxRows))
		}
		for _, run := range p.fig.Runs {
			k := slot{run, p.fig.Quantity, p.fig.Statistic}
			if one := slotted[k.quantity]; !one {
				continue
			}
			if first, twice := t.slots[k]; twice {
				return nil, w.place("run").fail(0, fmt.Errorf("run %q has its %s already, in line %d: %s", run, strings.TrimSpace(k.statistic+" "+k.quantity), first.Line, first.ID))
			}
			t.slots[k] = p.fig
		}
		t.Figures = append(t.Figures, p.fig)
		t.byID[p.fig.ID] = p.fig
		unresolved = append(unresolved, p)
	}
}

// slotted are the quantities of which a run has one a statistic.
var slotted = map[string]bool{
	Response: true, Throughput: true, Think: true, Slow: true, SlowCount: true, Limit: true, Success: true, Users: true,
}

func csvError(name string, err error) error {
	var e *csv.ParseError
	if errors.As(err, &e) {
		return fmt.Errorf("%s:%d:%d: %w: %w", name, e.Line, max(e.Column, 1), ErrTable, e.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// row reads the cells of a line.
type row struct {
	name  string
	r     *csv.Reader
	lines [][]byte // of the whole text
	cells []string
	at    map[string]int
}

func (w row) cell(column string) string {
	if i, ok := w.at[column]; ok {
		return strings.TrimSpace(w.cells[i])
	}
	return ""
}

func (w row) place(column string) place {
	i, ok := w.at[column]
	if !ok {
		i = w.at["id"]
	}
	line, col := w.r.FieldPos(i)
	// A quoted cell's text begins behind the quote.
	if own := w.lines[line-1]; col <= len(own) && own[col-1] == '"' {
		col++
	}
	return place{w.name, line, col}
}

// count reads a whole number from 1 on, or 0 for an empty cell.
func (w row) count(column string) (int, error) {
	text := w.cell(column)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, w.place(column).fail(0, fmt.Errorf("%s %q: it is a whole number from 1 on", column, text))
	}
	return int(n), nil
}

func (w row) figure() (pending, error) {
	f := &Figure{
		ID: w.cell("id"), Case: w.cell("case"), Source: w.cell("source"), Setting: w.cell("setting"), Arm: w.cell("arm"), Metric: w.cell("metric"),
		Text: w.cell("value"), Unit: w.cell("unit"), Runs: strings.Fields(w.cell("run")), Groups: strings.Fields(w.cell("group")),
		Quantity: w.cell("quantity"), Statistic: w.cell("statistic"), Assumes: w.cell("assumes"),
	}
	f.Line, _ = w.r.FieldPos(0)
	fail := func(column string, err error) (pending, error) { return pending{}, w.place(column).fail(0, err) }

	p := parser{s: f.ID}
	if f.ID == "" || !letter(f.ID[0]) || p.name() != f.ID {
		return fail("id", fmt.Errorf("id %q: it begins with a letter and has letters, digits, dots and underscores", f.ID))
	}
	if f.ID == "change" {
		return fail("id", fmt.Errorf("id %q means something in relations", f.ID))
	}
	if f.Metric == "" {
		f.Metric = f.ID
	}
	if err := w.value(f); err != nil {
		return pending{}, err
	}
	for _, c := range []struct {
		column string
		to     *int
	}{{"concurrency", &f.Concurrency}, {"servers", &f.Servers}, {"n", &f.N}} {
		n, err := w.count(c.column)
		if err != nil {
			return pending{}, err
		}
		*c.to = n
	}
	if text := w.cell("wait"); text != "" {
		n, err := (&parser{s: text}).number()
		if err != nil || n.dim() != 1 && text != "0" {
			return fail("wait", fmt.Errorf("wait %q: write it like 50us", text))
		}
		v := n.eval().Mid()
		f.Wait = &v
	}
	rels, refs, err := parseRelations(w.cell("relation"), f.Statement())
	cell := w.place("relation")
	if i, ok := w.at["relation"]; ok {
		// Where the text begins in the cell.
		cell.column += len(w.cells[i]) - len(strings.TrimLeft(w.cells[i], " \t"))
	}
	if err != nil {
		return pending{}, cell.within(err)
	}
	if f.Statement() && len(rels) == 0 {
		return fail("value", errors.New("a row has a value, or a relation as `a < b` that states something"))
	}
	f.relations = rels
	return pending{f, refs, cell}, nil
}

// value reads the cells value, unit and within.
func (w row) value(f *Figure) error {
	if f.Statement() {
		if f.Unit != "" {
			return w.place("unit").fail(0, errors.New("a row without a value has no unit"))
		}
		return nil
	}
	u, err := findUnit(f.Unit)
	if err != nil {
		return w.place("unit").fail(0, err)
	}
	f.dim = u.dim
	if f.Value, err = parseValue(f.Text, u); err != nil {
		return w.place("value").fail(0, err)
	}
	if text := w.cell("within"); text != "" {
		off, _, err := parseDecimal(text)
		if err != nil || off < 0 {
			return w.place("within").fail(0, fmt.Errorf("within %q: by how much the value may be off, in its unit, as 0.5", text))
		}
		mid := f.Value.Mid()
		f.Value.Lo, f.Value.Hi = mid-off*u.factor, mid+off*u.factor
		if u.dim != 0 {
			f.Value.Lo = max(f.Value.Lo, 0)
		}
	}
	if f.Quantity == Throughput && f.Value.Lo <= 0 {
		return w.place("value").fail(0, errors.New("nothing follows from a rate that may be 0; give more digits"))
	}
	return nil
}

// resolve finds the rows that relations name.
func (t *Table) resolve(p pending) error {
	for _, r := range p.refs {
		fig, ok := t.byID[r.id]
		if !ok {
			return p.cell.fail(r.at, fmt.Errorf("relation: there is no row %q", r.id))
		}
		if fig.Statement() {
			return p.cell.fail(r.at, fmt.Errorf("relation: row %q has no value", r.id))
		}
		r.fig = fig
	}
	for _, r := range p.fig.relations {
		if err := r.checkDims(p.fig); err != nil {
			return p.cell.within(err)
		}
		if _, one := r.row(); r.needsRow() && !one {
			return p.cell.fail(r.at, fmt.Errorf("relation: %q takes the id of one row", r.verb))
		}
	}
	return nil
}
