package aerospike

import (
	"context"
	"fmt"
	"sync"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/common/metrics"
)

// Executor runs another reader's reads on a bounded pool of workers, as the
// study runs its synchronous client.
type Executor struct {
	reader Reader
	jobs   chan *job
	quit   chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

var _ Reader = (*Executor)(nil)

// job is one read. Its worker sends on done once.
type job struct {
	ctx      context.Context
	span     Span
	keys     []*as.Key
	handed   metrics.Mark
	rows     []Row
	err      error
	finished metrics.Mark
	done     chan struct{}
}

// NewExecutor starts so many workers, at least one, for the reader. Close it.
func NewExecutor(reader Reader, workers int) *Executor {
	e := &Executor{reader: reader, jobs: make(chan *job), quit: make(chan struct{})}
	for range max(workers, 1) {
		e.wg.Go(e.work)
	}
	return e
}

func (e *Executor) work() {
	for {
		select {
		case j := <-e.jobs:
			j.span.End(SpawnBlockingDelay, j.handed)
			j.rows, j.err = e.reader.Read(j.ctx, j.span, j.keys)
			j.finished = j.span.Start()
			j.done <- struct{}{}
		case <-e.quit:
			return
		}
	}
}

// Read implements Reader. It waits for a free worker, and then for its read,
// which no context interrupts.
func (e *Executor) Read(ctx context.Context, sp Span, keys []*as.Key) ([]Row, error) {
	m := sp.Start()
	j := &job{ctx: ctx, span: sp, keys: keys, done: make(chan struct{}, 1)}
	sp.End(Setup, m)
	j.handed = sp.Start()
	select {
	case e.jobs <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.quit:
		return nil, fmt.Errorf("aerospike: read %d keys: %w", len(keys), ErrClosed)
	}
	<-j.done
	sp.End(ResumeDelay, j.finished)
	return j.rows, j.err
}

// Close ends the workers when their reads are done, and waits for them. Reads
// that no worker took fail with ErrClosed.
func (e *Executor) Close() {
	e.once.Do(func() { close(e.quit) })
	e.wg.Wait()
}
