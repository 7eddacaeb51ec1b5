package load

import (
	"slices"
	"time"

	"latlab.example/common/metrics"
)

// Second is what completed in one second of a run, whether the window counts it
// or not. Seconds in which nothing completed are left out.
type Second struct {
	Start     int     `json:"start_s"` // seconds since the start of the run
	Success   uint64  `json:"success"`
	Errors    uint64  `json:"errors"`
	Cancelled uint64  `json:"cancelled,omitempty"`
	Mean      float64 `json:"mean_ns"` // of the response times of successes; 0 without any
	P95       int64   `json:"p95_ns"`
}

// series has a histogram for the newest second only; those before are kept as
// distributions, 2 KB or so each. It is guarded by recorder.mu.
type series struct {
	newest int
	hist   *metrics.Histogram
	past   map[int]*metrics.Dist
	counts map[int]*Second
}

func (s *series) add(end, response time.Duration, kind string) {
	second := int(end / time.Second)
	if s.hist == nil {
		s.newest, s.hist = second, metrics.NewHistogram()
		s.past, s.counts = map[int]*metrics.Dist{}, map[int]*Second{}
	}
	c := s.counts[second]
	if c == nil {
		c = &Second{Start: second}
		s.counts[second] = c
	}
	switch kind {
	case "":
		c.Success++
	case kindCancelled:
		c.Cancelled++
		return
	default:
		c.Errors++
		return
	}
	switch {
	case second > s.newest:
		s.merge(s.newest, s.hist)
		s.hist.Reset()
		s.newest = second
	case second < s.newest: // it got the lock late
		late := metrics.NewHistogram()
		late.Record(int64(response))
		s.merge(second, late)
		return
	}
	s.hist.Record(int64(response))
}

func (s *series) merge(second int, h *metrics.Histogram) {
	d := s.past[second]
	if d == nil {
		d = new(metrics.Dist)
		s.past[second] = d
	}
	d.Merge(h.Snapshot())
}

// seconds returns the series in order. Nothing may be added after.
func (s *series) seconds() []Second {
	if s.hist == nil {
		return nil
	}
	s.merge(s.newest, s.hist)
	var out []Second
	for n, c := range s.counts {
		if d := s.past[n]; d != nil {
			c.Mean, c.P95 = d.Mean(), d.Quantile(0.95)
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Second) int { return a.Start - b.Start })
	return out
}
