package audit

import (
	"strings"
)

// verb is how a relation connects a row with others.
type verb string

const (
	derived  verb = "="              // the value follows from others
	atMost   verb = "<="             // and so on: a stated bound
	atLeast  verb = ">="             //
	less     verb = "<"              //
	greater  verb = ">"              //
	sameAs   verb = "same as"        // two answers for one setting
	partOf   verb = "part of"        // a stage of the whole
	moreWork verb = "more work than" // so it takes at least as long
	lessWork verb = "less work than" // so it takes at most as long
	apart    verb = "apart from"     // said to be another run's
	servedAs verb = "served as"      // a request is one or the other kind: service times of both
)

// verbs by their text; a longer one stands before what it begins with.
var verbs = []verb{sameAs, partOf, moreWork, lessWork, apart, servedAs, atMost, atLeast, derived, less, greater}

// comparisons are the verbs that a statement may have in its middle.
var comparisons = []verb{atMost, atLeast, derived, less, greater}

// relation is one clause of column relation.
type relation struct {
	verb verb
	left expr // of a statement; nil if it is the row's own value
	expr expr
	or   expr // of servedAs
	at   int  // byte of the column's text
}

// parseRelations reads clauses with ";" between them.
func parseRelations(text string, statement bool) (rels []relation, refs []*ref, err error) {
	at := 0
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) != "" {
			p := &parser{s: text[:at+len(part)], pos: at}
			r, err := p.relation(statement)
			if err != nil {
				return nil, nil, err
			}
			rels, refs = append(rels, r), append(refs, p.refs...)
		}
		at += len(part) + 1
	}
	return rels, refs, nil
}

func (p *parser) verb(of []verb) (verb, bool) {
	p.space()
	for _, v := range of {
		rest, ok := strings.CutPrefix(p.s[p.pos:], string(v))
		// A word ends where a space follows.
		if ok && (!letter(v[0]) || strings.HasPrefix(rest, " ")) {
			p.pos += len(v)
			return v, true
		}
	}
	return "", false
}

func (p *parser) relation(statement bool) (r relation, err error) {
	p.space()
	r.at = p.pos
	of := verbs
	if statement {
		if r.left, err = p.sum(); err != nil {
			return r, err
		}
		of = comparisons
	}
	v, ok := p.verb(of)
	if !ok {
		return r, p.fail(p.pos, "want one of %s", list(of))
	}
	r.verb = v
	if r.expr, err = p.sum(); err != nil {
		return r, err
	}
	if v == servedAs {
		if _, ok := p.verb([]verb{"or"}); !ok {
			return r, p.fail(p.pos, "want `or` and the other kind's time")
		}
		if r.or, err = p.sum(); err != nil {
			return r, err
		}
	}
	if p.next() != 0 {
		return r, p.fail(p.pos, "%q is left over; put ; between relations", p.s[p.pos:])
	}
	return r, nil
}

func list(of []verb) string {
	words := make([]string, len(of))
	for i, v := range of {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

// checkDims says what is wrong with the kinds of what a relation compares.
func (r relation) checkDims(own *Figure) error {
	sides := []expr{r.expr}
	if r.left != nil {
		sides = append(sides, r.left)
	}
	if r.or != nil {
		sides = append(sides, r.or)
	}
	for _, e := range sides {
		if err := checkDims(e); err != nil {
			return err
		}
	}
	d := own.dim
	if r.left != nil {
		d = r.left.dim()
	}
	switch {
	case r.verb == servedAs:
		if r.expr.dim() != 1 || r.or.dim() != 1 || d != -1 {
			return &syntaxError{r.at, "`served as` stands at a rate and takes two times"}
		}
	case r.expr.dim() != d:
		return &syntaxError{r.at, "it compares different kinds: a time, a rate and a number can't be equal"}
	}
	return nil
}

// singular is the one row that a relation names, for verbs that want one.
func (r relation) row() (*Figure, bool) {
	x, ok := r.expr.(*ref)
	if !ok {
		return nil, false
	}
	return x.fig, true
}

func (r relation) needsRow() bool {
	switch r.verb {
	case sameAs, partOf, moreWork, lessWork, apart:
		return true
	}
	return false
}
