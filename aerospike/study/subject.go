//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/records"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// allSpecs are the bins of a record.
var allSpecs = records.Specs

// ask is an arm's query.
func ask(a lab.Arm, prefix string, seed uint64) aerospike.Query {
	return records.Ask(prefix, sets.Of(a), batch.Of(a), hits.Of(a), seed)
}

// target is a cluster that holds the records.
type target struct {
	addr      string
	client    *as.Client
	namespace string
	prefix    string                       // of its sets
	use       func() (u fake.Use, ok bool) // what the servers were asked, where they tell
	close     func() error                 // closes the client too
}

// connect makes a client with as many open connections a node as the arm uses:
// an empty pool fails a read, and the client dials in its own time. A cold one has
// its own connection only.
func connect(addr string, a lab.Arm, cold bool) (*as.Client, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w; give host:port", addr, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w; give host:port", addr, err)
	}
	p := as.NewClientPolicy()
	p.ConnectionQueueSize = 2*callers(a) + 8
	p.Timeout = 5 * time.Second
	client, aerr := as.NewClientWithPolicy(p, host, n)
	if aerr != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, aerr)
	}
	if cold {
		return client, nil
	}
	if _, aerr := client.WarmUp(callers(a) + 1); aerr != nil {
		client.Close()
		return nil, fmt.Errorf("open connections to %s: %w", addr, aerr)
	}
	return client, nil
}

// callers is how many reads an arm has under way at most.
func callers(a lab.Arm) int {
	n := concurrency.Of(a)
	if m := aerospike.ModeToggle.Of(a); m == aerospike.Gather || m == aerospike.MergeGather {
		n *= sets.Of(a)
	}
	if w := aerospike.ExecutorToggle.Of(a); w > 0 {
		n = min(n, w)
	}
	return n
}

// subject answers the same query again and again.
type subject struct {
	target
	arm   lab.Arm
	rec   *metrics.Recorder
	mu    sync.Mutex
	lines []metrics.Timeline // guarded by mu
}

// newSubject owns the target, also when it fails.
func newSubject(t target, a lab.Arm) (lab.Subject, error) {
	s := &subject{target: t, arm: a}
	on, compared := profiled(a)
	opts := []metrics.RecorderOption{metrics.WithSwitch(on)}
	if !compared { // else a timeline is part of what is compared, and nobody's to read
		opts = append(opts, metrics.WithTimelines(s.keep))
	}
	s.rec = metrics.NewRecorder(stagesOf(a), opts...)
	return s, nil
}

func (s *subject) keep(tl metrics.Timeline) {
	s.mu.Lock()
	s.lines = append(s.lines, tl)
	s.mu.Unlock()
}

// loops is what closed loops did together.
type loops struct {
	issued atomic.Int64
	mu     sync.Mutex
	took   []time.Duration // guarded by mu: of each operation
	err    error           // guarded by mu: the first
}

// Trial runs as many closed loops as the arm's concurrency. Its time is that of
// all operations added up, so that a mean operation is an operation's latency
// and not the interval between two.
func (s *subject) Trial(ctx context.Context, t *lab.Trial) (err error) {
	client := s.client
	if connections.Of(s.arm) == "none" {
		if client, err = connect(s.addr, s.arm, true); err != nil {
			return err
		}
		defer client.Close()
	}
	op, stop, err := s.operation(client, t.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s.rec.Reset()
	s.lines = nil
	var before, after runtime.MemStats
	asked, tells := s.use()
	runtime.ReadMemStats(&before)
	l := run(ctx, t.Plan, concurrency.Of(s.arm), burn.Of(s.arm), op)
	runtime.ReadMemStats(&after)
	if l.err != nil {
		return l.err
	}
	t.Ops = len(l.took)
	t.Observe(first, float64(l.took[0]))
	for _, d := range l.took {
		t.Took += d
	}
	slices.Sort(l.took)
	ops := float64(t.Ops)
	t.Observe(p95, float64(l.took[(len(l.took)*95+99)/100-1]))
	t.Observe(allocs, float64(after.Mallocs-before.Mallocs)/ops)
	if tells {
		now, _ := s.use()
		t.Observe(requests, float64(now.Requests-asked.Requests)/ops)
		t.Observe(queued, float64(now.Queued-asked.Queued)/ops)
	}
	s.stages(t)
	return nil
}

// stages tells what the recorder saw, or what it cost.
func (s *subject) stages(t *lab.Trial) {
	if _, compared := profiled(s.arm); compared {
		t.Observe(stagePair, pairCost(s.rec))
		return
	}
	var path metrics.Breakdown
	for _, tl := range s.lines {
		path.Add(tl.Critical())
		t.Timeline(tl)
	}
	t.Stages(s.rec.Snapshot())
	if path.Total > 0 {
		t.Observe(unattributed, 100*float64(path.Unattributed)/float64(path.Total))
	}
}

// pairCost is what a start and an end of a stage take, in nanoseconds.
func pairCost(rec *metrics.Recorder) float64 {
	const pairs = 20000
	began := time.Now()
	for range pairs {
		rec.End(aerospike.IO, rec.Start())
	}
	return float64(time.Since(began)) / pairs
}

// run makes closed loops do op, with goroutines beside them that burn a processor
// each.
func run(ctx context.Context, p lab.Plan, n, burners int, op func(context.Context) error) *loops {
	l := new(loops)
	stop := make(chan struct{})
	var beside, wg sync.WaitGroup
	for range burners {
		beside.Go(func() { compute(stop) })
	}
	began := time.Now()
	for range n {
		wg.Go(func() {
			for l.more(p, began, n) {
				start := time.Now()
				err := op(ctx)
				l.add(time.Since(start), err)
			}
		})
	}
	wg.Wait()
	close(stop)
	beside.Wait()
	return l
}

// compute keeps a processor busy until stop, and looks for it now and then.
func compute(stop <-chan struct{}) {
	x := uint64(1)
	for {
		for range 100_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		sink.Store(x)
		select {
		case <-stop:
			return
		default:
		}
	}
}

// sink keeps the compiler from dropping what compute does.
var sink atomic.Uint64

// more says whether a loop shall begin another operation: at least one, and one
// for each loop where the plan is a time.
func (l *loops) more(p lab.Plan, began time.Time, n int) bool {
	i := l.issued.Add(1)
	l.mu.Lock()
	failed := l.err != nil
	l.mu.Unlock()
	switch {
	case failed:
		return false
	case p.N > 0:
		return i <= int64(p.N)
	}
	return i <= int64(n) || time.Since(began) < p.Min
}

func (l *loops) add(d time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, d)
	if err != nil && l.err == nil {
		l.err = err
	}
}

func (s *subject) Close() error { return s.close() }
