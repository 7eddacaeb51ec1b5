package study

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
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
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// The records of every arm, so that arms may be open at the same time: all sets
// and keys that any level asks for. Keys that miss have names of their own.
const (
	allSets = 9
	allKeys = 200
)

// specs are the bins of a record: eight, as in the study's features.
var specs = []aerospike.Spec{
	{Bin: "age", Kind: aerospike.Ints},
	{Bin: "city", Kind: aerospike.Ints},
	{Bin: "seen", Kind: aerospike.Ints},
	{Bin: "ctr", Kind: aerospike.Floats},
	{Bin: "price", Kind: aerospike.Floats},
	{Bin: "score", Kind: aerospike.Floats},
	{Bin: "rank", Kind: aerospike.Floats},
	{Bin: "name", Kind: aerospike.Texts},
}

// values are a record's, by spec.
func values(set, key int) []any {
	n := set*allKeys + key
	f := float64(n) / 7
	return []any{n, n % 50, n * 1000, f, f * 2, f * 3, f * 4, "item " + strconv.Itoa(n)}
}

func setName(prefix string, set int) string { return prefix + "set_" + strconv.Itoa(set) }

func userKey(key int) string { return "key_" + strconv.Itoa(key) }

// ask is an arm's query. Sets share their user keys. Which keys miss follows
// from set and key alone; the seed decides the order within a set.
func ask(a lab.Arm, prefix string, seed uint64) aerospike.Query {
	r := rand.New(rand.NewPCG(seed, 0))
	var q aerospike.Query
	for s := range sets.Of(a) {
		k := aerospike.SetKeys{Set: setName(prefix, s)}
		for i := range batch.Of(a) {
			user := userKey(i)
			h := fnv.New32a()
			_, _ = fmt.Fprint(h, s, i) // never fails
			if float64(h.Sum32()%1000) >= hits.Of(a)*1000 {
				user = "missing_" + strconv.Itoa(i)
			}
			k.Keys = append(k.Keys, user)
		}
		r.Shuffle(len(k.Keys), func(i, j int) { k.Keys[i], k.Keys[j] = k.Keys[j], k.Keys[i] })
		q = append(q, k)
	}
	return q
}

// target is a cluster that holds the records.
type target struct {
	client    *as.Client
	namespace string
	prefix    string                       // of its sets
	use       func() (u fake.Use, ok bool) // what the servers were asked, where they tell
	close     func() error                 // closes the client too
}

// connect makes a client with as many open connections a node as the arm uses:
// an empty pool fails a read, and the client dials in its own time.
func connect(addr string, a lab.Arm) (*as.Client, error) {
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
	pipe  *aerospike.Pipeline
	pool  *aerospike.Executor // nil without one
	rec   *metrics.Recorder
	mu    sync.Mutex
	lines []metrics.Timeline // guarded by mu
}

// newSubject owns the target, also when it fails.
func newSubject(t target, a lab.Arm) (lab.Subject, error) {
	s := &subject{target: t, arm: a}
	s.rec = metrics.NewRecorder(aerospike.Stages, metrics.WithSwitch(true), metrics.WithTimelines(s.keep))
	p := as.NewBatchPolicy()
	p.TotalTimeout = 10 * time.Second // a late answer is a result here, and no error
	var reader aerospike.Reader
	switch aerospike.ReaderToggle.Of(a) {
	case aerospike.UseLazy:
		reader = aerospike.Lazy{Client: t.client, Policy: p}
	case aerospike.UseOperate:
		reader = aerospike.Official{Client: t.client, Policy: p, Operate: true}
	default:
		reader = aerospike.Official{Client: t.client, Policy: p}
	}
	if n := aerospike.ExecutorToggle.Of(a); n > 0 {
		s.pool = aerospike.NewExecutor(reader, n)
		reader = s.pool
	}
	var err error
	s.pipe, err = aerospike.New(aerospike.Options{
		Namespace: t.namespace, Reader: reader, Mode: aerospike.ModeToggle.Of(a), Form: aerospike.FormToggle.Of(a),
		Columns: specs, Recorder: s.rec,
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
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
func (s *subject) Trial(ctx context.Context, t *lab.Trial) error {
	q := ask(s.arm, s.prefix, t.Seed)
	s.rec.Reset()
	s.lines = nil
	var before, after runtime.MemStats
	asked, tells := s.use()
	runtime.ReadMemStats(&before)
	var l loops
	var wg sync.WaitGroup
	began := time.Now()
	n := concurrency.Of(s.arm)
	for range n {
		wg.Go(func() {
			for l.more(t.Plan, began, n) {
				start := time.Now()
				_, err := s.pipe.Read(ctx, q)
				l.add(time.Since(start), err)
			}
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	if l.err != nil {
		return l.err
	}
	t.Ops = len(l.took)
	var path metrics.Breakdown
	for _, d := range l.took {
		t.Took += d
	}
	for _, tl := range s.lines {
		path.Add(tl.Critical())
		t.Timeline(tl)
	}
	t.Stages(s.rec.Snapshot())
	slices.Sort(l.took)
	ops := float64(t.Ops)
	t.Observe(p95, float64(l.took[(len(l.took)*95+99)/100-1]))
	t.Observe(allocs, float64(after.Mallocs-before.Mallocs)/ops)
	if path.Total > 0 {
		t.Observe(unattributed, 100*float64(path.Unattributed)/float64(path.Total))
	}
	if tells {
		now, _ := s.use()
		t.Observe(requests, float64(now.Requests-asked.Requests)/ops)
		t.Observe(queued, float64(now.Queued-asked.Queued)/ops)
	}
	return nil
}

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

func (s *subject) Close() error {
	if s.pool != nil {
		s.pool.Close()
	}
	return s.close()
}
