package param

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit is what a value counts.
type Unit uint8

// The units, with what the integer means.
const (
	Time  Unit = iota // nanoseconds
	Count             // things
	Share             // millionths of a whole
	Bytes             // bytes
	Rate              // bytes a second; 0 is without a limit
)

var unitNames = [...]string{"time", "count", "share", "bytes", "bytes/s"}

func (u Unit) String() string { return unitNames[u] }

// format writes a value as Parse reads it.
func (u Unit) format(v int64) string {
	switch u {
	case Time:
		return strings.ReplaceAll(time.Duration(v).String(), "µs", "us") // as factors have it
	case Share:
		return strconv.FormatFloat(float64(v)/1e6, 'g', -1, 64)
	}
	return strconv.FormatInt(v, 10)
}

// parse reads a value: 1.5ms for a time, 0.25 for a share, whole numbers for the
// rest.
func (u Unit) parse(s string) (int64, error) {
	switch u {
	case Time:
		d, err := time.ParseDuration(s)
		return int64(d), err
	case Share:
		f, err := strconv.ParseFloat(s, 64)
		if err == nil && !(math.Abs(f) < 1e9) {
			err = strconv.ErrRange
		}
		return int64(math.Round(f * 1e6)), err
	}
	return strconv.ParseInt(s, 10, 64)
}

// Kind is where a value comes from.
type Kind uint8

// The kinds of source.
const (
	IsAssumed    Kind = iota // nobody published or measured it
	IsPublished              // it stands in the study
	IsCalibrated             // it was fitted
	IsSet                    // it was changed for this run
)

var kindNames = [...]string{"assumed", "published", "calibrated", "set"}

func (k Kind) String() string { return kindNames[k] }

// Source is where a value comes from, with what a reader needs to look it up.
type Source struct {
	Kind Kind
	Text string
}

// Published is a source of figures of the study, by their row ids.
func Published(rows ...string) Source { return Source{IsPublished, strings.Join(rows, ", ")} }

// Calibrated is a fit. on says to what.
func Calibrated(on string) Source { return Source{IsCalibrated, on} }

// Assumed is a value that nobody published or measured. why says why it is not
// absurd.
func Assumed(why string) Source { return Source{IsAssumed, why} }

func (s Source) String() string { return s.Kind.String() + ": " + s.Text }

// Param is one parameter.
type Param struct {
	Name  string // as on the command line: without spaces
	Value int64
	Unit  Unit
	// Lo and Hi are the range in which the value may well lie, for Tornado. Equal
	// ends say that it is what it is, as with a choice of the study.
	Lo, Hi int64
	Source Source
	What   string // what it is, in a few words
}

// String is the sentence that a result travels with.
func (p Param) String() string {
	return fmt.Sprintf("%s = %s: %s (%v)", p.Name, p.Unit.format(p.Value), p.What, p.Source)
}

// Text is the value in its unit, as Table.Parse reads it.
func (p Param) Text() string { return p.Unit.format(p.Value) }

// TextOf is another value in the parameter's unit.
func (p Param) TextOf(v int64) string { return p.Unit.format(v) }

// check is why a parameter can't be.
func (p Param) check() error {
	switch {
	case p.Name == "" || strings.ContainsAny(p.Name, " =,\t\n") || p.What == "" || p.Source.Text == "":
		return fmt.Errorf("parameter %q: a name without spaces, what it is and its source are needed", p.Name)
	case p.Lo > p.Hi || p.Value < p.Lo || p.Value > p.Hi:
		return fmt.Errorf("parameter %s: %s isn't within %s to %s", p.Name, p.Text(), p.Unit.format(p.Lo), p.Unit.format(p.Hi))
	case p.Value < 0 || p.Lo < 0:
		return fmt.Errorf("parameter %s: %w: it must not be negative", p.Name, ErrValue)
	}
	return nil
}

// Errors of tables, wrapped with what was asked for.
var (
	// ErrParam occurs when a table has no parameter of that name.
	ErrParam = errors.New("no such parameter")
	// ErrValue occurs when a value can't be read, or can't be.
	ErrValue = errors.New("bad value")
)

// Table is a model's parameters, in the order in which they are shown.
type Table struct{ params []Param }

// New makes a table. It panics when a parameter can't be, or a name comes twice,
// since that is an error in the model.
func New(params ...Param) Table {
	t := Table{slices.Clone(params)}
	seen := make(map[string]bool)
	for i, p := range t.params {
		if p.Lo == 0 && p.Hi == 0 {
			t.params[i].Lo, t.params[i].Hi = p.Value, p.Value
		}
		if err := t.params[i].check(); err != nil {
			panic("param: " + err.Error())
		}
		if seen[p.Name] {
			panic("param: " + p.Name + " is there twice")
		}
		seen[p.Name] = true
	}
	return t
}

// Params lists the parameters.
func (t Table) Params() []Param { return slices.Clone(t.params) }

// Get is a parameter by name. The error wraps ErrParam.
func (t Table) Get(name string) (Param, error) {
	if i := t.index(name); i >= 0 {
		return t.params[i], nil
	}
	var names []string
	for _, p := range t.params {
		names = append(names, p.Name)
	}
	return Param{}, fmt.Errorf("%w: %q; this model has: %s", ErrParam, name, strings.Join(names, ", "))
}

func (t Table) index(name string) int {
	return slices.IndexFunc(t.params, func(p Param) bool { return p.Name == name })
}

// must is a parameter that the model itself asks for.
func (t Table) must(name string, u Unit) int64 {
	p, err := t.Get(name)
	if err != nil {
		panic("param: " + err.Error())
	}
	if p.Unit != u {
		panic(fmt.Sprintf("param: %s is a %v and was read as a %v", name, p.Unit, u))
	}
	return p.Value
}

// Time is a parameter in unit Time. Like Count, Part, Bytes and Rate it panics
// when the table has none of that name and unit: the error is the model's.
func (t Table) Time(name string) time.Duration { return time.Duration(t.must(name, Time)) }

// Count is a parameter in unit Count.
func (t Table) Count(name string) int { return int(t.must(name, Count)) }

// Bytes is a parameter in unit Bytes.
func (t Table) Bytes(name string) int64 { return t.must(name, Bytes) }

// Rate is a parameter in unit Rate.
func (t Table) Rate(name string) int64 { return t.must(name, Rate) }

// Part is the share of d that a parameter in unit Share says, rounded down.
func (t Table) Part(name string, d time.Duration) time.Duration {
	share, n := t.must(name, Share), int64(d)
	return time.Duration(n/1e6*share + n%1e6*share/1e6)
}

// Parse reads a value of a parameter in the parameter's unit. The error wraps
// ErrParam or ErrValue.
func (t Table) Parse(name, text string) (int64, error) {
	p, err := t.Get(name)
	if err != nil {
		return 0, err
	}
	v, err := p.Unit.parse(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w: %w; give a %v such as %s", name, text, ErrValue, err, p.Unit, p.Text())
	}
	return v, nil
}

// Set is the table with another value, which may lie outside of the parameter's
// range. The error wraps ErrParam or ErrValue.
func (t Table) Set(name string, value int64) (Table, error) {
	i := t.index(name)
	if i < 0 {
		_, err := t.Get(name)
		return Table{}, err
	}
	if value < 0 {
		return Table{}, fmt.Errorf("%s=%s: %w: it must not be negative", name, t.params[i].Unit.format(value), ErrValue)
	}
	out := Table{slices.Clone(t.params)}
	p := &out.params[i]
	if value != p.Value && p.Source.Kind != IsSet {
		p.Source = Source{IsSet, fmt.Sprintf("instead of %s, %v", p.Text(), p.Source)}
	}
	p.Value = value
	p.Lo, p.Hi = min(p.Lo, value), max(p.Hi, value)
	return out, nil
}

// SetText is Set with the value as text.
func (t Table) SetText(name, text string) (Table, error) {
	v, err := t.Parse(name, text)
	if err != nil {
		return Table{}, err
	}
	return t.Set(name, v)
}

// Replace is the table with a fitted value and its source. It panics as New does.
func (t Table) Replace(name string, value int64, s Source) Table {
	t.must(name, t.params[max(t.index(name), 0)].Unit)
	out := slices.Clone(t.params)
	p := &out[t.index(name)]
	p.Value, p.Source = value, s
	p.Lo, p.Hi = min(p.Lo, value), max(p.Hi, value)
	return New(out...)
}

// Assumptions is a sentence a parameter.
func (t Table) Assumptions() []string {
	var all []string
	for _, p := range t.params {
		all = append(all, p.String())
	}
	return all
}
