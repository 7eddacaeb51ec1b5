package spatial

import (
	"context"
	"time"
)

// Gauges are what the pool is like at one instant, and what it counted so far.
// Acquired, Idle and Pending jump between two readings: users think, so a pool
// that was full for most of a second may be read as empty.
type Gauges struct {
	Max      int `json:"max"`
	Acquired int `json:"acquired"`
	Idle     int `json:"idle"`
	Building int `json:"building"` // connections being opened
	Pending  int `json:"pending"`  // requests that wait for a connection

	Acquires      int64         `json:"acquires"`       // that got a connection
	AcquireTime   time.Duration `json:"acquire_ns"`     // of these, added up; without pings
	EmptyAcquires int64         `json:"empty_acquires"` // of these, that had to wait for one to come back or to be built
	EmptyWait     time.Duration `json:"empty_wait_ns"`  // of these, added up
	Failed        int64         `json:"failed"`         // acquires that got none
	FailedTime    time.Duration `json:"failed_ns"`      // of these, added up; the pool's own figures leave them out
	Cancelled     int64         `json:"cancelled"`      // of these, whose context ended
	HeldTime      time.Duration `json:"held_ns"`        // that requests kept connections which they gave back, added up
	Opened        int64         `json:"opened"`         // connections
	Queries       int64         `json:"queries"`
}

// Gauges reads the pool.
func (s *Service) Gauges() Gauges {
	st := s.pool.Stat()
	return Gauges{
		Max: int(st.MaxConns()), Acquired: int(st.AcquiredConns()), Idle: int(st.IdleConns()), Building: int(st.ConstructingConns()),
		Pending:  int(s.trace.pending.Load()),
		Acquires: st.AcquireCount(), AcquireTime: st.AcquireDuration(),
		EmptyAcquires: st.EmptyAcquireCount(), EmptyWait: st.EmptyAcquireWaitTime(),
		Failed: s.trace.failed.Load(), FailedTime: time.Duration(s.trace.vain.Load()), Cancelled: st.CanceledAcquireCount(),
		HeldTime: time.Duration(s.trace.held.Load()),
		Opened:   st.NewConnsCount(), Queries: s.trace.queries.Load(),
	}
}

// Samples are readings of the gauges that jump.
type Samples struct {
	N        int     `json:"n"`
	Acquired Sampled `json:"acquired"`
	Pending  Sampled `json:"pending"`
	// Zero is how many readings found no connection in use, and Full how many
	// found all in use.
	Zero int `json:"zero"`
	Full int `json:"full"`
}

// Sampled is a gauge over several readings.
type Sampled struct {
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
}

// Sample reads the gauges each period until the context ends.
func (s *Service) Sample(ctx context.Context, period time.Duration) Samples {
	tick := time.NewTicker(period)
	defer tick.Stop()
	var all Samples
	var acquired, pending int
	for {
		select {
		case <-ctx.Done():
			if all.N > 0 {
				all.Acquired.Mean, all.Pending.Mean = float64(acquired)/float64(all.N), float64(pending)/float64(all.N)
			}
			return all
		case <-tick.C:
			g := s.Gauges()
			all.N++
			acquired += g.Acquired
			pending += g.Pending
			all.Acquired.Max, all.Pending.Max = max(all.Acquired.Max, g.Acquired), max(all.Pending.Max, g.Pending)
			if g.Acquired == 0 {
				all.Zero++
			}
			if g.Acquired == g.Max {
				all.Full++
			}
		}
	}
}
