// Package model is the study's service in virtual time: users in a closed loop, a
// pool of connections, cores that all statements share, and one log sink.
//
// Read Study for what the model takes for granted, machine.serve for what a
// request does, and Relations for what the study says beside what comes out.
package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/metrics"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
	"latlab.example/spatial"
)

// Approach is how a load gets to where it is measured.
type Approach string

// The approaches.
const (
	Up   Approach = "up"   // from no users to all
	Down Approach = "down" // from twice as many
	// Triangle is measured from the first user to the last: as many come as go,
	// evenly, so that half of them are there in the mean.
	Triangle Approach = "triangle"
)

// Setup is what the factors of an experiment choose. Names that are empty are the
// baselines of package spatial.
type Setup struct {
	Users    int
	Think    time.Duration // mean
	Approach Approach      // Up if empty
	Pool     int
	Hold     spatial.HoldName
	HoldFor  time.Duration
	Log      spatial.LogLevel
	LogPlace spatial.LogPlace
	Acquire  spatial.AcquireName
	Guides   bool
	Nested   bool          // guides take a second connection
	Timeout  time.Duration // of a request; 0 is none
}

// Figures are what a run gave. Response times are of all requests, failed ones
// included.
type Figures struct {
	sim.Result
	Failures  uint64        // requests that got no answer in time
	Held      time.Duration // that connections were held, a request
	PoolUse   float64       // share of all connections' time that they were held
	Pending   float64       // mean number of requests that wait for a connection
	Zero      float64       // share of the samples that found no connection in use
	AppCPU    time.Duration // of the service, a request
	ServerCPU time.Duration // of the database, a request
}

// Mean and Quantile are response times in milliseconds.
func (f Figures) Mean() float64 { return f.Response.Mean() / 1e6 }

// Quantile is the response time that a share of the requests stayed within, in
// milliseconds.
func (f Figures) Quantile(q float64) float64 { return float64(f.Response.Quantile(q)) / 1e6 }

// SlowAfter is the study's bound.
const SlowAfter = 500 * time.Millisecond

// Slow is the share of requests that took SlowAfter or longer.
func (f Figures) Slow() float64 {
	var slow uint64
	for b, n := range f.Response.Buckets() {
		if b.Mid() >= int64(SlowAfter) {
			slow += n
		}
	}
	return float64(slow) / float64(max(f.Response.Count(), 1))
}

// The parts of a run before its window.
const (
	ramp   = 10 * time.Second
	settle = 20 * time.Second
)

// overload is how many times the users there are before a load comes down.
const overload = 2

// sample is the period at which the pool's gauge is read. It is no divisor of any
// round time.
const sample = 97*time.Millisecond + 13*time.Microsecond + 7

// Run runs the service for a window after its approach; for Triangle the window is
// all there is. keep, if not nil, gets the timeline of each request.
func Run(ctx context.Context, s Setup, t param.Table, seed uint64, window time.Duration, keep func(metrics.Timeline)) (Figures, error) {
	if s.Users < 1 || s.Pool < 1 {
		return Figures{}, fmt.Errorf("model: %d users of %d connections: there must be at least one of each", s.Users, s.Pool)
	}
	return newMachine(s, t, seed).run(ctx, window, keep)
}

// machine is the service and its database.
type machine struct {
	Setup
	t    param.Table
	sim  *sim.Sim
	flow *sim.Flow
	pool *sim.Pool
	db   *host
	app  *host // db itself on one host
	sink *sim.CPU

	work     sim.Dist // of a request where nothing waits
	holdFor  sim.Dist // what else a connection is held for
	patience time.Duration

	warm            time.Duration
	failures        uint64
	appWork, dbWork time.Duration
	waited          time.Duration // for a connection, all together
	samples, zeros  int
}

// host is a number of cores, and how many jobs are on them.
type host struct {
	*sim.CPU
	cores, jobs int
}

func newMachine(s Setup, t param.Table, seed uint64) *machine {
	m := &machine{Setup: s, t: t, sim: sim.New(seed)}
	m.pool = m.sim.Pool("connections", s.Pool)
	n := max(t.Count(Cores), 1)
	m.db = &host{CPU: m.sim.SharedCPU("cores", n), cores: n}
	m.app = m.db
	if t.Count(OneHost) == 0 {
		m.app = &host{CPU: m.sim.SharedCPU("service's cores", n), cores: n}
	}
	if t.Count(Block) == 0 {
		m.sink = m.sim.SharedCPU("log sink", 1) // lines alternate
	} else {
		m.sink = m.sim.QueuedCPU("log sink", 1)
	}
	median := max(t.Time(Service), 1)
	m.work = sim.LogNormal(median, max(t.Part(Spread, median), median))
	m.holdFor = sim.Constant(s.HoldFor)
	m.patience = t.Time(Patience)
	return m
}

func (m *machine) run(ctx context.Context, window time.Duration, keep func(metrics.Timeline)) (Figures, error) {
	m.flow = m.sim.Flow(spatial.Stages).Timelines(keep)
	m.users(window)
	m.sim.Every(sample, func() {
		if m.sim.Now() >= m.warm {
			m.samples++
			if m.pool.Taken() == 0 {
				m.zeros++
			}
		}
	})
	if err := m.sim.Run(ctx, m.warm, window); err != nil {
		return Figures{}, err
	}
	f := Figures{Result: m.flow.Result(), Failures: m.failures}
	use, n := m.pool.Usage(), max(f.Response.Count(), 1)
	f.PoolUse = use.Utilisation()
	f.Held = time.Duration(use.Inside() * float64(use.Window) / float64(n))
	f.Pending = float64(m.waited) / float64(window)
	f.Zero = float64(m.zeros) / float64(max(m.samples, 1))
	f.AppCPU, f.ServerCPU = m.appWork/time.Duration(n), m.dbWork/time.Duration(n)
	return f, nil
}

// users come and go as the approach says.
func (m *machine) users(window time.Duration) {
	n, leave := m.Users, time.Duration(0)
	switch m.Approach {
	case Down:
		n *= overload
		leave = ramp + settle
		m.warm = ramp + 2*settle
	case Triangle:
		m.warm = 0
	default:
		m.warm = ramp + settle
	}
	think := sim.Exponential(m.Think)
	for i := range n {
		from, until := ramp*time.Duration(i)/time.Duration(n), time.Duration(0)
		switch {
		case m.Approach == Triangle:
			from = window / 2 * time.Duration(i) / time.Duration(n)
			until = window - from
		case i >= m.Users:
			until = leave
		}
		m.sim.Go("user", func(p *sim.Proc) {
			p.Sleep(from)
			for {
				p.Sleep(p.Draw(think))
				if until != 0 && p.Now() >= until {
					return
				}
				for range m.t.Count(Retries) + 1 {
					if m.ask(p) {
						break
					}
				}
			}
		})
	}
}

// span is where a request is timed. It ends when the request is given up, though
// its work goes on.
type span struct {
	r  *sim.Request
	at metrics.Stage // under way
}

func (s *span) lap(next metrics.Stage) {
	if s.r != nil {
		s.r.Lap(s.at)
	}
	s.at = next
}

func (s *span) done() {
	s.r.Lap(s.at)
	s.r.Done()
	s.r = nil
}

// ask makes one request and says whether it was answered in time.
func (m *machine) ask(p *sim.Proc) (ok bool) {
	s := &span{r: m.flow.Begin(), at: spatial.PoolAcquire}
	if m.Timeout == 0 {
		ok = m.serve(p, s, p.Now()+m.patience)
	} else {
		answer := m.sim.Signal("answer")
		by := p.Now() + m.Timeout
		m.sim.At(by, answer.Give)
		m.sim.Go("request", func(p *sim.Proc) {
			served := m.serve(p, s, by)
			if !answer.Given() {
				ok = served
				answer.Give()
			}
		})
		answer.Wait(p)
	}
	if !ok && m.counts(p) {
		m.failures++
	}
	s.done()
	return ok
}

func (m *machine) counts(p *sim.Proc) bool { return p.Now() >= m.warm }

// serve is a request. It is false if it got no connection by then.
func (m *machine) serve(p *sim.Proc, s *span, by time.Duration) bool {
	if !m.acquire(p, by) {
		return false
	}
	s.lap(spatial.QueryStage)
	work := p.Draw(m.work)
	encode := m.t.Part(Encode, work)
	computed := m.t.Part(CPUShare, work-encode)
	p.Sleep(m.t.Time(RoundTrip) + work - encode - computed)
	m.query(p, computed)
	switch m.Hold {
	case spatial.HoldSleep:
		p.Sleep(m.t.Time(RoundTrip) + p.Draw(m.holdFor))
	case spatial.HoldBurn:
		p.Sleep(m.t.Time(RoundTrip))
		m.query(p, p.Draw(m.holdFor))
	}
	if m.Guides && !m.guides(p, s, by) {
		m.pool.Release(p)
		return false
	}
	if m.LogPlace == spatial.LogHeld {
		m.log(p, s)
	}
	m.pool.Release(p)
	if m.LogPlace != spatial.LogHeld {
		m.log(p, s)
	}
	s.lap(spatial.Encode)
	m.compute(p, encode)
	return true
}

// guides reads two statements more.
func (m *machine) guides(p *sim.Proc, s *span, by time.Duration) bool {
	if m.Nested {
		s.lap(spatial.PoolAcquire)
		if !m.acquire(p, by) {
			return false
		}
		s.lap(spatial.QueryStage)
		defer m.pool.Release(p)
	}
	p.Sleep(2 * m.t.Time(RoundTrip))
	m.query(p, m.t.Time(Guides))
	return true
}

// acquire waits for a connection, asleep or on a core.
func (m *machine) acquire(p *sim.Proc, by time.Duration) (ok bool) {
	since := p.Now()
	if m.Acquire == spatial.Spin {
		for ok = m.pool.AcquireFor(p, 0); !ok && p.Now() < by; ok = m.pool.AcquireFor(p, 0) {
			m.compute(p, max(m.t.Time(Slice), 1))
		}
	} else {
		ok = m.pool.AcquireFor(p, by-since)
	}
	if m.counts(p) {
		m.waited += p.Now() - max(since, m.warm)
	}
	return ok
}

// log writes a request's lines: on the service's CPU first, then to the sink.
func (m *machine) log(p *sim.Proc, s *span) {
	lines := 0
	switch m.Log {
	case spatial.LogRows:
		lines = 1 + m.t.Count(Rows)
	case spatial.LogSummary:
		lines = 1
	}
	if lines == 0 {
		return
	}
	s.lap(spatial.Log)
	m.compute(p, time.Duration(lines)*m.t.Time(LineCPU))
	m.sink.Use(p, time.Duration(lines)*m.t.Time(Line))
}

// query works in the database, and compute in the service.
func (m *machine) query(p *sim.Proc, work time.Duration)   { m.use(p, m.db, work, &m.dbWork) }
func (m *machine) compute(p *sim.Proc, work time.Duration) { m.use(p, m.app, work, &m.appWork) }

// use works on a host, which is more work the more jobs are there.
func (m *machine) use(p *sim.Proc, h *host, work time.Duration, sum *time.Duration) {
	if over := h.jobs + 1 - h.cores; over > 0 {
		work += m.t.Part(Inflation, work) * time.Duration(over)
	}
	if m.counts(p) {
		*sum += work
	}
	h.jobs++
	h.Use(p, work)
	h.jobs--
}
