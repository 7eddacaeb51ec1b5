package audit

import (
	"fmt"
	"slices"
	"strings"

	"latlab.example/common/laws"
)

// group is figures that differ in one thing, by the table's column group.
type group struct {
	name    string
	figures []*Figure
}

func (a *auditor) groups() []*group {
	var all []*group
	byName := make(map[string]*group)
	for _, f := range a.Figures {
		for _, name := range f.Groups {
			g := byName[name]
			if g == nil {
				g = &group{name: name}
				byName[name] = g
				all = append(all, g)
			}
			g.figures = append(g.figures, f)
		}
	}
	return all
}

// noise is the change of a figure that the laws on series let pass, as a share:
// single runs of one setting differ by as much.
const noise = 0.2

// state is one run of a group, found by its throughput.
type state struct {
	rate, mean, p95 *Figure
	users, servers  int
}

// auditLoads holds the runs of a group against each other.
func (a *auditor) auditLoads(g *group) {
	var states []state
	for _, f := range g.figures {
		if f.Quantity != Throughput || len(f.Runs) == 0 {
			continue
		}
		s := state{rate: f, users: f.Concurrency, servers: f.Servers}
		if users, ok := a.slots[slot{f.Runs[0], Users, ""}]; ok && s.users == 0 {
			s.users = int(users.Value.Mid())
		}
		s.mean = a.slots[slot{f.Runs[0], Response, "mean"}]
		s.p95 = a.slots[slot{f.Runs[0], Response, "p95"}]
		states = append(states, s)
	}
	if len(states) < 2 {
		return
	}
	a.saturated(g, states)
	a.oneLoad(g, states)
	a.pools(g, states)
	a.meanAndTail(g, states)
}

// saturated: where every user waits for an answer and then asks again at once, c
// servers that are all that requests need do min(N, c) of them at a time. Beyond
// c users throughput stays what it is.
func (a *auditor) saturated(g *group, states []state) {
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(x, y state) int { return x.users - y.users })
	for _, s := range states {
		if s.servers == 0 || s.users == 0 || s.servers != states[0].servers {
			return
		}
	}
	first, last := states[0], states[len(states)-1]
	if first.users == last.users {
		return
	}
	var figs []*Figure
	for _, s := range states {
		figs = append(figs, s.rate)
	}
	a.law("constant throughput", figs...)
	a.mixes(states)
	most := float64(min(last.users, last.servers)) / float64(min(first.users, first.servers))
	grew := last.rate.Value.Div(first.rate.Value)
	if grew.Lo <= most*(1+noise) {
		return
	}
	var rates, shares []string
	for _, s := range states {
		rates = append(rates, s.rate.String())
		if share, _, ok := mix(s.rate); ok {
			shares = append(shares, percent(share))
		}
	}
	assumes := "another mix of work at each step, or time that users think between requests"
	if len(shares) == len(states) {
		assumes = fmt.Sprintf("another mix of work at each step (a share of the slow kind of %s), or time that users think between requests", strings.Join(shares, ", "))
	}
	a.say("constant throughput", g.name, Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "X = c/S at saturation", Value: grew, Unit: "1", Assumes: assumes,
			Text: fmt.Sprintf("Throughput grows %s-fold from %d to %d users, and a server that does %d at a time is saturated from the first user on: its throughput would be constant.",
				short(grew), first.users, last.users, first.servers),
		},
		Arithmetic: strings.Join(rates, ", "),
	}, figs...)
}

// mix is the share of the first of the two kinds that a rate's relation says it is
// served as: c/X = share x first + (1 - share) x second.
func mix(f *Figure) (share laws.Interval, r relation, ok bool) {
	for _, r := range f.relations {
		if r.verb != servedAs {
			continue
		}
		one := laws.Exact(float64(max(f.Servers, 1))).Div(f.Value)
		gap := r.expr.eval().Sub(r.or.eval())
		if gap.Lo <= 0 {
			continue
		}
		return one.Sub(r.or.eval()).Div(gap), r, true
	}
	return laws.Interval{}, relation{}, false
}

func (a *auditor) mixes(states []state) {
	for _, s := range states {
		share, r, ok := mix(s.rate)
		if !ok {
			continue
		}
		figs := r.or.rows(r.expr.rows([]*Figure{s.rate}))
		a.law("mix", figs...)
		f := Finding{
			Finding: laws.Finding{
				Grade: laws.Must, Law: "1/X = share x S1 + (1 - share) x S2", Value: share, Unit: "1", Assumes: "users don't think, and the server is always busy",
				Text: fmt.Sprintf("%v with %s means that %s of the requests are of the kind that takes %s, and the others take %s.",
					s.rate, users(s.users), percent(share), show(r.expr.eval(), 1), show(r.or.eval(), 1)),
			},
			Arithmetic: fmt.Sprintf("(%d / %v - %s) / (%s - %s)", max(s.servers, 1), s.rate, show(r.or.eval(), 1), show(r.expr.eval(), 1), show(r.or.eval(), 1)),
		}
		if share.Hi < 0 || share.Lo > 1 {
			f.Grade, f.Assumes = laws.Impossible, ""
			f.Text = fmt.Sprintf("%v with %s fits no mix of requests that take %s and %s.", s.rate, users(s.users), show(r.expr.eval(), 1), show(r.or.eval(), 1))
		}
		a.say("mix", s.rate.ID, f, figs...)
	}
}

// oneLoad: runs under one load have the same users, who think for the same time.
func (a *auditor) oneLoad(g *group, states []state) {
	for _, s := range states {
		if s.mean == nil || s.users == 0 || s.users != states[0].users {
			return
		}
	}
	var figs []*Figure
	var thinks, how []string
	agree := true
	var zs []laws.Interval
	for _, s := range states {
		figs = append(figs, s.rate, s.mean)
		z := laws.Think(laws.Exact(float64(s.users)), s.rate.Value, s.mean.Value)
		for _, other := range zs {
			agree = agree && z.Overlaps(other)
		}
		zs = append(zs, z)
		thinks = append(thinks, show(z, 1))
		how = append(how, fmt.Sprintf("%d / %v - %v", s.users, s.rate, s.mean))
	}
	a.law("one load", figs...)
	if agree {
		return
	}
	var users, think *laws.Interval
	for i, s := range states {
		for _, o := range states[:i] {
			n, z, err := laws.CommonLoad(laws.Row{PerSec: o.rate.Value, Response: o.mean.Value}, laws.Row{PerSec: s.rate.Value, Response: s.mean.Value})
			if err != nil {
				continue // of one rate: it says nothing
			}
			users, think = hull(users, laws.Exact(n.Mid())), hull(think, laws.Exact(z.Mid()))
		}
	}
	f := Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "Z = N/X - R", Unit: "s",
			Value: laws.Interval{Lo: zs[0].Lo, Hi: zs[0].Hi},
			Text: fmt.Sprintf("With %d users in each of these runs, a user would think for %s: not one closed system.",
				states[0].users, strings.Join(thinks, ", ")),
			Assumes: "another number of active users in each run",
		},
		Arithmetic: strings.Join(how, "; "),
	}
	if users != nil && users.Lo > 0 && think.Lo >= 0 {
		f.Assumes = fmt.Sprintf("about %.0f to %.0f active users who think for %.2g to %.2g s, which fits each pair of these runs: %s of those stated, as in a ramp",
			users.Lo, users.Hi, think.Lo, think.Hi, percent(laws.Exact(users.Mid()/float64(states[0].users))))
	}
	a.say("one load", g.name, f, figs...)
}

func users(n int) string {
	if n == 1 {
		return "1 user"
	}
	return fmt.Sprintf("%d users", n)
}

// hull is the interval that holds both.
func hull(a *laws.Interval, b laws.Interval) *laws.Interval {
	if a == nil {
		return &b
	}
	return &laws.Interval{Lo: min(a.Lo, b.Lo), Hi: max(a.Hi, b.Hi)}
}

// pools: in a group where only the number of servers differs, a request holds one
// of them for no longer than the whole request takes with the most servers, if
// the number changes nothing else.
func (a *auditor) pools(g *group, states []state) {
	best := states[0]
	for i, s := range states {
		if s.mean == nil || s.servers == 0 || slices.ContainsFunc(states[:i], func(o state) bool { return o.servers == s.servers }) {
			return
		}
		if s.servers > best.servers {
			best = s
		}
	}
	for _, s := range states {
		if s.rate == best.rate {
			continue
		}
		figs := []*Figure{s.rate, s.mean, best.mean}
		a.law("pool size alone", figs...)
		offered := laws.InFlight(s.rate.Value, best.mean.Value)
		wait, err := laws.MMC{Servers: s.servers, PerSec: s.rate.Value.Hi, Service: best.mean.Value.Hi}.Wait()
		if err != nil {
			continue // saturated: any wait is possible
		}
		rest := s.mean.Value.Sub(best.mean.Value).Sub(laws.Exact(wait))
		if rest.Lo <= noise*s.mean.Value.Hi {
			continue
		}
		a.say("pool size alone", s.rate.ID, Finding{
			Finding: laws.Finding{
				Grade: laws.Implausible, Law: "U = X S / c", Value: offered, Unit: "servers",
				Text: fmt.Sprintf("If requests kept one of the %d servers busy no longer than with %d (%v), they kept %s of them busy and waited for %s at most: the number of servers can't explain a mean of %v.",
					s.servers, best.servers, best.mean, short(offered), show(laws.Exact(wait), 1), s.mean),
				Assumes: "that the time for which a request holds one changed too, and not their number alone; or arrivals in bursts",
			},
			Arithmetic: fmt.Sprintf("X S = %v x %v = %s; the wait for one of %d is then %s at most", s.rate, best.mean, short(offered), s.servers, show(laws.Exact(wait), 1)),
		}, figs...)
	}
}

// meanAndTail: where two runs of the same users give no mean, N/X is that of a
// whole cycle, and it may have moved when the p95 didn't.
func (a *auditor) meanAndTail(g *group, states []state) {
	for _, s := range states {
		if s.mean != nil || s.p95 == nil || s.users == 0 || s.users != states[0].users {
			return
		}
	}
	first := states[0]
	for _, s := range states[1:] {
		figs := []*Figure{first.rate, s.rate, first.p95, s.p95}
		a.law("mean against p95", figs...)
		mean, tail := first.rate.Value.Div(s.rate.Value), s.p95.Value.Div(first.p95.Value)
		if apartBy := mean.Div(tail); apartBy.Lo <= 1+noise && apartBy.Hi >= 1/(1+noise) {
			continue
		}
		cycle := func(x state) string {
			return show(laws.Exact(float64(x.users)).Div(x.rate.Value), 1)
		}
		a.say("mean against p95", s.rate.ID, Finding{
			Finding: laws.Finding{
				Grade: laws.Implausible, Law: "R + Z = N/X", Value: mean, Unit: "1",
				Text: fmt.Sprintf("At %d users the mean went from %s to %s (%s) while the p95 went from %v to %v (%s): what is said of latency is true of one of them only.",
					s.users, cycle(first), cycle(s), moved(mean), first.p95, s.p95, moved(tail)),
				Assumes: "a distribution of another shape in each run, or time that users think between requests",
			},
			Arithmetic: fmt.Sprintf("N/X = %d / %v and %d / %v", first.users, first.rate, s.users, s.rate),
		}, figs...)
	}
}

// moved writes a ratio as a change: "+40 %".
func moved(ratio laws.Interval) string {
	return fmt.Sprintf("%+.0f %%", 100*(ratio.Mid()-1))
}
