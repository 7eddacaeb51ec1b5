package laws

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Figures are what was published of one run, each as it was written, since the
// number of digits says how far it was rounded; "" is not given. Times are read
// by [ParseTime] ("10ms"), shares and rates by [ParseNumber] ("46.27", "20.32%").
type Figures struct {
	Users  string `json:"users,omitempty"`   // virtual users or the concurrency: a whole number
	PerSec string `json:"per_sec,omitempty"` // finished requests a second, of all users
	Mean   string `json:"mean,omitempty"`    // mean response time
	P50    string `json:"p50,omitempty"`     // response time that half of the requests take at most
	P95    string `json:"p95,omitempty"`
	P99    string `json:"p99,omitempty"`
	Max    string `json:"max,omitempty"`
	Think  string `json:"think,omitempty"` // mean think time of a user between answer and next request
	Pool   string `json:"pool,omitempty"`  // servers or connections that requests share: a whole number
	Hold   string `json:"hold,omitempty"`  // mean time that a request keeps one of the pool busy
	Slow   string `json:"slow,omitempty"`  // share of requests that took Limit or longer
	Limit  string `json:"limit,omitempty"` // response time from which a request is slow
	// Success is the share of requests that succeeded.
	Success string `json:"success,omitempty"`
}

// audit has the figures as numbers; nil is not given.
type audit struct {
	users, perSec, mean, think, pool, hold *Interval
	slow, limit, success                   *Interval
	points                                 []point // of rising shares
	findings                               []Finding
}

// point is a percentile: the share of requests that take value at most.
type point struct {
	name  string
	share float64
	value Interval
}

func read(f Figures) (*audit, error) {
	var (
		a                  audit
		p50, p95, p99, top *Interval
		errs               []error
	)
	get := func(name, text string, parse func(string) (Interval, error), to **Interval) {
		if text == "" {
			return
		}
		v, err := parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %w", name, err))
			return
		}
		*to = &v
	}
	get("users", f.Users, parseCount, &a.users)
	get("requests a second", f.PerSec, parseRate, &a.perSec)
	get("mean", f.Mean, parseTime, &a.mean)
	get("p50", f.P50, parseTime, &p50)
	get("p95", f.P95, parseTime, &p95)
	get("p99", f.P99, parseTime, &p99)
	get("max", f.Max, parseTime, &top)
	get("think time", f.Think, parseTime, &a.think)
	get("pool", f.Pool, parseCount, &a.pool)
	get("hold time", f.Hold, parseTime, &a.hold)
	get("slow share", f.Slow, parseShare, &a.slow)
	get("limit", f.Limit, parseTime, &a.limit)
	get("success share", f.Success, parseShare, &a.success)
	for _, p := range []struct {
		name  string
		share float64
		value *Interval
	}{{"p50", 0.5, p50}, {"p95", 0.95, p95}, {"p99", 0.99, p99}, {"max", 1, top}} {
		if p.value != nil {
			a.points = append(a.points, point{p.name, p.share, *p.value})
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("audit: %w", errors.Join(errs...))
	}
	return &a, nil
}

func parseTime(s string) (Interval, error) { return parseFigure(s, true) }

// parseCount reads a whole number, which isn't rounded.
func parseCount(s string) (Interval, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	if err != nil || n == 0 {
		return Interval{}, figureError{s, "it is a whole number from 1 on"}
	}
	return Exact(float64(n)), nil
}

// parseRate reads a rate, which divides and so isn't 0.
func parseRate(s string) (Interval, error) {
	v, err := parseFigure(s, false)
	if err == nil && v.Lo <= 0 {
		err = figureError{s, "nothing follows from a rate that may be 0; give more digits"}
	}
	return v, err
}

// parseShare reads a share from 0 to 1.
func parseShare(s string) (Interval, error) {
	v, err := parseFigure(s, false)
	if err == nil && v.Lo > 1 {
		err = figureError{s, "a share is at most 1 or 100%"}
	}
	return Interval{v.Lo, min(v.Hi, 1)}, err
}
