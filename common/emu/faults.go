package emu

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ErrInjected is wrapped by the errors that stand for an injected fault.
var ErrInjected = errors.New("injected fault")

// ErrUnknownOp is wrapped by the error of [Schedule.Check].
var ErrUnknownOp = errors.New("no such operation")

// A FaultKind is the way in which a call goes wrong.
type FaultKind uint8

// The kinds of fault. What "part" is, is for the fake to say.
const (
	Error FaultKind = iota // the call fails and changes nothing
	Short                  // part of the data is moved, and the count says so
	Torn                   // part of the data is moved, and the call reports success
	Slow                   // the call succeeds, Delay later
	Reset                  // the connection breaks within the call
)

var faultKinds = [...]string{Error: "error", Short: "short", Torn: "torn", Slow: "slow", Reset: "reset"}

// String is the kind's name in the notation of [ParseFaults].
func (k FaultKind) String() string {
	if int(k) < len(faultKinds) {
		return faultKinds[k]
	}
	return fmt.Sprintf("FaultKind(%d)", uint8(k))
}

// A Fault is what happens to one call.
type Fault struct {
	Kind  FaultKind
	Op    string
	Call  uint64        // which call of Op it is, from 1 on
	Delay time.Duration // of Slow, else zero
}

// Err is the error for a fake to return. It wraps [ErrInjected].
func (f Fault) Err() error {
	return fmt.Errorf("emu: call %d of %s: %w: %s", f.Call, f.Op, ErrInjected, f.Kind)
}

// A Schedule says which calls go wrong, and how. It is decided by the count of
// calls of each operation alone, so it replays whatever the order of
// goroutines between operations. A nil Schedule has no faults. A Schedule is
// safe for concurrent use.
type Schedule struct {
	rules []rule
	calls map[string]*atomic.Uint64 // of the operations that have rules; the map is fixed
}

// rule is one rule of a schedule. Of the three ways to choose calls one is set.
type rule struct {
	op    string
	kind  FaultKind
	delay time.Duration

	nth    uint64 // this call, from 1 on
	every  uint64 // calls every, 2 every, 3 every ...
	chance uint64 // probability in units of 10^-chanceDigits, decided by seed
	seed   uint64
}

const (
	chanceDigits = 9
	certain      = 1_000_000_000
)

// hits tells whether the rule chooses the n-th call, from 1 on.
func (r rule) hits(n uint64) bool {
	switch {
	case r.nth > 0:
		return n == r.nth
	case r.every > 0:
		return n%r.every == 0
	}
	x, _ := bits.Mul64(uniform(r.seed^Key(r.op), n), certain)
	return x < r.chance
}

func (r rule) String() string {
	var b strings.Builder
	b.WriteString(r.op + ":" + r.kind.String())
	if r.kind == Slow {
		b.WriteString("(" + formatDuration(r.delay) + ")")
	}
	switch {
	case r.nth > 0:
		fmt.Fprintf(&b, "@%d", r.nth)
	case r.every > 0:
		fmt.Fprintf(&b, "@every(%d)", r.every)
	default:
		fmt.Fprintf(&b, "@p(%s,seed=%d)", formatDecimal(r.chance, chanceDigits), r.seed)
	}
	return b.String()
}

// Next counts a call of op and returns its fault, if it has one. When several
// rules choose the call, the first one written counts.
func (s *Schedule) Next(op string) (Fault, bool) {
	if s == nil {
		return Fault{}, false
	}
	calls := s.calls[op]
	if calls == nil {
		return Fault{}, false
	}
	n := calls.Add(1)
	for _, r := range s.rules {
		if r.op == op && r.hits(n) {
			return Fault{Kind: r.kind, Op: op, Call: n, Delay: r.delay}, true
		}
	}
	return Fault{}, false
}

// Check returns an error that wraps [ErrUnknownOp] if a rule is for an
// operation that isn't among ops. A fake calls it when it is made, as a rule
// with a misspelt operation would never act.
func (s *Schedule) Check(ops ...string) error {
	if s == nil {
		return nil
	}
	for _, r := range s.rules {
		if !slices.Contains(ops, r.op) {
			return fmt.Errorf("emu: fault %s: %w; there are: %s", r, ErrUnknownOp, strings.Join(ops, ", "))
		}
	}
	return nil
}

// String is the schedule in the notation of [ParseFaults], without the counts.
func (s *Schedule) String() string {
	if s == nil {
		return ""
	}
	text := make([]string, len(s.rules))
	for i, r := range s.rules {
		text[i] = r.String()
	}
	return strings.Join(text, "; ")
}
