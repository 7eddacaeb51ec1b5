package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"latlab.example/common/laws"
)

// auditSeries is for operations of n units of work on a device that makes each
// request wait: their time is n (CPU + waits x latency) if nothing else goes on.
func (a *auditor) auditSeries(g *group) {
	var points []*Figure
	for _, f := range g.figures {
		if f.Quantity == Work && f.N > 0 && f.Wait != nil {
			points = append(points, f)
		}
	}
	slices.SortStableFunc(points, func(x, y *Figure) int {
		return cmp.Or(cmp.Compare(x.N, y.N), cmp.Compare(*x.Wait, *y.Wait))
	})
	s := series{auditor: a, name: g.name, points: points}
	s.cpu()
	s.latency()
	s.overshoot()
	s.proportional()
}

type series struct {
	*auditor
	name   string
	points []*Figure // by n, then by wait

	base  *Figure // without a wait
	waits int     // a unit of work, 0 if that isn't a whole number
}

func (f *Figure) perUnit() laws.Interval { return f.Value.Div(laws.Exact(float64(f.N))) }

func (f *Figure) wait() string { return show(laws.Exact(*f.Wait), 1) }

// cpu: on a device that answers at once, the time is all CPU.
func (s *series) cpu() {
	for _, f := range s.points {
		if *f.Wait != 0 {
			continue
		}
		s.base = f
		s.law("cpu a unit of work", f)
		each := f.perUnit()
		s.say("cpu", f.ID, Finding{
			Finding: laws.Finding{
				Grade: laws.Must, Law: "t = n (CPU + waits)", Value: each, Unit: "s",
				Text:    fmt.Sprintf("Without any wait each of %d units of work takes %s: CPU is at most that.", f.N, show(each, 1)),
				Assumes: "it grows no faster than the work",
			},
			Arithmetic: fmt.Sprintf("%v / %d", f, f.N),
		}, f)
	}
}

// latency: more of it takes no less time, and the growth counts the waits.
func (s *series) latency() {
	counts := make(map[int]bool)
	for i := 1; i < len(s.points); i++ {
		f, g := s.points[i-1], s.points[i]
		if f.N != g.N || *f.Wait == *g.Wait {
			continue
		}
		s.law("monotone in latency", f, g)
		if g.Value.Hi < f.Value.Lo {
			s.say("monotone in latency", g.ID, Finding{
				Finding: laws.Finding{
					Grade: laws.Impossible, Law: "t rises with latency", Value: g.Value.Div(f.Value), Unit: "1",
					Text: fmt.Sprintf("%d units of work took %v at a latency of %s and %v at %s: no steady system gets faster when its device gets slower. It is noise, or something else was changed too.",
						f.N, f, f.wait(), g, g.wait()),
				},
				Arithmetic: fmt.Sprintf("%v < %v", g, f),
			}, f, g)
			counts[0] = true
			continue
		}
		if *f.Wait == 0 {
			continue // this step has the overshoot of a wait in it
		}
		step := g.Value.Sub(f.Value)
		each := step.Div(laws.Exact((*g.Wait - *f.Wait) * float64(f.N)))
		s.say("waits", g.ID, Finding{
			Finding: laws.Finding{
				Grade: laws.Must, Law: "t = n (CPU + waits x latency)", Value: each, Unit: "waits",
				Text: fmt.Sprintf("From a latency of %s to %s, %d units of work took %s more: %s waits each, one after the other.",
					f.wait(), g.wait(), f.N, show(step, 1), short(each)),
				Assumes: "a wait takes as much more as it is said to",
			},
			Arithmetic: fmt.Sprintf("(%v - %v) / (%d x %s)", g, f, f.N, show(laws.Exact(*g.Wait-*f.Wait), 1)),
		}, f, g)
		whole := math.Round(each.Mid())
		if math.Abs(each.Mid()-whole) > 0.15 {
			whole = 0
		}
		counts[int(whole)] = true
	}
	for n := range counts {
		if len(counts) == 1 {
			s.waits = n
		}
	}
}

// overshoot: with CPU and the number of waits known, what a wait really took.
func (s *series) overshoot() {
	if s.base == nil || s.waits == 0 {
		return
	}
	var figs []*Figure
	var says, how []string
	var over *laws.Interval
	odd := false
	for _, f := range s.points {
		if *f.Wait == 0 {
			continue
		}
		took := f.perUnit().Sub(s.base.perUnit()).Div(laws.Exact(float64(s.waits)))
		more := took.Sub(laws.Exact(*f.Wait))
		odd = odd || more.Lo > noise*(*f.Wait)
		over = hull(over, laws.Exact(more.Mid()))
		figs = append(figs, f)
		says = append(says, fmt.Sprintf("%s took %s (n=%d)", f.wait(), show(took, 1), f.N))
		how = append(how, fmt.Sprintf("(%v / %d - %s) / %d", f, f.N, show(s.base.perUnit(), 1), s.waits))
	}
	figs = append([]*Figure{s.base}, figs...)
	s.law("overshoot", figs...)
	if !odd {
		return
	}
	s.say("overshoot", s.name, Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "t = n (CPU + waits x latency)", Value: *over, Unit: "s",
			Text: fmt.Sprintf("In group %s, a wait of %s: the latencies that the rows are named after aren't those of the device.", s.name, strings.Join(says, ", of ")),
			Assumes: fmt.Sprintf("%s to %s added to every wait, as a timer that wakes up late does",
				show(laws.Exact(over.Lo), 1), show(laws.Exact(over.Hi), 1)),
		},
		Arithmetic: strings.Join(how, "; "),
	}, figs...)
}

// proportional: ten times the work takes ten times as long, or less if there is a
// cost that doesn't grow.
func (s *series) proportional() {
	for i, f := range s.points {
		for _, g := range s.points[i+1:] {
			if f.N == g.N || *f.Wait != *g.Wait {
				continue
			}
			s.law("proportional in n", f, g)
			grew := g.perUnit().Div(f.perUnit())
			if grew.Lo <= 1+noise && grew.Hi >= 1/(1+noise) {
				continue
			}
			assumes := "a cost that grows faster than the work: contention, or memory"
			if grew.Hi < 1 {
				assumes = "a large cost that doesn't grow with the work, or another setting in one of the two"
			}
			s.say("proportional in n", g.ID, Finding{
				Finding: laws.Finding{
					Grade: laws.Implausible, Law: "t is proportional to n", Value: grew, Unit: "1", Assumes: assumes,
					Text: fmt.Sprintf("At a latency of %s a unit of work took %s among %d and %s among %d.",
						f.wait(), show(f.perUnit(), 1), f.N, show(g.perUnit(), 1), g.N),
				},
				Arithmetic: fmt.Sprintf("%v / %d and %v / %d", f, f.N, g, g.N),
			}, f, g)
			break
		}
	}
}
