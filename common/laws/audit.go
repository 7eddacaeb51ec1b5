package laws

import (
	"errors"
	"fmt"
)

// ErrTooFew occurs when nothing follows from the figures given.
var ErrTooFew = errors.New("too few figures")

// Audit says what must be true if the figures are, and where they contradict the
// laws or each other. Rounding is allowed for: a contradiction isn't explained
// by it. The figures must be of one steady run, mean and rate over the same
// requests. A figure that can't be read gives an error that wraps [ErrArgument];
// if nothing follows it wraps [ErrTooFew].
func Audit(f Figures) ([]Finding, error) {
	a, err := read(f)
	if err != nil {
		return nil, err
	}
	a.auditLoad()
	a.auditPool()
	a.auditDistribution()
	a.auditShares()
	if len(a.findings) == 0 {
		return nil, fmt.Errorf("audit: %w: give two or more that a law connects, such as rate and mean, users and rate, or mean and p95", ErrTooFew)
	}
	return a.findings, nil
}

func (a *audit) say(f Finding) { a.findings = append(a.findings, f) }

// auditLoad applies Little's law to requests and users.
func (a *audit) auditLoad() {
	if a.perSec != nil && a.mean != nil {
		n := InFlight(*a.perSec, *a.mean)
		a.say(Finding{
			Grade: Must, Law: "N = X R", Value: n, Unit: "requests",
			Text: fmt.Sprintf("%v requests are in flight on average: %v/s x %s.", n, *a.perSec, seconds(*a.mean)),
		})
		if a.users != nil && n.Lo > a.users.Hi {
			a.say(Finding{
				Grade: Impossible, Law: "N = X R", Value: n, Unit: "requests",
				Text: fmt.Sprintf("%v requests in flight are more than the %v users can have, one each: rate and mean aren't of the same requests, or the mean isn't a mean.", n, *a.users),
			})
			return // think times below would be negative and say the same
		}
	}
	switch {
	case a.users != nil && a.perSec != nil:
		a.cycle()
	case a.users != nil && a.mean != nil && a.think != nil:
		cycle := a.mean.Add(*a.think)
		if cycle.Lo > 0 {
			x := a.users.Div(cycle)
			a.say(Finding{
				Grade: Must, Law: "X = N/(R + Z)", Value: x, Unit: "1/s", Assumes: allActive,
				Text: fmt.Sprintf("%v users with a cycle of %s make %v requests a second.", *a.users, seconds(cycle), x),
			})
		}
	case a.users == nil && a.perSec != nil && a.mean != nil && a.think != nil:
		n := Users(*a.perSec, *a.mean, *a.think)
		a.say(Finding{
			Grade: Must, Law: "N = X (R + Z)", Value: n, Unit: "users",
			Text: fmt.Sprintf("%v users were active on average.", n),
		})
	}
}

const allActive = "all users are active for the whole run"

// cycle is for a closed system of which users and rate are known.
func (a *audit) cycle() {
	cycle := a.users.Div(*a.perSec)
	switch {
	case a.mean == nil && a.think == nil:
		a.say(Finding{
			Grade: Must, Law: "N/X = R + Z", Value: cycle, Unit: "s", Assumes: allActive,
			Text: fmt.Sprintf("response and think time of a request are %s together on average.", seconds(cycle)),
		})
	case a.mean == nil:
		r := Response(*a.users, *a.perSec, *a.think)
		if r.Hi < 0 {
			a.say(Finding{
				Grade: Impossible, Law: "R = N/X - Z", Value: r, Unit: "s",
				Text: fmt.Sprintf("%v users who think for %s can't make %v requests a second, even if answers took no time.", *a.users, seconds(*a.think), *a.perSec),
			})
			return
		}
		a.say(Finding{
			Grade: Must, Law: "R = N/X - Z", Value: r, Unit: "s", Assumes: allActive,
			Text: fmt.Sprintf("the mean response time is %s.", seconds(r)),
		})
	default:
		z := Think(*a.users, *a.perSec, *a.mean)
		a.say(Finding{
			Grade: Must, Law: "Z = N/X - R", Value: z, Unit: "s", Assumes: allActive,
			Text: fmt.Sprintf("a user starts a request every %s on average, so thinks for %s.", seconds(cycle), seconds(z)),
		})
		if a.think != nil {
			a.active(z)
		}
	}
}

// active holds a given think time against the one that the other figures need.
func (a *audit) active(needed Interval) {
	n := Users(*a.perSec, *a.mean, *a.think)
	switch {
	case n.Lo > a.users.Hi:
		a.say(Finding{
			Grade: Impossible, Law: "N = X (R + Z)", Value: n, Unit: "users",
			Text: fmt.Sprintf("with a think time of %s, %v users are needed for this rate and mean, and there are %v.", seconds(*a.think), n, *a.users),
		})
	case n.Hi < a.users.Lo:
		a.say(Finding{
			Grade: Implausible, Law: "N = X (R + Z)", Value: n, Unit: "users",
			Text:    fmt.Sprintf("with a think time of %s, rate and mean account for %v users of %v.", seconds(*a.think), n, *a.users),
			Assumes: fmt.Sprintf("the other users weren't active on average (a ramp, or waits that weren't counted), or a mean think time of %s", seconds(needed)),
		})
	}
}

// auditPool applies the utilisation law.
func (a *audit) auditPool() {
	if a.pool == nil {
		return
	}
	c := *a.pool
	if a.users != nil && a.users.Hi <= c.Lo {
		a.say(Finding{
			Grade: Must, Law: "N <= c", Value: *a.users, Unit: "users", Assumes: "a request needs one of the pool at a time",
			Text: fmt.Sprintf("nobody ever waits for the pool: %v users share %v.", *a.users, c),
		})
	}
	if a.hold != nil && a.mean != nil && a.hold.Lo > a.mean.Hi {
		a.say(Finding{
			Grade: Implausible, Law: "hold <= R", Value: *a.hold, Unit: "s",
			Text:    fmt.Sprintf("a request keeps one of the pool busy for %s, longer than the %s it lasts.", seconds(*a.hold), seconds(*a.mean)),
			Assumes: "a request uses several of the pool at once, or keeps one after its answer",
		})
	}
	if a.perSec == nil {
		return
	}
	switch {
	case a.hold != nil:
		a.busy()
	case a.mean != nil:
		n := InFlight(*a.perSec, *a.mean)
		u := n.Div(c)
		const holds = "a request needs one of the pool, once, and only while it runs"
		if n.Hi < c.Lo {
			a.say(Finding{
				Grade: Must, Law: "U <= X R / c", Value: u, Unit: "1", Assumes: holds,
				Text: fmt.Sprintf("at most %v of %v in the pool are busy on average, a utilisation of %s: waiting for it needs bursts.", n, c, percent(u)),
			})
		} else if n.Lo > c.Hi {
			w := n.Sub(c)
			a.say(Finding{
				Grade: Must, Law: "X R > c", Value: w, Unit: "requests", Assumes: holds,
				Text: fmt.Sprintf("at least %v requests on average wait for the pool or are elsewhere: it serves %v at a time.", w, c),
			})
		}
	default:
		h := c.Div(*a.perSec)
		a.say(Finding{
			Grade: Must, Law: "X S / c <= 1", Value: h, Unit: "s",
			Text: fmt.Sprintf("a request keeps one of the pool busy for %s at most on average.", seconds(h)),
		})
	}
}

// busy is for a pool of which the hold time is known.
func (a *audit) busy() {
	c := int(a.pool.Lo)
	u := Utilisation(*a.perSec, *a.hold, c)
	if u.Lo > 1 {
		a.say(Finding{
			Grade: Impossible, Law: "U = X S / c", Value: u, Unit: "1",
			Text: fmt.Sprintf("the pool would be busy for %s of the time: %v/s x %s need %v, and it has %d. Requests can't all hold one for so long.",
				percent(u), *a.perSec, seconds(*a.hold), InFlight(*a.perSec, *a.hold), c),
		})
		return
	}
	a.say(Finding{
		Grade: Must, Law: "U = X S / c", Value: u, Unit: "1",
		Text: fmt.Sprintf("the pool is busy for %s of the time.", percent(u)),
	})
	if a.mean == nil {
		return
	}
	// The longest wait that rounding allows, hence the upper bounds.
	wait, err := MMC{c, a.perSec.Hi, a.hold.Hi}.Wait()
	if err != nil {
		return // saturated within rounding: any wait is possible
	}
	if rest := a.mean.Sub(*a.hold).Sub(Exact(wait)); rest.Lo > 0 {
		a.say(Finding{
			Grade: Implausible, Law: "M/M/c", Value: rest, Unit: "s",
			Text: fmt.Sprintf("%s of the mean of %s is neither the hold of %s nor the wait of %s that arrivals at random have at this pool.",
				seconds(rest), seconds(*a.mean), seconds(*a.hold), seconds(Exact(wait))),
			Assumes: "arrivals in bursts, very uneven holds, or time spent outside the pool",
		})
	}
}

// auditDistribution holds mean, percentiles and maximum against each other.
func (a *audit) auditDistribution() {
	points := a.points
	for i := 1; i < len(points); i++ {
		if p, q := points[i-1], points[i]; p.value.Lo > q.value.Hi {
			a.say(Finding{
				Grade: Impossible, Law: "percentiles rise", Value: p.value, Unit: "s",
				Text: fmt.Sprintf("the %s of %s is above the %s of %s.", p.name, seconds(p.value), q.name, seconds(q.value)),
			})
		}
	}
	if a.mean == nil || len(points) == 0 {
		return
	}
	// At least a share of 1 - p takes the p-th percentile or longer, and at most
	// a share of p takes longer than it.
	var least, most Interval
	last := 0.0
	for i, p := range points {
		next := 1.0
		if i+1 < len(points) {
			next = points[i+1].share
		}
		least = least.Add(p.value.Mul(Exact(next - p.share)))
		most = most.Add(p.value.Mul(Exact(p.share - last)))
		last = p.share
	}
	switch {
	case a.mean.Hi < least.Lo:
		a.say(Finding{
			Grade: Impossible, Law: "mean >= sum of shares x percentiles", Value: least, Unit: "s",
			Text: fmt.Sprintf("the percentiles alone make a mean of %s or more, and it is given as %s.", seconds(least), seconds(*a.mean)),
		})
	case last == 1 && a.mean.Lo > most.Hi:
		a.say(Finding{
			Grade: Impossible, Law: "mean <= sum of shares x percentiles", Value: most, Unit: "s",
			Text: fmt.Sprintf("the percentiles allow a mean of %s at most, and it is given as %s.", seconds(most), seconds(*a.mean)),
		})
	case last == 1:
		a.say(Finding{
			Grade: Must, Law: "mean and percentiles", Value: Interval{least.Lo, most.Hi}, Unit: "s",
			Text: fmt.Sprintf("the percentiles allow a mean from %s to %s; the given one fits.", seconds(Exact(least.Lo)), seconds(Exact(most.Hi))),
		})
	default:
		a.say(Finding{
			Grade: Must, Law: "mean >= sum of shares x percentiles", Value: least, Unit: "s",
			Text: fmt.Sprintf("the percentiles make a mean of %s or more; the given one fits.", seconds(least)),
		})
	}
}

// auditShares holds the shares of slow and of successful requests against the rest.
func (a *audit) auditShares() {
	if a.slow != nil && a.limit != nil {
		for _, p := range a.points {
			tail := 1 - p.share
			switch {
			case p.value.Lo > a.limit.Hi && a.slow.Hi < tail:
				a.say(Finding{
					Grade: Impossible, Law: "percentile", Value: *a.slow, Unit: "1",
					Text: fmt.Sprintf("a %s of %s means that at least %s take longer than %s, and %s are said to.", p.name, seconds(p.value), percent(Exact(tail)), seconds(*a.limit), percent(*a.slow)),
				})
			case p.value.Hi < a.limit.Lo && a.slow.Lo > tail:
				a.say(Finding{
					Grade: Impossible, Law: "percentile", Value: *a.slow, Unit: "1",
					Text: fmt.Sprintf("a %s of %s means that at most %s take %s or longer, and %s are said to.", p.name, seconds(p.value), percent(Exact(tail)), seconds(*a.limit), percent(*a.slow)),
				})
			}
		}
		if a.mean != nil {
			if least := a.slow.Mul(*a.limit); a.mean.Hi < least.Lo {
				a.say(Finding{
					Grade: Impossible, Law: "Markov's inequality", Value: least, Unit: "s",
					Text: fmt.Sprintf("%s of the requests at %s or longer make a mean of %s or more, and it is given as %s.", percent(*a.slow), seconds(*a.limit), seconds(least), seconds(*a.mean)),
				})
			}
		}
	}
	if a.slow != nil && a.success != nil {
		switch rest := Exact(1).Sub(*a.slow).Sub(*a.success); {
		case rest.Lo > 0:
			a.say(Finding{
				Grade: Must, Law: "shares add up", Value: rest, Unit: "1",
				Text: fmt.Sprintf("%s of the requests neither succeeded nor were slow, so they failed in another way.", percent(rest)),
			})
		case rest.Hi < 0:
			a.say(Finding{
				Grade: Must, Law: "shares add up", Value: rest.Mul(Exact(-1)), Unit: "1",
				Text: fmt.Sprintf("%s of the requests or more were slow and count as successful: success doesn't mean fast.", percent(rest.Mul(Exact(-1)))),
			})
		}
	}
}
