package audit

import (
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/laws"
)

// expr is arithmetic over figures.
type expr interface {
	eval() laws.Interval
	dim() int
	// text has the figures' values in place of their names.
	text() string
	// rows adds the figures that it uses.
	rows(to []*Figure) []*Figure
}

type number struct {
	value   laws.Interval
	d       int
	written string
}

func (n number) eval() laws.Interval         { return n.value }
func (n number) dim() int                    { return n.d }
func (n number) text() string                { return n.written }
func (n number) rows(to []*Figure) []*Figure { return to }

// ref is a figure by name. It is found when all rows have been read.
type ref struct {
	id  string
	at  int
	fig *Figure
}

func (r *ref) eval() laws.Interval { return r.fig.Value }
func (r *ref) dim() int            { return r.fig.dim }
func (r *ref) text() string        { return r.fig.String() }
func (r *ref) rows(to []*Figure) []*Figure {
	if slices.Contains(to, r.fig) {
		return to
	}
	return append(to, r.fig)
}

type binary struct {
	op   byte
	l, r expr
	at   int
}

func (b binary) eval() laws.Interval {
	l, r := b.l.eval(), b.r.eval()
	switch b.op {
	case '+':
		return l.Add(r)
	case '-':
		return l.Sub(r)
	case '*':
		return l.Mul(r)
	}
	return l.Div(r)
}

func (b binary) dim() int {
	switch b.op {
	case '*':
		return b.l.dim() + b.r.dim()
	case '/':
		return b.l.dim() - b.r.dim()
	}
	return b.l.dim()
}

func (b binary) text() string {
	op := string(b.op)
	if b.op == '*' {
		op = "x"
	}
	l := b.l.text()
	if b.op == '*' || b.op == '/' {
		l = bracket(b.l)
	}
	return l + " " + op + " " + bracket(b.r)
}

func (b binary) rows(to []*Figure) []*Figure { return b.r.rows(b.l.rows(to)) }

func bracket(e expr) string {
	if b, ok := e.(binary); ok && (b.op == '+' || b.op == '-') {
		return "(" + e.text() + ")"
	}
	return e.text()
}

// equals writes the arithmetic with its result, or alone if it is a figure or a
// number as it stands.
func equals(e expr, result string) string {
	switch e.(type) {
	case number, *ref:
		return e.text()
	}
	return e.text() + " = " + result
}

// change is by which share a figure changes from one to the other.
type change struct{ from, to expr }

func (c change) eval() laws.Interval         { return c.to.eval().Div(c.from.eval()).Sub(laws.Exact(1)) }
func (c change) dim() int                    { return c.to.dim() - c.from.dim() }
func (c change) text() string                { return c.from.text() + " to " + c.to.text() }
func (c change) rows(to []*Figure) []*Figure { return c.to.rows(c.from.rows(to)) }

// parser reads a relation: a recursive descent over its bytes.
type parser struct {
	s     string
	pos   int
	depth int
	refs  []*ref
}

// syntaxError is what is wrong in a relation, at a byte of its text.
type syntaxError struct {
	at  int
	why string
}

func (e *syntaxError) Error() string { return e.why }

func (p *parser) fail(at int, format string, args ...any) error {
	return &syntaxError{at, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t') {
		p.pos++
	}
}

// next is the byte after space, 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.pos == len(p.s) {
		return 0
	}
	return p.s[p.pos]
}

// maxDepth of brackets: nobody writes more, and a deep one must not end the stack.
const maxDepth = 50

func (p *parser) sum() (expr, error) { return p.left("+-", p.product) }

func (p *parser) product() (expr, error) { return p.left("*/", p.factor) }

// left reads operands joined by the operators, from left to right.
func (p *parser) left(ops string, operand func() (expr, error)) (expr, error) {
	l, err := operand()
	for err == nil && p.next() != 0 && strings.IndexByte(ops, p.next()) >= 0 {
		op, at := p.s[p.pos], p.pos
		p.pos++
		var r expr
		if r, err = operand(); err == nil {
			l = binary{op, l, r, at}
		}
	}
	return l, err
}

func letter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// name reads a word of letters, digits, dots and underscores.
func (p *parser) name() string {
	start := p.pos
	for p.pos < len(p.s) && (letter(p.s[p.pos]) || digit(p.s[p.pos]) || p.s[p.pos] == '.') {
		p.pos++
	}
	return p.s[start:p.pos]
}

func (p *parser) factor() (expr, error) {
	switch c := p.next(); {
	case c == '(':
		if p.depth++; p.depth > maxDepth {
			return nil, p.fail(p.pos, "more than %d brackets within each other", maxDepth)
		}
		p.pos++
		e, err := p.sum()
		if err == nil {
			err = p.expect(')')
		}
		p.depth--
		return e, err
	case digit(c) || c == '.':
		return p.number()
	case letter(c):
		at := p.pos
		word := p.name()
		if word == "change" && p.next() == '(' {
			return p.change()
		}
		r := &ref{id: word, at: at}
		p.refs = append(p.refs, r)
		return r, nil
	}
	return nil, p.fail(p.pos, "want a row's id, a number or a bracket")
}

func (p *parser) expect(c byte) error {
	if p.next() != c {
		return p.fail(p.pos, "want %q", string(c))
	}
	p.pos++
	return nil
}

// change reads "(from, to)".
func (p *parser) change() (expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.pos, "more than %d brackets within each other", maxDepth)
	}
	p.pos++
	from, err := p.sum()
	if err != nil {
		return nil, err
	}
	if err := p.expect(','); err != nil {
		return nil, err
	}
	to, err := p.sum()
	if err != nil {
		return nil, err
	}
	p.depth--
	return change{from, to}, p.expect(')')
}

// number reads an exact number, with or without a unit: 10, 0.15ms, 5percent.
func (p *parser) number() (expr, error) {
	at := p.pos
	for p.pos < len(p.s) && (digit(p.s[p.pos]) || p.s[p.pos] == '.') {
		p.pos++
	}
	digits, u := p.s[at:p.pos], unit{factor: 1}
	written := digits
	if p.pos < len(p.s) && letter(p.s[p.pos]) {
		name := p.name()
		var err error
		if u, err = findUnit(name); err != nil {
			return nil, p.fail(at, "%v", err)
		}
		written += " " + name
	}
	v, _, err := parseDecimal(digits)
	if err != nil {
		return nil, p.fail(at, "%v", err)
	}
	return number{laws.Exact(v * u.factor), u.dim, written}, nil
}

// checkDims refuses a sum of unlike things: a time and a rate.
func checkDims(e expr) error {
	switch e := e.(type) {
	case binary:
		if err := checkDims(e.l); err != nil {
			return err
		}
		if err := checkDims(e.r); err != nil {
			return err
		}
		if (e.op == '+' || e.op == '-') && e.l.dim() != e.r.dim() {
			return &syntaxError{e.at, fmt.Sprintf("%s and %s are of different kinds: a time, a rate and a number can't be added", e.l.text(), e.r.text())}
		}
	case change:
		if err := checkDims(e.from); err != nil {
			return err
		}
		return checkDims(e.to)
	}
	return nil
}
