package fidelity

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// ErrFacts occurs when a file of facts can't be read. It comes wrapped with the
// line.
var ErrFacts = errors.New("not a file of facts")

// Fact is one property of a stack.
type Fact struct {
	Name  string // such as "cores"
	Value string // such as "2"; for a declared fact a form of [Parse]; "" is unknown
	Why   string // what depends on it, or where it was read; may be empty
}

// Facts are in the order in which they shall be shown. It is a plain value.
type Facts []Fact

// Get is the fact of that name, and whether there is one.
func (f Facts) Get(name string) (Fact, bool) {
	for _, fact := range f {
		if fact.Name == name {
			return fact, true
		}
	}
	return Fact{}, false
}

// With is the facts with others, each in place of the one of its name or at the
// end.
func (f Facts) With(others ...Fact) Facts {
	all := append(Facts(nil), f...)
next:
	for _, o := range others {
		for i := range all {
			if all[i].Name == o.Name {
				all[i] = o
				continue next
			}
		}
		all = append(all, o)
	}
	return all
}

// Parse reads declared facts, one a line:
//
//	# a comment
//	cores        = 2              # shared with three other stacks
//	store rtt    = 0.5ms..5ms     # same region, another host
//	memory       = >=4            # GiB
//	neighbours   = ?              # nobody has looked
//
// A value is matched as text, whatever its case; as a range, of numbers or of
// durations, both ends included; or as a least value. A question mark is declared
// to be unknown. The error wraps ErrFacts.
func Parse(text string) (Facts, error) {
	var facts Facts
	for n, line := range numbered(text) {
		fact, err := parseLine(line)
		if err == nil {
			if _, twice := facts.Get(fact.Name); twice {
				err = errors.New("it is declared twice")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d, %q: %w", ErrFacts, n, line, err)
		}
		facts = append(facts, fact)
	}
	return facts, nil
}

// numbered yields the lines that say something.
func numbered(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !yield(n, line) {
				return
			}
		}
	}
}

func parseLine(line string) (Fact, error) {
	name, rest, ok := strings.Cut(line, "=")
	if !ok {
		return Fact{}, errors.New("write NAME = VALUE, and # before the reason")
	}
	value, why, _ := strings.Cut(rest, " #")
	f := Fact{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value), Why: strings.TrimSpace(why)}
	if f.Name == "" || f.Value == "" {
		return Fact{}, errors.New("name and value can't be empty; an unknown value is a question mark")
	}
	if f.Value == "?" {
		f.Value = ""
	}
	if _, err := matches(f.Value, "0"); err != nil {
		return Fact{}, err
	}
	return f, nil
}

// matches says whether a value is what was declared. The error says that the
// declaration can't be.
func matches(declared, value string) (bool, error) {
	if text, ok := strings.CutPrefix(declared, ">="); ok {
		least, err := quantity(text)
		if err != nil {
			return false, err
		}
		v, err := quantity(value)
		return err == nil && v.unit == least.unit && v.n >= least.n, nil
	}
	lo, hi, ok := strings.Cut(declared, "..")
	if !ok {
		return strings.EqualFold(declared, value), nil
	}
	from, err := quantity(lo)
	if err != nil {
		return false, err
	}
	to, err := quantity(hi)
	if err != nil {
		return false, err
	}
	if from.unit != to.unit || from.n > to.n {
		return false, fmt.Errorf("%s isn't a range: write the lesser end first, both as numbers or both as durations", declared)
	}
	v, err := quantity(value)
	return err == nil && v.unit == from.unit && from.n <= v.n && v.n <= to.n, nil
}

// number is a plain number, or seconds.
type number struct {
	n    float64
	unit string
}

func quantity(s string) (number, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseFloat(s, 64); err == nil && n == n {
		return number{n: n}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return number{}, fmt.Errorf("%q is neither a number nor a duration such as 5ms", s)
	}
	return number{d.Seconds(), "s"}, nil
}
