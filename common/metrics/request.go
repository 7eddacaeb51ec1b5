package metrics

import (
	"context"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"
)

// Track is a line of execution within a request: a goroutine, a worker, a disk.
// Stages on one track follow each other; stages on two tracks may overlap.
type Track int

// Interval is one run of a stage: from From to To, in nanoseconds, on the clock
// of its [Timeline].
type Interval struct {
	Stage    Stage
	Track    Track
	From, To int64
}

// room is how many intervals a request holds without another allocation. Requests
// aren't pooled: a pool saves about 100 of 430 ns for three stages, but then a
// stage that ends after Finish would land in another request's timeline.
const room = 8

// Request is the timeline of one operation while it grows. It is nil when
// recording is off, and every method works on nil, at the cost of a branch.
//
// Track, Start, End and Add may be used by several goroutines, each with a
// track of its own. Finish and FinishAt end the request: what comes later still
// counts in the histograms but isn't in the timeline.
//
// While an execution trace runs (runtime/trace, the flight recorder included), a
// request is a trace task named after its stage set, and each End logs an event:
// the stage as its category, the duration as its message. They are log events
// and not regions, since a region must end on the goroutine that started it, and
// a stage needn't.
type Request struct {
	rec    *Recorder
	from   Mark
	tracks atomic.Int64

	task *trace.Task // nil unless a trace ran at the start
	ctx  context.Context

	mu        sync.Mutex
	done      bool       // guarded by mu
	intervals []Interval // guarded by mu; handed over by finish
	inline    [room]Interval
}

// Request begins a timeline now, or returns nil when recording is off.
func (r *Recorder) Request() *Request {
	if r.on.Load() {
		return newRequest(r)
	}
	return nil
}

func newRequest(r *Recorder) *Request {
	q := &Request{rec: r}
	q.intervals = q.inline[:0]
	if trace.IsEnabled() {
		q.ctx, q.task = trace.NewTask(context.Background(), r.set.Name())
	}
	q.from = now()
	return q
}

// Track returns a new track. Track 0 exists from the start, for the goroutine
// that began the request. On nil it returns 0.
func (q *Request) Track() Track {
	if q == nil {
		return 0
	}
	return Track(q.tracks.Add(1))
}

// Start returns the present moment, or zero on nil. A request that began while
// recording was on is recorded to its end.
func (q *Request) Start() Mark {
	if q == nil {
		return 0
	}
	return now()
}

// End records the time since m as a run of stage s on track t, in the stage's
// histogram and in the timeline. It does nothing on nil or when m is zero. An
// undeclared stage is counted ([Recorder.Undeclared]) and kept in the timeline,
// where [Timeline.Check] reports it.
func (q *Request) End(t Track, s Stage, m Mark) {
	if q != nil && m != 0 {
		q.end(t, s, m)
	}
}

// end is apart so that End inlines.
func (q *Request) end(t Track, s Stage, m Mark) {
	to := now()
	q.add(t, s, int64(m), int64(to))
	if q.task != nil {
		trace.Log(q.ctx, q.rec.set.Stage(s), time.Duration(to-m).String())
	}
}

// Add records a run of stage s on track t from from to to, in nanoseconds of the
// caller's own clock. It is for models, which have virtual time; they finish the
// request with [Request.FinishAt].
func (q *Request) Add(t Track, s Stage, from, to int64) {
	if q != nil {
		q.add(t, s, from, to)
	}
}

func (q *Request) add(t Track, s Stage, from, to int64) {
	q.rec.observe(s, to-from)
	q.mu.Lock()
	if !q.done {
		q.intervals = append(q.intervals, Interval{Stage: s, Track: t, From: from, To: to})
	}
	q.mu.Unlock()
}

// Finish ends the request now and returns its timeline, which the sink of
// [WithTimelines] gets too; they share the intervals, so whoever changes them
// clones them first. The request must not be used after. On nil, and the second
// time, it returns the zero Timeline and calls no sink.
func (q *Request) Finish() Timeline {
	if q == nil {
		return Timeline{}
	}
	return q.finish(int64(q.from), int64(now()))
}

// FinishAt is [Request.Finish] for models: the operation ran from from to to, in
// nanoseconds of the clock that the model gave to [Request.Add].
func (q *Request) FinishAt(from, to int64) Timeline {
	if q == nil {
		return Timeline{}
	}
	return q.finish(from, to)
}

func (q *Request) finish(from, to int64) Timeline {
	q.mu.Lock()
	done := q.done
	q.done = true
	q.mu.Unlock()
	if done {
		return Timeline{}
	}
	if q.task != nil {
		q.task.End()
	}
	t := Timeline{Set: q.rec.set, From: from, To: to, Intervals: q.intervals}
	if q.rec.sink != nil {
		q.rec.sink(t)
	}
	return t
}
