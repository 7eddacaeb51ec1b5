package predict

import (
	"context"
	"sync"

	"latlab.example/aerospike"
	"latlab.example/aerospike/dlrm"
	"latlab.example/common/metrics"
)

// Inference is where candidates are scored.
type Inference string

// The places.
const (
	Inline Inference = "inline" // on the request's goroutine
	Pool   Inference = "pool"   // a bounded number of requests at a time; the others wait
)

// InferenceToggle chooses the place; first the study's, in whose service a
// request scores its own candidates.
var InferenceToggle = metrics.NewToggle("inference", Inline, Pool)

// scorer scores candidates.
type scorer struct {
	model   *dlrm.Model
	scratch sync.Pool
	slots   chan struct{} // of a pool, one a request that may score; nil without one
}

func newScorer(m *dlrm.Model, slots int) *scorer {
	s := &scorer{model: m}
	s.scratch.New = func() any { return m.NewScratch() }
	if slots > 0 {
		s.slots = make(chan struct{}, slots)
	}
	return s
}

// score scores all candidates. With a pool it waits for its turn, or for the end
// of ctx.
func (s *scorer) score(ctx context.Context, at aerospike.Span, c candidates) ([]float32, error) {
	if s.slots != nil {
		m := at.Start()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		at.End(InferenceWait, m)
	}
	m := at.Start()
	defer func() { at.End(InferenceRun, m) }()
	scratch := s.scratch.Get().(*dlrm.Scratch)
	defer s.scratch.Put(scratch)
	scores := make([]float32, c.n)
	for i := range scores {
		scores[i] = s.model.Score(scratch, c.dense[i*denseFeatures:][:denseFeatures], c.sparse[i*sparseFeatures:][:sparseFeatures])
	}
	return scores, nil
}
