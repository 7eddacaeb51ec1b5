package sim

import (
	"fmt"
	"slices"
	"time"

	"latlab.example/common/metrics"
)

// Flow measures a stream of requests: their response times, their stages, and how
// many there are. See [Sim.Flow].
type Flow struct {
	sim   *Sim
	rec   *metrics.Recorder
	keep  func(metrics.Timeline)
	gauge gauge

	response *metrics.Histogram
	path     metrics.Breakdown
	failed   uint64
	result   Result
}

// Flow makes a flow whose requests have the stages of set.
func (s *Sim) Flow(set *metrics.StageSet) *Flow {
	if s.ran {
		panic("sim: flow " + set.Name() + " made after Run began; make all flows before")
	}
	f := &Flow{sim: s, response: metrics.NewHistogram()}
	f.rec = metrics.NewRecorder(set, metrics.WithSwitch(true), metrics.WithTimelines(f.timeline))
	s.flows = append(s.flows, f)
	return f
}

// Timelines hands the timeline of each request that ends in the window to keep.
// It returns f.
func (f *Flow) Timelines(keep func(metrics.Timeline)) *Flow {
	f.keep = keep
	return f
}

// Request is one request on its way. It is the line of execution that began it,
// too; see [Line].
type Request struct {
	Line
	flow  *Flow
	began int64
	req   *metrics.Request
}

// Line is a line of execution in a request: on it one stage follows another.
type Line struct {
	r     *Request
	track metrics.Track
	mark  int64 // where the next stage begins
}

// Begin begins a request now. What happens to requests in the warm-up is
// forgotten; one that ends in the window counts with its whole time.
func (f *Flow) Begin() *Request {
	now := f.sim.now
	r := &Request{flow: f, began: now, req: f.rec.Request()}
	r.Line = Line{r: r, mark: now}
	f.gauge.enter(now)
	return r
}

// Lap ends stage s now. It began where the line's stage before ended, or where the
// line began.
func (l *Line) Lap(s metrics.Stage) {
	now := l.r.flow.sim.now
	l.r.req.Add(l.track, s, l.mark, now)
	l.mark = now
}

// Skip leaves the time since the line's last stage to none.
func (l *Line) Skip() { l.mark = l.r.flow.sim.now }

// Fork begins a further line of execution now, for a process that works for the
// request beside others.
func (r *Request) Fork() *Line {
	return &Line{r: r, track: r.req.Track(), mark: r.flow.sim.now}
}

// Done ends the request now. It must not be used after, nor must its lines.
func (r *Request) Done() {
	r.flow.gauge.leave(r.flow.sim.now, r.began, r.flow.sim.from)
	r.req.FinishAt(r.began, r.flow.sim.now)
}

// Fail ends a request that failed: it is counted, and its time is not.
func (r *Request) Fail() {
	r.flow.gauge.leave(r.flow.sim.now, r.began, r.flow.sim.from)
	r.flow.failed++
}

// timeline is called by FinishAt.
func (f *Flow) timeline(t metrics.Timeline) {
	if err := t.Check(); err != nil && f.sim.err == nil {
		f.sim.err = fmt.Errorf("sim: a request that ended at %v: %w: %w", f.sim.Now(), ErrInvariant, err)
	}
	f.response.Record(t.To - t.From)
	f.path.Add(t.Critical())
	if f.keep != nil && f.sim.now >= f.sim.warm {
		f.keep(t)
	}
}

func (f *Flow) forget() {
	f.gauge.forget(f.sim.now)
	f.rec.Reset()
	f.response.Reset()
	f.path = metrics.Breakdown{}
	f.failed = 0
}

// Result is what a flow measured in the window.
type Result struct {
	Window   time.Duration     // how long it was measured
	Failed   uint64            // requests that ended with [Request.Fail]
	Response metrics.Dist      // of those that ended with [Request.Done], in ns
	Path     metrics.Breakdown // where their time went
	Stages   metrics.Snapshot  // each stage's times, those of failed requests included
	InFlight float64           // mean number of requests under way
}

// PerSec is the throughput: requests a second that ended with [Request.Done].
func (r Result) PerSec() float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(r.Response.Count()) / r.Window.Seconds()
}

// Result is what was measured up to now, or in the whole window after the run.
func (f *Flow) Result() Result {
	if f.sim.ended {
		return f.result
	}
	f.gauge.advance(f.sim.now)
	path := f.path
	path.Stages = slices.Clone(path.Stages) // which f.path goes on adding to
	return Result{
		Window:   time.Duration(f.sim.now - f.sim.from),
		Failed:   f.failed,
		Response: f.response.Snapshot(),
		Path:     path,
		Stages:   f.rec.Snapshot(),
		InFlight: mean(f.gauge.area, f.sim.now-f.sim.from),
	}
}
