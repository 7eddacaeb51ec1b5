package spatial

import (
	"context"

	"latlab.example/common/metrics"
)

// The stages of a request. They don't overlap on one line of execution.
const (
	PoolAcquire metrics.Stage = iota // asking the pool for a connection until there is one, or none
	QueryStage                       // a statement is sent until its first row, preparing it included
	Scan                             // the first row until the last one is decoded; here the server still sends
	Log                              // formatting log lines and waiting for their sink
	Encode                           // rows to JSON, and writing that to the client
)

// Stages are the service's.
var Stages = metrics.NewStageSet("spatial", "pool_acquire", "query", "scan", "log", "encode")

// span is where a line of execution of a request is timed. It travels in the
// context to the tracer, and belongs to one goroutine. The nil span times
// nothing.
type span struct {
	req   *metrics.Request
	track metrics.Track
	stage metrics.Stage // under way since mark
	mark  metrics.Mark  // zero: none is
}

type spanKey struct{}

// withSpan gives the context a line of execution.
func withSpan(ctx context.Context, req *metrics.Request, track metrics.Track) context.Context {
	if req == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, &span{req: req, track: track})
}

func spanOf(ctx context.Context) *span {
	s, _ := ctx.Value(spanKey{}).(*span)
	return s
}

// begin starts a stage, unless that stage is under way already. Another one ends.
func (s *span) begin(g metrics.Stage) {
	if s == nil || s.mark != 0 && s.stage == g {
		return
	}
	s.end()
	s.stage, s.mark = g, s.req.Start()
}

// end ends the stage under way, if there is one.
func (s *span) end() {
	if s != nil {
		s.req.End(s.track, s.stage, s.mark)
		s.mark = 0
	}
}
