package audit

import (
	"fmt"
	"math"

	"latlab.example/common/laws"
)

// counts finds the number of requests behind a rate that was printed with all
// its digits: the fraction with the smallest terms that rounds to it, times the
// factor that the slow requests' count and share allow. With the number there
// are a duration and the counts that percentiles stand for.
func (a *auditor) counts(r *run) {
	if r.success == nil || r.slow == nil || r.slows == nil || r.slow.Value.Lo <= 0 {
		return
	}
	figs := some(r.success, r.slows, r.slow)
	a.law("counts", figs...)
	all := r.slows.Value.Div(r.slow.Value)
	_, q, ok := fraction(r.success.Value)
	if !ok {
		return
	}
	first := math.Ceil(all.Lo/q) * q
	if first <= 0 || first > all.Hi || first+q <= all.Hi {
		return // no number of requests fits, or several do
	}
	total := first
	good := math.Round(total * r.success.Value.Mid())
	slow := r.slows.Value.Mid()
	text := fmt.Sprintf("In run %s, there were %.0f requests: %.0f succeeded, %.0f didn't, and %.0f are called slow.", r.name, total, good, total-good, slow)
	how := fmt.Sprintf("%s = %.0f/%.0f; %v / %v = %s", r.success.Text, good, total, r.slows, r.slow, short(all))
	if r.rate != nil {
		took := laws.Exact(total).Div(r.rate.Value)
		text += fmt.Sprintf(" At %v that took %s.", r.rate, show(took, 1))
		how += fmt.Sprintf("; %.0f / %v = %s", total, r.rate, show(took, 1))
		a.law("counts", r.rate)
	}
	a.say("counts", r.name, Finding{
		Finding:    laws.Finding{Grade: laws.Must, Law: "rate x time = count", Text: text, Value: laws.Exact(total), Unit: "requests"},
		Arithmetic: how,
	}, some(r.success, r.slows, r.slow, r.rate)...)
	if r.limit == nil {
		return
	}
	for _, p := range r.percentiles {
		share, _ := p.share()
		if p.Value.Lo <= r.limit.Value.Hi {
			continue
		}
		above := total - math.Floor(share*total)
		a.law("counts", p, r.limit)
		if slow < above {
			a.say("counts over the limit", r.name, Finding{
				Finding: laws.Finding{
					Grade: laws.Impossible, Law: "share over a limit", Value: laws.Exact(above), Unit: "requests",
					Text: fmt.Sprintf("In run %s, at least %.0f requests took the %s of %v or longer, and %.0f are said to have taken %v.",
						r.name, above, p.Statistic, p, slow, r.limit),
				},
				Arithmetic: fmt.Sprintf("%.0f - %g x %.0f = %.0f, against %.0f", total, share, total, above, slow),
			}, append(figs, p, r.limit)...)
		}
	}
}

// fraction is the fraction p/q with the smallest q in the interval, by continued
// fractions (the Stern-Brocot tree walked in long steps). ok is false if so many
// fractions fit that the digits say nothing.
func fraction(i laws.Interval) (p, q float64, ok bool) {
	// The expected smallest q of an interval of width w is about 1/sqrt(w): with
	// fewer digits than this any number of requests fits.
	if i.Lo <= 0 || i.Hi > 1 || i.Hi-i.Lo > 1e-9 {
		return 0, 0, false
	}
	const float = 1e-13 // what arithmetic on float64 may be off by here
	p, q = simplest(i.Lo-float, i.Hi+float, 0)
	return p, q, q < 1e7
}

// simplest is the fraction with the smallest denominator between two positive
// numbers.
func simplest(lo, hi float64, depth int) (p, q float64) {
	whole := math.Floor(lo)
	if whole+1 <= hi || whole == lo || depth > 40 {
		if whole == lo {
			return whole, 1
		}
		return whole + 1, 1
	}
	p, q = simplest(1/(hi-whole), 1/(lo-whole), depth+1)
	return whole*p + q, p
}
