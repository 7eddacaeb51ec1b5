package spatial

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// tracer times the stages that are the client library's, and counts what the
// pool's own statistics don't: who waits now, and who waited in vain.
type tracer struct {
	pending atomic.Int64 // acquires under way
	failed  atomic.Int64 // acquires that got no connection
	vain    atomic.Int64 // nanoseconds of these
	held    atomic.Int64 // nanoseconds of the connections that requests gave back
	queries atomic.Int64
}

var (
	_ pgx.QueryTracer       = (*tracer)(nil)
	_ pgx.BatchTracer       = (*tracer)(nil)
	_ pgxpool.AcquireTracer = (*tracer)(nil)
)

type acquireKey struct{}

func (t *tracer) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	t.pending.Add(1)
	spanOf(ctx).begin(PoolAcquire)
	return context.WithValue(ctx, acquireKey{}, time.Now())
}

func (t *tracer) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	spanOf(ctx).end()
	t.pending.Add(-1)
	if data.Err != nil {
		t.failed.Add(1)
		began, _ := ctx.Value(acquireKey{}).(time.Time)
		t.vain.Add(int64(time.Since(began)))
	}
}

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.queries.Add(1)
	spanOf(ctx).begin(QueryStage)
	return ctx
}

func (t *tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	spanOf(ctx).end()
}

func (t *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	t.queries.Add(int64(data.Batch.Len()))
	spanOf(ctx).begin(QueryStage)
	return ctx
}

func (t *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (t *tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	spanOf(ctx).end()
}
