package load

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"latlab.example/common/metrics"
)

// forever is an end that isn't known yet.
const forever = time.Duration(math.MaxInt64)

// A recorder turns starts and ends into a report while the run goes on, in space
// that doesn't grow with the number of requests. All times are since the start
// of the run.
//
// Times in flight are summed as "end minus start", each clamped to the window:
// the sum is right in whatever order events get the lock.
type recorder struct {
	opts Options
	ctx  context.Context // of the run; its end stops the window
	zero time.Time       // when the run began

	mu       sync.Mutex
	from, to time.Duration // guarded by mu, as are all below
	last     time.Duration // the latest completion

	flying, maxFlying int
	flight            time.Duration // integral of requests in flight, over the window
	active            time.Duration // integral of active users, over the window
	sum               time.Duration // service times of what counts
	early, open       time.Duration // parts of flight and sum that differ: see Little

	success, cancelled, dropped, offered uint64
	before, after                        uint64
	errors                               map[string]*ErrorCount
	response, service, lag, failed       *metrics.Histogram
	series                               series
}

func newRecorder(ctx context.Context, o Options) *recorder {
	r := &recorder{
		opts: o, ctx: ctx, zero: time.Now(), from: o.Window.From, to: o.Window.To,
		errors:   map[string]*ErrorCount{},
		response: metrics.NewHistogram(), service: metrics.NewHistogram(),
		lag: metrics.NewHistogram(), failed: metrics.NewHistogram(),
	}
	if r.to == 0 {
		r.to = forever
	}
	return r
}

// clamp moves t into the window. It needs mu.
func (r *recorder) clamp(t time.Duration) time.Duration { return min(max(t, r.from), r.to) }

// now is the time since the start of the run.
func (r *recorder) now() time.Duration { return time.Since(r.zero) }

// stop ends the window now, if it is still open.
func (r *recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

// stopLocked reads the clock with the lock held, so that no completion that was
// recorded before is later. What completes at this very moment counts, since in
// virtual time others may have been recorded already.
func (r *recorder) stopLocked() { r.to = max(r.from, min(r.to, r.now()+1)) }

// due counts an arrival, and whether it was dropped.
func (r *recorder) due(at time.Duration, dropped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at < r.from || at >= r.to {
		return
	}
	r.offered++
	if dropped {
		r.dropped++
	}
}

// userOn and userOff bound the activity of a user.
func (r *recorder) userOn(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active -= r.clamp(at)
}

func (r *recorder) userOff(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, at)
	r.active += r.clamp(at)
}

func (r *recorder) began(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flight -= r.clamp(at)
	r.flying++
	r.maxFlying = max(r.maxFlying, r.flying)
}

// ended records a request that was due at intended and ran from start to end.
func (r *recorder) ended(intended, start, end time.Duration, err error) {
	kind, cut := "", false
	if err != nil {
		kind = r.opts.kindOf(err)
		if over := r.ctx.Err(); over != nil && errors.Is(err, over) {
			// The end of the run ended it, so it is cut, even if that took no time.
			kind, cut = kindCancelled, true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if cut {
		r.stopLocked()
	}
	inWindow := r.clamp(end) - r.clamp(start)
	r.flying--
	r.flight += r.clamp(end)
	r.last = max(r.last, end)
	r.series.add(end, end-intended, kind)
	switch {
	case end < r.from:
		r.before++
		return
	case end >= r.to || cut:
		r.after++
		r.open += inWindow
		return
	}
	r.sum += end - start
	r.early += r.clamp(start) - start
	r.lag.Record(int64(start - intended))
	switch kind {
	case "":
		r.success++
		r.response.Record(int64(end - intended))
		r.service.Record(int64(end - start))
		return
	case kindCancelled:
		r.cancelled++
	default:
		e := r.errors[kind]
		if e == nil {
			e = &ErrorCount{Kind: kind, First: err.Error()}
			r.errors[kind] = e
		}
		e.Count++
	}
	r.failed.Record(int64(end - intended))
}

// report closes the books. All requests have ended.
func (r *recorder) report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A window that the run didn't fill ends with it; no time was clamped to it.
	r.to = min(r.to, max(r.last, r.from))
	rep := Report{
		Seed: r.opts.Seed, From: r.from, To: r.to,
		Success: r.success, Cancelled: r.cancelled, Offered: r.offered, Dropped: r.dropped,
		Before: r.before, After: r.after, MaxInFlight: r.maxFlying,
		Response: r.response.Snapshot(), Service: r.service.Snapshot(),
		Lag: r.lag.Snapshot(), Failed: r.failed.Snapshot(),
		Little:  Little{InFlight: r.flight, Active: r.active, Service: r.sum, Before: r.early, After: r.open},
		Seconds: r.series.seconds(),
	}
	for _, e := range r.errors {
		rep.Errors = append(rep.Errors, *e)
	}
	slices.SortFunc(rep.Errors, func(a, b ErrorCount) int { return strings.Compare(a.Kind, b.Kind) })
	return rep
}
