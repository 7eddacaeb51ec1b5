package emu

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

var opName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// ParseFaults reads a schedule. Rules are separated by semicolons; each is
//
//	operation : kind @ when
//
//	kind   error, short, torn, slow(DURATION), reset
//	when   3                 the third call of the operation
//	       every(100)        calls 100, 200, 300 ...
//	       p(0.01,seed=7)    each call with this probability; seed 0 if left out
//
// such as "write:error@3; write:torn@every(100); read:slow(5ms)@p(0.01,seed=7)".
// Operations are named by the fake: letters, digits and _ . - after a first
// letter or _. A probability has up to nine decimals. Blanks may stand between
// tokens. Empty text has no faults.
//
// The String of the result reads as the same schedule again. The error is a
// [*SyntaxError].
func ParseFaults(text string) (*Schedule, error) {
	s := &scanner{text: text}
	sched := &Schedule{calls: map[string]*atomic.Uint64{}}
	if s.end() {
		return sched, nil
	}
	for {
		r, err := s.rule()
		if err != nil {
			return nil, err
		}
		sched.rules = append(sched.rules, r)
		sched.calls[r.op] = new(atomic.Uint64)
		if s.end() {
			return sched, nil
		}
		if err := s.expect(';'); err != nil {
			return nil, err
		}
	}
}

func (s *scanner) rule() (rule, error) {
	var r rule
	op, at := s.word()
	if !opName.MatchString(op) {
		return r, s.fail(at, "expected the name of an operation, got %q", op)
	}
	r.op = op
	if err := s.expect(':'); err != nil {
		return r, err
	}
	name, at := s.word()
	kind := slices.Index(faultKinds[:], name)
	if kind < 0 {
		return r, s.fail(at, "expected one of %s, got %q", strings.Join(faultKinds[:], ", "), name)
	}
	r.kind = FaultKind(kind)
	if r.kind == Slow {
		if err := s.expect('('); err != nil {
			return r, err
		}
		var err error
		if r.delay, err = s.duration(); err != nil {
			return r, err
		}
		if err := s.expect(')'); err != nil {
			return r, err
		}
	}
	if err := s.expect('@'); err != nil {
		return r, err
	}
	return r, s.when(&r)
}

// when reads which calls a rule chooses.
func (s *scanner) when(r *rule) (err error) {
	name, at := s.word()
	switch name {
	case "every":
		if err := s.expect('('); err != nil {
			return err
		}
		if r.every, err = s.count(s.word()); err != nil {
			return err
		}
		return s.expect(')')
	case "p":
		return s.chance(r)
	}
	r.nth, err = s.count(name, at)
	return err
}

// count turns a word into a number of 1 or more.
func (s *scanner) count(word string, at int) (uint64, error) {
	n, ok := decimal(word, 0)
	if !ok || n == 0 {
		return 0, s.fail(at, "expected a call's number from 1 on, every(n) or p(probability), got %q", word)
	}
	return n, nil
}

// chance reads what follows "p".
func (s *scanner) chance(r *rule) error {
	if err := s.expect('('); err != nil {
		return err
	}
	word, at := s.word()
	p, ok := decimal(word, chanceDigits)
	if !ok || p == 0 || p > certain {
		return s.fail(at, "expected a probability above 0 and up to 1, with up to %d decimals, got %q", chanceDigits, word)
	}
	r.chance = p
	if s.sign(',') {
		if name, at := s.word(); name != "seed" || !s.sign('=') {
			return s.fail(at, "expected seed=")
		}
		word, at := s.word()
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return s.fail(at, "expected a seed, a number from 0 on, got %q", word)
		}
		r.seed = seed
	}
	return s.expect(')')
}
