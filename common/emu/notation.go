package emu

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A SyntaxError is returned for text that [ParseLatency] or [ParseFaults]
// can't read.
type SyntaxError struct {
	Text   string // all that was to be read
	Offset int    // bytes before the trouble
	Reason string // what was expected there
}

// Error shows the text, the place and what was expected there.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("emu: %q at offset %d: %s", e.Text, e.Offset, e.Reason)
}

// scanner reads the notations of this package. Blanks may stand between
// tokens. Its methods return ok = false, and read nothing, on a mismatch.
type scanner struct {
	text string
	pos  int
}

func (s *scanner) fail(at int, format string, args ...any) error {
	return &SyntaxError{s.text, at, fmt.Sprintf(format, args...)}
}

func (s *scanner) blanks() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *scanner) end() bool {
	s.blanks()
	return s.pos == len(s.text)
}

// sign reads one punctuation mark.
func (s *scanner) sign(c byte) bool {
	s.blanks()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// expect is sign with an error.
func (s *scanner) expect(c byte) error {
	if !s.sign(c) {
		return s.fail(s.pos, "expected %q", c)
	}
	return nil
}

// word reads up to a blank or a punctuation mark, and says where it began.
func (s *scanner) word() (word string, at int) {
	s.blanks()
	at = s.pos
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n;:@(),=", s.text[s.pos]) < 0 {
		s.pos++
	}
	return s.text[at:s.pos], at
}

// duration reads a duration that isn't negative.
func (s *scanner) duration() (time.Duration, error) {
	word, at := s.word()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		return 0, s.fail(at, "expected a duration such as 50us, got %q", word)
	}
	return d, nil
}

// decimal reads a number that isn't negative, in units of 10^-digits, from
// word. It takes no exponent and no digit beyond the last unit.
func decimal(word string, digits int) (uint64, bool) {
	whole, frac, dot := strings.Cut(word, ".")
	if whole == "" || dot && frac == "" || len(frac) > digits {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", digits-len(frac)), 10, 64)
	return n, err == nil
}

// formatDecimal is the shortest text that decimal reads as n.
func formatDecimal(n uint64, digits int) string {
	text := fmt.Sprintf("%0*d", digits+1, n)
	whole, frac := text[:len(text)-digits], text[len(text)-digits:]
	if frac = strings.TrimRight(frac, "0"); frac == "" {
		return whole
	}
	return whole + "." + frac
}

// percentDigits is the number of decimals of a percent; see wholePercent.
const percentDigits = 6

func formatPart(part uint64) string { return "p" + formatDecimal(part, percentDigits) }

// formatDuration is d.String in ASCII.
func formatDuration(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

// ParseLatency reads a profile in one of the notations
//
//	50us                                 Constant
//	exp(50us,cap=1ms)                    CappedExponential
//	quantiles(p50=40us,p99=200us,p100=1ms)   Empirical
//
// Blanks may stand between tokens; a percent has up to six decimals. The
// String of the result reads as the same profile again. The error is a
// [*SyntaxError], or wraps [ErrLatency] if the profile can't be.
func ParseLatency(text string) (Latency, error) {
	s := &scanner{text: text}
	l, err := s.latency()
	if err == nil && !s.end() {
		return nil, s.fail(s.pos, "expected nothing more")
	}
	return l, err
}

func (s *scanner) latency() (Latency, error) {
	begin := s.pos
	name, at := s.word()
	if !s.sign('(') {
		s.pos = begin
		d, err := s.duration()
		return Constant(d), err
	}
	switch name {
	case "exp":
		return s.exponential()
	case "quantiles":
		return s.quantiles()
	}
	return nil, s.fail(at, "expected exp, quantiles or a duration, got %q", name)
}

// exponential reads what follows "exp(".
func (s *scanner) exponential() (Latency, error) {
	mean, err := s.duration()
	if err != nil {
		return nil, err
	}
	if err := s.expect(','); err != nil {
		return nil, err
	}
	if name, at := s.word(); name != "cap" || !s.sign('=') {
		return nil, s.fail(at, "expected cap= and the longest latency")
	}
	limit, err := s.duration()
	if err != nil {
		return nil, err
	}
	if err := s.expect(')'); err != nil {
		return nil, err
	}
	return CappedExponential(mean, limit)
}

// quantiles reads what follows "quantiles(".
func (s *scanner) quantiles() (Latency, error) {
	var points []point
	for {
		name, at := s.word()
		percent, isP := strings.CutPrefix(name, "p")
		part, isNumber := decimal(percent, percentDigits)
		if !isP || !isNumber || part > wholePercent || !s.sign('=') {
			return nil, s.fail(at, "expected a quantile such as p99.9=200us, up to p100")
		}
		value, err := s.duration()
		if err != nil {
			return nil, err
		}
		points = append(points, point{part, value})
		if s.sign(')') {
			return newEmpirical(points)
		}
		if err := s.expect(','); err != nil {
			return nil, err
		}
	}
}
