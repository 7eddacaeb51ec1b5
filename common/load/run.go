package load

import (
	"context"
	"sync"
	"time"
)

// A run is what closed and open loops have in common.
type run struct {
	*recorder
	do       Func
	requests context.Context // of the requests
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	late     *time.Timer   // cancels requests that don't end
	unhook   func() bool   // takes back what ctx does when it ends
	stopping chan struct{} // closed when ctx ended and did it
}

func start(ctx context.Context, o Options, do Func) *run {
	r := &run{recorder: newRecorder(ctx, o), do: do, stopping: make(chan struct{})}
	r.requests, r.cancel = context.WithCancel(ctx)
	r.unhook = context.AfterFunc(ctx, func() {
		r.stop()
		close(r.stopping)
	})
	return r
}

// limit cancels the requests that are still in flight when the grace is over,
// which begins after d.
func (r *run) limit(d time.Duration) {
	grace := r.opts.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	r.late = time.AfterFunc(d+min(grace, forever-d), r.cancel)
}

// finish waits for all requests and closes the books. stopped is what the load
// itself ended by.
func (r *run) finish(stopped string) (Report, error) {
	r.wg.Wait()
	r.late.Stop()
	if !r.unhook() {
		<-r.stopping
		stopped = "context"
	}
	r.cancel()
	rep := r.report()
	rep.Stopped = stopped
	return rep, rep.Check()
}

// request makes one request, which is due at intended since the start, and
// returns when it ended.
func (r *run) request(user, n int, intended time.Duration) time.Duration {
	begin := r.now()
	r.began(begin)
	err := r.do(r.requests, Request{
		User: user, N: n,
		Intended: r.zero.Add(intended),
		Seed:     mix(r.opts.Seed, streamRequests, uint64(user), uint64(n)),
	})
	end := r.now()
	r.ended(intended, begin, end, err)
	return end
}
