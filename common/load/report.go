package load

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"latlab.example/common/metrics"
)

// ErrLittle occurs when a report contradicts Little's law: its bookkeeping is
// wrong, and so may be its other figures. It is a bug of this package.
var ErrLittle = errors.New("the report contradicts Little's law")

// Report is what a run gave. It is a plain value. In JSON, times are in
// nanoseconds.
type Report struct {
	Load    string `json:"load"` // users or arrivals and all that shapes them
	Seed    uint64 `json:"seed"`
	Stopped string `json:"stopped"` // by the "schedule", its "count" or the "context"

	// From and To bound the window that counts, since the start of the run. All
	// below is of requests that completed in it, if not said otherwise.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`

	Success   uint64       `json:"success"`
	Errors    []ErrorCount `json:"errors,omitempty"` // by kind, in order of name
	Cancelled uint64       `json:"cancelled,omitempty"`
	// Offered counts the arrivals that were due in the window (open loop), and
	// Dropped those of them that were not sent, since too many were in flight.
	Offered uint64 `json:"offered,omitempty"`
	Dropped uint64 `json:"dropped,omitempty"`
	// Before and After count the requests that the window cut.
	Before uint64 `json:"cut_before"`
	After  uint64 `json:"cut_after"`
	// MaxInFlight is the largest number of requests in flight in the whole run.
	MaxInFlight int `json:"max_in_flight"`

	// Response is from when a request was due to its end, Service from its actual
	// start; both of successes only. Failed is the response time of the others.
	// Lag is from when a request was due to its start, of all: it is what the
	// generator was late.
	Response metrics.Dist `json:"response"`
	Service  metrics.Dist `json:"service"`
	Failed   metrics.Dist `json:"failed"`
	Lag      metrics.Dist `json:"lag"`

	Little  Little   `json:"little"`
	Seconds []Second `json:"seconds"` // of the whole run
}

// ErrorCount is how often a kind of error occurred.
type ErrorCount struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
	First string `json:"first"` // the text of the first one
}

// Little has both sides of Little's law, as times summed over requests (divide
// by the window for means). A window cuts through requests, so exactly
//
//	InFlight = Service - Before + After
type Little struct {
	InFlight time.Duration `json:"in_flight_ns"` // integral of the requests in flight
	Active   time.Duration `json:"active_ns"`    // integral of the active users (closed loop)
	Service  time.Duration `json:"service_ns"`   // sum of the service times of what completed
	Before   time.Duration `json:"before_ns"`    // the part of Service before the window
	After    time.Duration `json:"after_ns"`     // the time in the window of requests that completed after it
}

// Completed counts all that ended in the window: successes, errors and cancelled
// ones.
func (r Report) Completed() uint64 { return r.Success + r.Cancelled + r.Failures() }

// Failures counts the errors of all kinds.
func (r Report) Failures() (n uint64) {
	for _, e := range r.Errors {
		n += e.Count
	}
	return n
}

// PerSec is the number of successes a second of the window.
func (r Report) PerSec() float64 { return r.overWindow(float64(r.Success)) }

// InFlight is the mean number of requests in flight over the window.
func (r Report) InFlight() float64 { return r.overWindow(r.Little.InFlight.Seconds()) }

// Users is the mean number of active users over the window (closed loop), those
// who think included.
func (r Report) Users() float64 { return r.overWindow(r.Little.Active.Seconds()) }

// overWindow divides by the length of the window; an empty one gives 0.
func (r Report) overWindow(v float64) float64 {
	if r.To <= r.From {
		return 0
	}
	return v / (r.To - r.From).Seconds()
}

// Check holds the report against Little's law, exactly: a violation is an error
// that wraps [ErrLittle]. Each run calls it.
func (r Report) Check() error {
	l := r.Little
	if l.InFlight != l.Service-l.Before+l.After {
		return fmt.Errorf("load: %v in flight, but %v of service, %v of it before the window, and %v of what completed after it: %w; please report it",
			l.InFlight, l.Service, l.Before, l.After, ErrLittle)
	}
	if n := r.Completed(); n != r.Response.Count()+r.Failed.Count() || n != r.Lag.Count() {
		return fmt.Errorf("load: %d requests completed, %d have a lag and %d a response time: %w; please report it",
			n, r.Lag.Count(), r.Response.Count()+r.Failed.Count(), ErrLittle)
	}
	return nil
}

// WriteText writes the report as a table. It returns the error of w.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "load       %s, seed %d; stopped by %s\n", r.Load, r.Seed, r.Stopped)
	fmt.Fprintf(&b, "counted    completions from %s to %s; cut: %d before, %d after\n", short(r.From), short(r.To), r.Before, r.After)
	fmt.Fprintf(&b, "success    %d of %d, %.4g/s\n", r.Success, r.Completed(), r.PerSec())
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "error      %d x %s, first: %s\n", e.Count, e.Kind, e.First)
	}
	if r.Cancelled > 0 {
		fmt.Fprintf(&b, "cancelled  %d\n", r.Cancelled)
	}
	if r.Offered > 0 {
		fmt.Fprintf(&b, "arrivals   %d due, %d dropped\n", r.Offered, r.Dropped)
	}
	fmt.Fprintf(&b, "in flight  %.4g on average", r.InFlight())
	if r.Little.Active > 0 {
		fmt.Fprintf(&b, " of %.4g users", r.Users())
	}
	if n := r.Completed(); n > 0 {
		fmt.Fprintf(&b, "; by Little's law %.4g/s x %s, edges %+.3g", r.overWindow(float64(n)),
			short(r.Little.Service/time.Duration(n)), r.overWindow((r.Little.After - r.Little.Before).Seconds()))
	}
	b.WriteString("\n\n")

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tcount\tmean\tp50\tp95\tp99\tmax\t\n")
	for _, row := range []struct {
		name string
		dist metrics.Dist
	}{{"response", r.Response}, {"service", r.Service}, {"failed", r.Failed}, {"lag", r.Lag}} {
		d := row.dist
		if d.Count() == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t\n", row.name, d.Count(), short(time.Duration(d.Mean())),
			short(time.Duration(d.Quantile(0.5))), short(time.Duration(d.Quantile(0.95))),
			short(time.Duration(d.Quantile(0.99))), short(time.Duration(d.Max())))
	}
	t.Flush() // to a Builder, which takes all
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteSeconds writes the whole run second by second. It returns the error of w.
func (r Report) WriteSeconds(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "second\tsuccess\terrors\tmean\tp95\t\n")
	for _, s := range r.Seconds {
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t\n", s.Start, s.Success, s.Errors, short(time.Duration(s.Mean)), short(time.Duration(s.P95)))
	}
	return t.Flush()
}

// short writes a time with about four digits and in ASCII.
func short(d time.Duration) string {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 10000*unit {
			return ascii(d.Round(unit))
		}
	}
	return ascii(d.Round(time.Second))
}

func ascii(d time.Duration) string { return strings.ReplaceAll(d.String(), "µs", "us") }
