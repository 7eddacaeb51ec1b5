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

var _ ColumnReader = (*Executor)(nil)

// job is one read. Its worker sends on done once.
type job struct {
	ctx      context.Context
	span     Span
	keys     []*as.Key
	specs    []Spec // of a read of columns, else nil
	handed   metrics.Mark
	rows     []Row
	columns  *Columns
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
			if cr := columnReader(e.reader); j.specs != nil && cr != nil {
				j.columns, j.err = cr.ReadColumns(j.ctx, j.span, j.keys, j.specs)
			} else {
				j.rows, j.err = e.reader.Read(j.ctx, j.span, j.keys)
			}
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
	j, err := e.hand(ctx, sp, keys, nil)
	if err != nil {
		return nil, err
	}
	return j.rows, j.err
}

// ReadColumns is its reader's, on a worker. If its reader is no ColumnReader the
// worker reads rows, and the caller makes them columns.
func (e *Executor) ReadColumns(ctx context.Context, sp Span, keys []*as.Key, specs []Spec) (*Columns, error) {
	j, err := e.hand(ctx, sp, keys, specs)
	if err != nil {
		return nil, err
	}
	if j.columns != nil || j.rows == nil {
		return j.columns, j.err
	}
	m := sp.Start()
	defer func() { sp.End(ToColumns, m) }()
	c, err := NewColumns(specs, j.rows)
	if err != nil {
		return nil, err
	}
	return c, j.err
}

// hand gives a read to a worker and waits for it.
func (e *Executor) hand(ctx context.Context, sp Span, keys []*as.Key, specs []Spec) (*job, error) {
	m := sp.Start()
	j := &job{ctx: ctx, span: sp, keys: keys, specs: specs, done: make(chan struct{}, 1)}
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
	return j, nil
}

// columnReader is r if it can fill columns, else nil.
func columnReader(r Reader) ColumnReader {
	cr, _ := r.(ColumnReader)
	return cr
}

// Close ends the workers when their reads are done, and waits for them. Reads
// that no worker took fail with ErrClosed.
func (e *Executor) Close() {
	e.once.Do(func() { close(e.quit) })
	e.wg.Wait()
}
