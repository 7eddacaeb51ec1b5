package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrConfig is wrapped by the error of a run whose settings can't be.
var ErrConfig = errors.New("load can't be run")

// Options are common to closed and open loops. The zero value counts every
// request.
type Options struct {
	// Seed decides think times, random arrivals and [Request.Seed].
	Seed uint64
	// Window cuts warm-up and edges.
	Window Window
	// Kinds give names to errors. The first that matches counts.
	Kinds []Kind
	// Grace is how long requests may go on after the end of the schedule before
	// their context is cancelled; 0 stands for 30 s.
	Grace time.Duration
}

// Window is the part of a run that counts: requests that COMPLETE from From to
// before To, both since the start. Completions make throughput and response time
// speak of the same requests. A request that is cut for having ended too late
// was a slow one more often than not, so a window that ends in overload looks
// better than it was: the report says how many were cut. To 0 is the end of the
// run, its last requests included.
type Window struct{ From, To time.Duration }

// Kind is a named kind of error: all that errors.Is finds Err in. Two names
// need no registration: "timeout" for context.DeadlineExceeded and
// os.ErrDeadlineExceeded, and "other". context.Canceled is counted apart, as
// neither a success nor an error of the system, unless it is registered.
type Kind struct {
	Name string
	Err  error
}

const (
	kindTimeout   = "timeout"
	kindOther     = "other"
	kindCancelled = "cancelled"
)

const defaultGrace = 30 * time.Second

func (o Options) check() error {
	if o.Window.From < 0 || o.Window.To < 0 || o.Window.To != 0 && o.Window.To <= o.Window.From {
		return fmt.Errorf("load: window from %v to %v: %w: it must end after it begins, or at 0 for the end of the run", o.Window.From, o.Window.To, ErrConfig)
	}
	if o.Grace < 0 {
		return fmt.Errorf("load: grace of %v: %w: it must not be negative", o.Grace, ErrConfig)
	}
	seen := map[string]bool{"": true, kindTimeout: true, kindOther: true, kindCancelled: true}
	for _, k := range o.Kinds {
		if seen[k.Name] || k.Err == nil {
			return fmt.Errorf("load: error kind %q for error %q: %w: it needs an error and a name of its own (not timeout, cancelled or other)", k.Name, fmt.Sprint(k.Err), ErrConfig)
		}
		seen[k.Name] = true
	}
	return nil
}

// kindOf names the kind of an error.
func (o Options) kindOf(err error) string {
	for _, k := range o.Kinds {
		if errors.Is(err, k.Err) {
			return k.Name
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return kindTimeout
	case errors.Is(err, context.Canceled):
		return kindCancelled
	}
	return kindOther
}
