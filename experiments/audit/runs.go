package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"latlab.example/common/laws"
)

// run is the figures of one steady state.
type run struct {
	name        string
	users       *Figure // or nil: users are a column of another figure
	count       int     // users, 0 unknown
	rate, mean  *Figure
	think       *Figure
	percentiles []*Figure // of the response, of rising shares
	holds       []*Figure
	slow, slows *Figure // share and count
	limit       *Figure
	success     *Figure
	servers     int // that the response's requests share
	figures     []*Figure
}

// runs are all runs in the order in which the table names them.
func (a *auditor) runs() []*run {
	var all []*run
	byName := make(map[string]*run)
	for _, f := range a.Figures {
		for _, name := range f.Runs {
			r := byName[name]
			if r == nil {
				r = &run{name: name}
				byName[name] = r
				all = append(all, r)
			}
			r.add(f)
		}
	}
	for _, r := range all {
		slices.SortStableFunc(r.percentiles, func(x, y *Figure) int {
			p, _ := x.share()
			q, _ := y.share()
			return cmp.Compare(p, q)
		})
		if r.users != nil {
			r.count = int(math.Round(r.users.Value.Mid()))
		}
	}
	return all
}

func (r *run) add(f *Figure) {
	if f.Statement() {
		return
	}
	r.figures = append(r.figures, f)
	_, isPercentile := f.share()
	switch {
	case f.Quantity == Users:
		r.users = f
	case f.Quantity == Throughput:
		r.rate = f
	case f.Quantity == Response && f.Statistic == "mean":
		r.mean = f
	case f.Quantity == Response && isPercentile:
		r.percentiles = append(r.percentiles, f)
	case f.Quantity == Think:
		r.think = f
	case f.Quantity == Hold:
		r.holds = append(r.holds, f)
	case f.Quantity == Slow:
		r.slow = f
	case f.Quantity == SlowCount:
		r.slows = f
	case f.Quantity == Limit:
		r.limit = f
	case f.Quantity == Success:
		r.success = f
	}
	if f.Concurrency > 0 && r.count == 0 {
		r.count = f.Concurrency
	}
	if f.Servers > 0 && f.Quantity != Hold && r.servers == 0 {
		r.servers = f.Servers
	}
}

// some drops what is nil.
func some(figs ...*Figure) []*Figure {
	return slices.DeleteFunc(figs, func(f *Figure) bool { return f == nil })
}

func (a *auditor) auditRun(r *run) {
	a.load(r)
	a.utilisation(r)
	a.percentiles(r)
	a.shares(r)
	a.counts(r)
}

// figure is the value in the notation of package laws.
func (f *Figure) forLaws() string {
	switch {
	case f == nil:
		return ""
	case f.dim == 1:
		return f.Text + f.Unit
	case f.Unit == "percent":
		return f.Text + "%"
	}
	return f.Text
}

// fromLaws audits figures of the run by package laws. What must be true is left
// out where the same law was broken.
func (a *auditor) fromLaws(name string, r *run, f laws.Figures, arithmetic func(laws.Finding) string, figs ...*Figure) {
	found, err := laws.Audit(f)
	if err != nil {
		return // nothing follows: what can't be read was refused by Read
	}
	a.law(name, figs...)
	for _, x := range found {
		broken := slices.ContainsFunc(found, func(o laws.Finding) bool { return o.Law == x.Law && o.Grade != laws.Must })
		again := name == "pool" && x.Law == "N = X R" // Little's law was asked already
		if x.Grade == laws.Must && broken || again {
			continue
		}
		x.Text = "In run " + r.name + ", " + x.Text
		a.say(name, slug(x.Law)+"/"+r.name, Finding{Finding: x, Arithmetic: arithmetic(x)}, figs...)
	}
}

// slug makes a law's formula a part of a key.
func slug(law string) string { return strings.ReplaceAll(law, " ", "") }

// load applies Little's law: N = X R, N = X (R + Z).
func (a *auditor) load(r *run) {
	if r.rate == nil || r.count == 0 && r.mean == nil {
		return
	}
	f := laws.Figures{PerSec: r.rate.forLaws(), Mean: r.mean.forLaws(), Think: r.think.forLaws()}
	if r.count > 0 {
		f.Users = strconv.Itoa(r.count)
	}
	a.fromLaws("little", r, f, func(x laws.Finding) string {
		switch x.Unit {
		case "requests":
			return fmt.Sprintf("X R = %v x %v = %s", r.rate, r.mean, short(x.Value))
		case "users":
			return fmt.Sprintf("X (R + Z) = %v x (%v + %v) = %s", r.rate, r.mean, r.think, short(x.Value))
		}
		cycle := laws.Exact(float64(r.count)).Div(r.rate.Value)
		text := fmt.Sprintf("N/X = %d / %v = %s", r.count, r.rate, show(cycle, 1))
		if r.mean != nil {
			text += fmt.Sprintf("; less %v it is %s", r.mean, show(cycle.Sub(r.mean.Value), 1))
		}
		return text
	}, some(r.rate, r.mean, r.think, r.users)...)
	if r.mean == nil || r.servers == 0 {
		return
	}
	figs := some(r.rate, r.mean)
	a.fromLaws("pool", r, laws.Figures{PerSec: f.PerSec, Mean: f.Mean, Pool: strconv.Itoa(r.servers)}, func(x laws.Finding) string {
		return fmt.Sprintf("X R = %v x %v, of %d", r.rate, r.mean, r.servers)
	}, figs...)
	if laws.InFlight(r.rate.Value, r.mean.Value).Lo <= float64(r.servers) {
		return
	}
	one := laws.Exact(1).Div(r.rate.Value)
	a.say("serial", r.name, Finding{
		Finding: laws.Finding{
			Grade: laws.Must, Law: "X S / c <= 1", Value: one, Unit: "s",
			Text: fmt.Sprintf("In run %s, a resource that serves one request at a time takes at most %s of each, and %d side by side at most %s: the means can't tell which of them it is.",
				r.name, show(one, 1), r.servers, show(one.Mul(laws.Exact(float64(r.servers))), 1)),
			Assumes: "every request needs it once",
		},
		Arithmetic: fmt.Sprintf("1/X = 1 / %v", r.rate),
	}, figs...)
}

// utilisation holds the time that requests keep one of the servers against the
// rate: U = X S / c.
func (a *auditor) utilisation(r *run) {
	if r.rate == nil {
		return
	}
	for _, h := range r.holds {
		if h.Servers == 0 {
			continue
		}
		a.law("utilisation", r.rate, h)
		u := laws.Utilisation(r.rate.Value, h.Value, h.Servers)
		if u.Lo <= 1 {
			continue
		}
		most := laws.Exact(float64(h.Servers)).Div(r.rate.Value)
		a.say("utilisation", r.name, Finding{
			Finding: laws.Finding{
				Grade: laws.Impossible, Law: "U = X S / c", Value: u, Unit: "1",
				Text: fmt.Sprintf("In run %s, %s would keep what it holds busy for %s of the time; it can hold it for at most %s each.",
					r.name, h.Metric, percent(u), show(most, 1)),
			},
			Arithmetic: fmt.Sprintf("X S / c = %v x %v / %d = %s", r.rate, h, h.Servers, short(u)),
		}, r.rate, h)
	}
}

// percentiles must rise, and put bounds to the mean.
func (a *auditor) percentiles(r *run) {
	points := r.percentiles
	for i := 1; i < len(points); i++ {
		p, q := points[i-1], points[i]
		a.law("percentiles rise", p, q)
		if p.Value.Lo > q.Value.Hi {
			a.say("percentiles rise", q.ID, Finding{
				Finding: laws.Finding{
					Grade: laws.Impossible, Law: "percentiles rise", Value: p.Value, Unit: "s",
					Text: fmt.Sprintf("In run %s, the %s of %v is above the %s of %v.", r.name, p.Statistic, p, q.Statistic, q),
				},
				Arithmetic: fmt.Sprintf("%v > %v", p, q),
			}, p, q)
		}
	}
	if r.mean == nil || len(points) == 0 {
		return
	}
	figs := append([]*Figure{r.mean}, points...)
	a.law("mean and percentiles", figs...)
	// At least a share of 1 - p takes the p-th percentile or longer, and at most a
	// share of p takes longer than it.
	var least, most laws.Interval
	var sum []string
	last := 0.0
	for i, p := range points {
		share, _ := p.share()
		next := 1.0
		if i+1 < len(points) {
			next, _ = points[i+1].share()
		}
		least = least.Add(p.Value.Mul(laws.Exact(next - share)))
		most = most.Add(p.Value.Mul(laws.Exact(share - last)))
		sum = append(sum, fmt.Sprintf("%.3g x %v", next-share, p))
		last = share
	}
	f := Finding{Finding: laws.Finding{Grade: laws.Impossible, Unit: "s"}}
	switch {
	case r.mean.Value.Hi < least.Lo:
		f.Law, f.Value = "mean >= sum of shares x percentiles", least
		f.Text = fmt.Sprintf("In run %s, the percentiles alone make a mean of %s or more, and it is given as %v.", r.name, show(least, 1), r.mean)
		f.Arithmetic = strings.Join(sum, " + ") + " = " + show(least, 1)
	case last == 1 && r.mean.Value.Lo > most.Hi:
		f.Law, f.Value = "mean <= sum of shares x percentiles", most
		f.Text = fmt.Sprintf("In run %s, percentiles and maximum allow a mean of %s at most, and it is given as %v.", r.name, show(most, 1), r.mean)
		f.Arithmetic = fmt.Sprintf("%v > %s", r.mean, show(most, 1))
	default:
		return
	}
	a.say("mean and percentiles", r.name, f, figs...)
}

// shares holds the share of slow requests against the percentiles, and against
// the share of those that succeeded.
func (a *auditor) shares(r *run) {
	if r.slow == nil {
		return
	}
	if r.limit != nil {
		for _, p := range r.percentiles {
			share, _ := p.share()
			tail := 1 - share
			a.law("share over a limit", r.slow, r.limit, p)
			f := Finding{Finding: laws.Finding{Grade: laws.Impossible, Law: "share over a limit", Value: r.slow.Value, Unit: "1"}}
			switch {
			case p.Value.Lo > r.limit.Value.Hi && r.slow.Value.Hi < tail:
				f.Text = fmt.Sprintf("In run %s, a %s of %v means that at least %s take %v or longer, and %v are said to.",
					r.name, p.Statistic, p, percent(laws.Exact(tail)), r.limit, r.slow)
			case p.Value.Hi < r.limit.Value.Lo && r.slow.Value.Lo > tail:
				f.Text = fmt.Sprintf("In run %s, a %s of %v means that at most %s take %v or longer, and %v are said to.",
					r.name, p.Statistic, p, percent(laws.Exact(tail)), r.limit, r.slow)
			default:
				continue
			}
			f.Arithmetic = fmt.Sprintf("1 - %g = %s, against %v", share, percent(laws.Exact(tail)), r.slow)
			a.say("share over a limit", r.name, f, r.slow, r.limit, p)
		}
	}
	if r.success != nil {
		rest := laws.Exact(1).Sub(r.slow.Value).Sub(r.success.Value)
		a.law("shares add up", r.slow, r.success)
		if rest.Lo > 0 {
			a.say("shares add up", r.name, Finding{
				Finding: laws.Finding{
					Grade: laws.Must, Law: "shares add up", Value: rest, Unit: "1",
					Text: fmt.Sprintf("In run %s, %s of the requests neither succeeded nor were slow: they failed in another way.", r.name, percent(rest)),
				},
				Arithmetic: fmt.Sprintf("100 %% - %s - %v", percent(r.success.Value), r.slow),
			}, r.slow, r.success)
		}
	}
}
