package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"go.uber.org/goleak"
)

// Did is what a round did, so that a reader sees that it was not idle.
type Did struct {
	Right  int // answers that were looked at, and right
	Failed int // requests that failed, as they may where faults are
}

// Case is a rig to drive.
type Case struct {
	Name string
	// Round opens the rig that the seed asks for, drives it, looks at all that it
	// answers and counts, and closes it. It ends soon when ctx does, without an
	// error for that alone.
	Round func(ctx context.Context, seed uint64) (Did, error)
}

// Options say how long to soak, and with which seeds.
type Options struct {
	Cases  []Case
	For    time.Duration // no turn begins later; 0 is no limit
	Turns  int           // at most; 0 is no limit. For or Turns is needed
	Seed   uint64        // of the first turn; each next one has the next
	Replay bool          // every turn has the same seed
}

// Report is what Run did.
type Report struct {
	Turns    int
	First    uint64 // seeds, the last one included
	Last     uint64
	Failures []Failure
	Growth   []Growth // by case
}

// Failure is a round that went wrong.
type Failure struct {
	Case string
	Seed uint64
	Err  error
}

func (f Failure) String() string {
	return fmt.Sprintf("%s, seed %d: %v\nreplay it: make soak CASE=%s SEED=%d", f.Case, f.Seed, f.Err, f.Case, f.Seed)
}

// Errors that a failure wraps.
var (
	// ErrOptions occurs when there is nothing to run, or no end to it.
	ErrOptions = errors.New("can't soak")
	// ErrLeak occurs when a round leaves something behind.
	ErrLeak = errors.New("left behind")
	// ErrStuck occurs when a round doesn't end, not even when it is told to.
	ErrStuck = errors.New("the round doesn't end")
	// ErrFailed occurs when any round failed or memory grew; the report says which.
	ErrFailed = errors.New("soaking found faults")
)

// A round is told to end after roundLimit, and must within grace. Tests of this
// package have less.
var roundLimit, grace = time.Minute, 30 * time.Second

// Run soaks, and writes a line a turn to out: the seed, and for each case the
// answers that were right, and after a slash the requests that failed. Failures
// are written when they happen. The error wraps ErrFailed if there were any, or
// ErrOptions; that ctx ends is no error. A round that is stuck ends the run.
func Run(ctx context.Context, out io.Writer, o Options) (Report, error) {
	if len(o.Cases) == 0 || o.For <= 0 && o.Turns <= 0 {
		return Report{}, fmt.Errorf("%w: name cases, and a time or a number of turns", ErrOptions)
	}
	if err := wake(); err != nil {
		return Report{}, err
	}
	r := Report{First: o.Seed}
	grown := make([]grown, len(o.Cases))
	began := time.Now()
	seed := o.Seed
	for ctx.Err() == nil && (o.Turns <= 0 || r.Turns < o.Turns) && (o.For <= 0 || time.Since(began) < o.For) {
		if r.Turns > 0 && !o.Replay {
			seed++
		}
		r.Last = seed
		r.Turns++
		if _, err := fmt.Fprintf(out, "seed %d:", seed); err != nil {
			return r, err
		}
		for i, c := range o.Cases {
			if ctx.Err() != nil {
				break
			}
			if _, err := fmt.Fprintf(out, " %s", c.Name); err != nil { // before the round, which may crash
				return r, err
			}
			did, err := round(ctx, c, seed, &grown[i])
			if err == nil {
				_, err := fmt.Fprintf(out, " %d/%d", did.Right, did.Failed)
				if err != nil {
					return r, err
				}
				continue
			}
			f := Failure{c.Name, seed, err}
			r.Failures = append(r.Failures, f)
			if _, err := fmt.Fprintf(out, "\nFAIL %v\n", f); err != nil {
				return r, err
			}
			if errors.Is(err, ErrStuck) {
				return r, fmt.Errorf("%w: %w", ErrFailed, ErrStuck)
			}
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return r, err
		}
	}
	return r.judge(out, o.Cases, grown)
}

// judge adds what grew, and writes the summary.
func (r Report) judge(out io.Writer, cases []Case, all []grown) (Report, error) {
	flat := true
	for i, c := range cases {
		g := all[i].growth(c.Name)
		r.Growth = append(r.Growth, g)
		if _, err := fmt.Fprintln(out, g); err != nil {
			return r, err
		}
		flat = flat && g.Flat()
	}
	if _, err := fmt.Fprintf(out, "%d turns, seeds %d to %d, %d failures\n", r.Turns, r.First, r.Last, len(r.Failures)); err != nil {
		return r, err
	}
	if len(r.Failures) > 0 || !flat {
		return r, ErrFailed
	}
	return r, nil
}

// round is one round of a case, with what it leaves behind.
func round(ctx context.Context, c Case, seed uint64, g *grown) (Did, error) {
	leak, open, live := goleak.IgnoreCurrent(), descriptors(), alive()
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	type result struct {
		did Did
		err error
	}
	done := make(chan result, 1)
	go func() {
		did, err := c.Round(ctx, seed)
		done <- result{did, err}
	}()
	var res result
	select {
	case res = <-done:
	case <-ctx.Done():
		select {
		case res = <-done:
		case <-time.After(grace):
			stacks := make([]byte, 1<<20)
			return Did{}, fmt.Errorf("%w:\n%s", ErrStuck, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if res.err != nil {
		return Did{}, res.err
	}
	if err := goroutines(leak); err != nil {
		return Did{}, err
	}
	if err := settle(open); err != nil {
		return Did{}, err
	}
	g.add(alive() - live)
	return res.did, nil
}
