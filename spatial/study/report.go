//go:build !js

package study

import (
	"fmt"
	"math"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/laws"
	"latlab.example/common/load"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
)

// report fills in the trial.
func (r *running) report(t *lab.Trial, out run) error {
	all := out.Response
	all.Merge(out.Failed)
	n := float64(all.Count())
	if n == 0 {
		return errNone
	}
	t.Ops, t.Took = int(all.Count()), time.Duration(all.Sum())
	t.Observe(p50, float64(all.Quantile(0.50)))
	t.Observe(p95, float64(all.Quantile(0.95)))
	window := (out.To - out.From).Seconds()
	t.Observe(perSec, n/window)
	t.Observe(success, 100*float64(out.Success)/n)
	t.Observe(slow, 100*slowShare(all))
	t.Observe(timeouts, 100*float64(kind(out.Report, "timeout"))/n)
	t.Observe(cancelled, float64(out.Cancelled)/n)
	r.reportPool(t, out, n, window)
	if !r.virtual {
		t.Observe(clientCPU, float64(out.to.client-out.from.client)/n)
		if out.to.tells {
			t.Observe(serverCPU, float64(out.to.server-out.from.server)/n)
		}
	}
	if t.N == 0 {
		r.reportLaws(t, out, all, window)
	}
	t.Stages(out.stages)
	for _, tl := range out.lines {
		t.Timeline(tl)
	}
	return nil
}

func (r *running) reportPool(t *lab.Trial, out run, n, window float64) {
	from, to := out.from.gauges, out.to.gauges
	t.Observe(held, float64(to.HeldTime-from.HeldTime)/n)
	t.Observe(poolUse, 100*(to.HeldTime-from.HeldTime).Seconds()/(window*float64(to.Max)))
	t.Observe(queries, float64(to.Queries-from.Queries)/n)
	t.Observe(opened, float64(to.Opened-from.Opened)/n)
	if out.samples.N > 0 {
		t.Observe(pending, out.samples.Pending.Mean)
		t.Observe(zero, 100*float64(out.samples.Zero)/float64(out.samples.N))
	}
}

// reportLaws holds the run against Little's law and against the closed model.
func (r *running) reportLaws(t *lab.Trial, out run, all metrics.Dist, window float64) {
	users, z := number(r.arm, "users", users.Baseline()), duration(r.arm, "think", think.Baseline()).Seconds()
	n, mean := float64(all.Count()), all.Mean()/1e9
	t.Observe(littleOff, 100*math.Abs(n/window*(mean+z)/float64(users)-1))
	t.Dirty(contradicts(all, window, users, z))
	if off, ok := r.offModel(out, n, mean, users, z); ok {
		t.Observe(modelOff, 100*off)
	}
}

// contradicts says if N = X (R + Z) fails by more than three standard errors of X
// and R.
func contradicts(all metrics.Dist, window float64, users int, think float64) (why string) {
	n := float64(all.Count())
	active := laws.Users(around(n/window, 3/math.Sqrt(n)), around(all.Mean()/1e9, 3*spread(all)/math.Sqrt(n)), laws.Exact(think))
	if active.Contains(float64(users)) {
		return ""
	}
	return fmt.Sprintf("%d users, but N = X (R + Z) gives %v", users, active)
}

func around(v, share float64) laws.Interval {
	return laws.Interval{Lo: v * (1 - share), Hi: v * (1 + share)}
}

// offModel is how far the mean response is from that of the closed model, in
// which a request holds one connection for as long as was measured, and then
// spends the rest of its time alone. ok is false where requests don't do that.
func (r *running) offModel(out run, n, mean float64, users int, z float64) (off float64, ok bool) {
	if label(r.arm, "nested", "false") == "true" || label(r.arm, "fetch", "") == string(spatial.FanOut) {
		return 0, false
	}
	from, to := out.from.gauges, out.to.gauges
	hold := (to.HeldTime - from.HeldTime).Seconds() / n
	wait := (to.AcquireTime + to.FailedTime - from.AcquireTime - from.FailedTime).Seconds() / n
	rest := max(0, mean-hold-wait)
	p, err := laws.Closed{Users: users, Think: z, Stations: []laws.Station{
		{Name: "pool", Demand: hold, Servers: to.Max},
		{Name: "rest", Demand: rest, Servers: laws.Unlimited},
	}}.Solve()
	if err != nil || p.Response == 0 {
		return 0, false
	}
	return math.Abs(mean/p.Response - 1), true
}

// spread is the standard deviation over the mean.
func spread(d metrics.Dist) float64 {
	mean, sum := d.Mean(), 0.0
	for b, count := range d.Buckets() {
		off := float64(b.Mid()) - mean
		sum += off * off * float64(count)
	}
	return math.Sqrt(sum/float64(d.Count())) / mean
}

func slowShare(d metrics.Dist) float64 {
	slow := uint64(0)
	for b, count := range d.Buckets() {
		if b.Mid() >= slowAfter.Nanoseconds() {
			slow += count
		}
	}
	return float64(slow) / float64(d.Count())
}

func kind(r load.Report, name string) uint64 {
	for _, e := range r.Errors {
		if e.Kind == name {
			return e.Count
		}
	}
	return 0
}
