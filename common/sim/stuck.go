package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors that [Sim.Run] wraps.
var (
	// ErrDeadlock occurs when processes wait for what will never happen.
	ErrDeadlock = errors.New("deadlock")
	// ErrRunaway occurs when a run passes one of the limits of its Sim.
	ErrRunaway = errors.New("runaway")
	// ErrInvariant occurs when Little's law fails at a station, or when a request's
	// timeline is unsound. The first is an error of this package, the second one
	// of the model.
	ErrInvariant = errors.New("broken invariant")
)

// A Wait is a process that waits.
type Wait struct {
	Proc    string        // its name and number
	For     string        // the resource, with its state
	Since   time.Duration // since the start of the run
	Holders []string      // those it waits for, if that is known
}

// StuckError says who waits for what. It wraps [ErrDeadlock] or [ErrRunaway].
type StuckError struct {
	Err    error
	Reason string
	At     time.Duration // since the start of the run
	Waits  []Wait        // in the order in which the processes were made
}

// Unwrap returns Err.
func (e *StuckError) Unwrap() error { return e.Err }

// shown is how many waits and holders an error message has.
const shown = 8

// Error has a line for each of the first few waits.
func (e *StuckError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sim: %v at %v: %s", e.Err, e.At, e.Reason)
	for i, w := range e.Waits {
		if i == shown {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Waits)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s waits for %s", w.Proc, w.For)
		if n := len(w.Holders); n > 0 {
			fmt.Fprintf(&b, ", held by %s", strings.Join(w.Holders[:min(n, shown)], ", "))
			if n > shown {
				fmt.Fprintf(&b, " and %d more", n-shown)
			}
		}
		fmt.Fprintf(&b, ", since %v", w.Since)
	}
	return b.String()
}

// place is a thing that processes wait at.
type place interface {
	// String names it, with its state.
	String() string
	// holders are those who must act before a waiter goes on: all of them, or any
	// of them. There are none where only time is waited for.
	holders() (procs []*Proc, all bool)
}

func (s *Sim) stuck(err error, procs []*Proc, reason string, args ...any) *StuckError {
	e := &StuckError{Err: err, Reason: fmt.Sprintf(reason, args...), At: s.Now()}
	for _, p := range procs {
		w := Wait{Proc: p.String(), For: p.at.String(), Since: time.Duration(p.since)}
		holders, _ := p.at.holders()
		for _, h := range holders {
			w.Holders = append(w.Holders, h.String())
		}
		e.Waits = append(e.Waits, w)
	}
	return e
}

// waiting are the processes that wait for others.
func (s *Sim) waiting() []*Proc {
	var procs []*Proc
	for _, p := range s.procs {
		if p.body != nil && p.at != nil {
			procs = append(procs, p)
		}
	}
	return procs
}

func (s *Sim) runaway(reason string, args ...any) error {
	reason = fmt.Sprintf(reason, args...)
	if top := s.crowds(); top != "" {
		reason += "; processes: " + top
	}
	return s.stuck(ErrRunaway, s.waiting(), "%s", reason)
}

// crowds counts the processes by name, in the order of their first.
func (s *Sim) crowds() string {
	var names []string
	count := map[string]int{}
	for _, p := range s.procs {
		if p.body == nil {
			continue
		}
		if count[p.name]++; count[p.name] == 1 {
			names = append(names, p.name)
		}
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%d %s", count[n], n)
	}
	if len(names) > shown {
		names = append(names[:shown], "others")
	}
	return strings.Join(names, ", ")
}

// deadlock looks for processes that can't go on, at the end of the run.
func (s *Sim) deadlock() error {
	waiting := s.waiting()
	if len(waiting) == 0 {
		return nil
	}
	if s.quiet() {
		return s.stuck(ErrDeadlock, waiting, "nothing can happen any more, and %d processes wait", len(waiting))
	}
	if waiting = inCircles(waiting); len(waiting) > 0 {
		return s.stuck(ErrDeadlock, waiting, "%d processes wait for each other", len(waiting))
	}
	return nil
}

// quiet tells whether no event is left but samples.
func (s *Sim) quiet() bool {
	for i, e := range s.agenda.events {
		if (i > 0 || !s.agenda.hole) && e.t.due == e.seq && !e.t.sample {
			return false
		}
	}
	return s.ready.n == 0
}

// inCircles keeps those who wait only for each other: it takes out who may go on
// until nobody is left who may.
func inCircles(waiting []*Proc) []*Proc {
	stuck := make(map[*Proc]bool, len(waiting))
	for _, p := range waiting {
		stuck[p] = p.due == 0 // else its patience ends
	}
	for changed := true; changed; {
		changed = false
		for _, p := range waiting {
			if stuck[p] && mayGoOn(p, stuck) {
				stuck[p], changed = false, true
			}
		}
	}
	var left []*Proc
	for _, p := range waiting {
		if stuck[p] {
			left = append(left, p)
		}
	}
	return left
}

func mayGoOn(p *Proc, stuck map[*Proc]bool) bool {
	holders, all := p.at.holders()
	free := 0
	for _, h := range holders {
		if !stuck[h] {
			free++
		}
	}
	if all {
		return free == len(holders)
	}
	return free > 0 || len(holders) == 0
}
