// Package model is the study's service in virtual time: users, a proxy, an event
// loop or threads under an interpreter lock or goroutines, a cache of built
// documents, cores that a neighbour may share, and an object store.
//
// Read Study for what the model takes for granted, machine.document for what a
// request does, and Relations for what the study says beside what comes out.
package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/common/metrics"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
)

// Store is how far away the object store is.
type Store string

// The places of a store.
const (
	Loopback Store = "loopback"
	LAN      Store = "lan"
	WAN      Store = "wan"
)

// Setup is what the factors of an experiment choose. Names that are empty are the
// baselines of package coldfetch.
type Setup struct {
	Mode      coldfetch.Mode
	Flight    coldfetch.Flight
	Users     int
	Cores     int
	Neighbour int // percent of a core that others take, if they get it
	Cache     int // built documents that are kept
	Lean      bool
	Gzip      bool
	Store     Store
	Warm      bool // all files are there
	Free      bool // nothing costs CPU

	// PerUser is how many documents each user asks for before he leaves, after
	// coming within Arrive; 0 is all the time. First has them all want document 0,
	// and Alone nothing but documents is asked for.
	PerUser int
	Arrive  time.Duration
	First   bool
	Alone   bool
}

// Docs is how many documents there are: the first has large bytes.
const Docs = 6

const (
	large = 15_000_000
	small = 60_000
)

// Figures are what a run gave.
type Figures struct {
	sim.Result              // of documents, until the user has all of them
	Health     metrics.Dist // as the proxy's clients saw it, timeouts at what was waited
	Own        metrics.Dist // the same by the service's clock: from its handler's turn on
	Manifest   metrics.Dist // the listing's halves, waits included
	Corpus     metrics.Dist
	Timeouts   uint64        // of the proxy, on any route
	Builds     uint64        // in the window, as all that follow
	Gets       uint64        // that the store was asked
	Misses     float64       // share of the documents that waited for a build
	LagEvents  int           // readings of the loop's lag of SlowTurn and longer
	LagMax     time.Duration // of those that ended
	LagSum     time.Duration // of the events
	CPU        float64       // cores that the service kept busy
}

// Mean and Quantile are response times in milliseconds.
func (f Figures) Mean() float64 { return f.Response.Mean() / 1e6 }

// Quantile is the response time that a share of the requests stayed within, in
// milliseconds.
func (f Figures) Quantile(q float64) float64 { return float64(f.Response.Quantile(q)) / 1e6 }

// HealthQuantile is the same of the health endpoint.
func (f Figures) HealthQuantile(q float64) float64 { return float64(f.Health.Quantile(q)) / 1e6 }

// SlowTurn is when a lag of the loop is an event.
const SlowTurn = 100 * time.Millisecond

// lagEvery is how long a reading of the loop's lag sleeps before it asks for a
// turn.
const lagEvery = 20 * time.Millisecond

// warm is the part of a run before its window, where users stay.
const warm = 120 * time.Second

// Run runs the service for a window after a warm-up; with Setup.PerUser it has
// none and ends with the last answer. keep, if not nil, gets the timeline of each
// document's request.
func Run(ctx context.Context, s Setup, t param.Table, seed uint64, window time.Duration, keep func(metrics.Timeline)) (Figures, error) {
	if s.Users < 1 || s.Cores < 1 || s.Neighbour < 0 || s.Cache < 0 {
		return Figures{}, fmt.Errorf("model: %d users on %d cores with a cache of %d and a neighbour of %d %%: there must be at least one user and core", s.Users, s.Cores, s.Cache, s.Neighbour)
	}
	m, err := newMachine(s, t, seed)
	if err != nil {
		return Figures{}, err
	}
	return m.run(ctx, window, keep)
}

// machine is the service and what is around it.
type machine struct {
	Setup
	t       param.Table
	sim     *sim.Sim
	cpu     *sim.CPU
	loop    *sim.Loop    // of modes loop and offload-gil
	gil     *sim.Lock    // of mode offload-gil
	threads *sim.Workers // likewise
	bound   *sim.Pool    // of builds; nil without
	procs   *sim.Pool    // Go's processors, of modes goroutines and bounded
	flow    *sim.Flow

	buildFor sim.Dist
	think    sim.Dist
	cache    []int              // documents, the last used first
	local    [Docs]bool         // files that are there
	pulls    [Docs]*sim.Signal  // under way, if they are shared
	builds   [Docs]*sim.Signal  // likewise
	users    int                // that haven't left
	ended    time.Duration      // when the last one left
	from     time.Duration      // of the window
	health   *metrics.Histogram // and the other figures, in the window
	own      *metrics.Histogram
	halves   [2]*metrics.Histogram
	docs     uint64
	missed   uint64
	work     time.Duration
	figures  Figures
}

func newMachine(s Setup, t param.Table, seed uint64) (*machine, error) {
	m := &machine{Setup: s, t: t, sim: sim.New(seed), users: s.Users, health: metrics.NewHistogram(), own: metrics.NewHistogram()}
	m.halves = [2]*metrics.Histogram{metrics.NewHistogram(), metrics.NewHistogram()}
	m.cpu = m.sim.SharedCPU("cores", s.Cores)
	switch s.Mode {
	case coldfetch.OffloadGIL:
		m.gil = m.sim.Lock("interpreter").Switch(t.Time(Switch), t.Time(HandOver))
		m.threads = m.sim.Workers("threads", max(t.Count(Threads), 1))
		m.loop = m.sim.Loop("event loop", 0)
	case coldfetch.Bounded:
		m.bound = m.sim.Pool("builds", 1)
		m.procs = m.sim.Pool("processors", s.Cores)
	case coldfetch.Goroutines:
		m.procs = m.sim.Pool("processors", s.Cores)
	case coldfetch.Loop, "":
		m.Mode = coldfetch.Loop
		m.loop = m.sim.Loop("event loop", 0)
	default:
		return nil, fmt.Errorf("model: no mode %q", s.Mode)
	}
	median := t.Time(Build)
	if s.Lean {
		median = t.Time(Lean)
	}
	median = max(median, 1)
	m.buildFor = sim.LogNormal(median, max(t.Part(Spread, median), median))
	m.think = sim.Exponential(t.Time(Think))
	if s.PerUser == 0 {
		m.from = warm
	}
	for d := range m.local {
		m.local[d] = s.Warm
	}
	return m, nil
}

func (m *machine) run(ctx context.Context, window time.Duration, keep func(metrics.Timeline)) (Figures, error) {
	m.flow = m.sim.Flow(coldfetch.Stages).Timelines(keep)
	for i := range m.Users {
		m.sim.Go("user", func(p *sim.Proc) {
			p.Sleep(m.Arrive * time.Duration(i) / time.Duration(m.Users))
			for n := 0; m.PerUser == 0 || n < m.PerUser; n++ {
				if n > 0 || m.PerUser == 0 {
					p.Sleep(p.Draw(m.think))
				}
				m.ask(p)
			}
			m.users--
			m.ended = p.Now()
		})
	}
	if !m.Alone {
		m.every(HealthRate, "health", m.healthRequest)
		m.every(ListRate, "listing", m.listRequest)
	}
	if m.loop != nil {
		m.sim.Go("lag", m.lag)
	}
	if m.Neighbour > 0 {
		m.sim.Go("neighbour", m.neighbour)
	}
	length := window
	if m.PerUser > 0 {
		length = 24 * time.Hour // it ends before
	}
	err := m.sim.Run(ctx, m.from, length)
	if err != nil {
		return Figures{}, err
	}
	f := m.figures
	f.Result = m.flow.Result()
	if m.PerUser > 0 {
		f.Window = m.ended // what comes after are timers of answers that came
	}
	f.Health, f.Own, f.Manifest, f.Corpus = m.health.Snapshot(), m.own.Snapshot(), m.halves[0].Snapshot(), m.halves[1].Snapshot()
	f.Misses = float64(m.missed) / float64(max(m.docs, 1))
	f.CPU = float64(m.work) / float64(f.Window)
	return f, nil
}

// counts says that it is in the window.
func (m *machine) counts() bool { return m.sim.Now() >= m.from }

// gone says that nobody asks for documents any more.
func (m *machine) gone() bool { return m.users == 0 }

// every starts requests at random times until the users have left.
func (m *machine) every(interval, name string, body func(*sim.Proc)) {
	between := sim.Exponential(m.t.Time(interval))
	m.sim.Go(name+" arrivals", func(p *sim.Proc) {
		for {
			p.Sleep(p.Draw(between))
			if m.gone() {
				return
			}
			m.sim.Go(name, body)
		}
	})
}

// neighbour computes for its part of each cycle, as a ticker would have it: what
// it didn't get isn't made up for.
func (m *machine) neighbour(p *sim.Proc) {
	cycle := max(m.t.Time(Duty), 1)
	busy := cycle * time.Duration(m.Neighbour) / 100
	for !m.gone() {
		m.cpu.Use(p, busy)
		p.Sleep(cycle - p.Now()%cycle)
	}
}

// lag reads how late the loop gives a callback its turn.
func (m *machine) lag(p *sim.Proc) {
	for !m.gone() {
		p.Sleep(lagEvery)
		due := p.Now()
		var late time.Duration
		m.loop.Run(p, func() { late = p.Now() - due })
		if m.counts() {
			m.figures.LagMax = max(m.figures.LagMax, late)
			if late >= SlowTurn {
				m.figures.LagEvents++
				m.figures.LagSum += late
			}
		}
	}
}

// compute takes CPU: under the interpreter's lock where there is one, and in slices
// where goroutines do.
func (m *machine) compute(p *sim.Proc, work time.Duration) {
	if m.Free {
		return
	}
	if m.counts() {
		m.work += work
	}
	switch slice := max(m.t.Time(Quantum), 1); {
	case m.gil != nil:
		m.gil.Work(p, m.cpu, work, time.Millisecond)
	case m.procs != nil:
		for ; work > 0; work -= slice {
			m.procs.Acquire(p)
			m.cpu.Use(p, min(work, slice))
			m.procs.Release(p)
		}
	default:
		m.cpu.Use(p, work)
	}
}

// proxy takes half of the proxy's CPU for a request.
func (m *machine) proxy(p *sim.Proc) {
	if !m.Free {
		m.cpu.Use(p, m.t.Time(Proxy)/2)
	}
}

// light runs a handler that neither blocks nor computes for long.
func (m *machine) light(p *sim.Proc, f func()) {
	switch m.Mode {
	case coldfetch.Loop:
		m.loop.Run(p, f)
	case coldfetch.OffloadGIL:
		m.loop.Run(p, func() {
			m.gil.Acquire(p)
			f()
			m.gil.Release(p)
		})
	default:
		f()
	}
}

// patient runs a request's work on a process of its own, and returns when that has
// ended or the proxy gives up. It says whether it has ended, and how long it took.
func (m *machine) patient(p *sim.Proc, name string, work func(*sim.Proc)) (answered bool, took time.Duration) {
	began := p.Now()
	end := m.sim.Signal("answer")
	m.sim.At(began+m.t.Time(Timeout), end.Give)
	m.sim.Go(name, func(p *sim.Proc) {
		work(p)
		if !end.Given() {
			answered = true
			end.Give()
		}
	})
	end.Wait(p)
	if !answered && m.counts() {
		m.figures.Timeouts++
	}
	return answered, p.Now() - began
}

func (m *machine) healthRequest(p *sim.Proc) {
	_, took := m.patient(p, "health request", func(p *sim.Proc) {
		m.proxy(p)
		for range m.t.Count(Accepts) - 1 {
			m.light(p, func() {})
		}
		m.light(p, func() {
			since := p.Now()
			m.compute(p, m.t.Time(Health))
			if m.counts() {
				m.own.Record(int64(p.Now() - since))
			}
		})
		m.proxy(p)
	})
	if m.counts() {
		m.health.Record(int64(took))
	}
}

func (m *machine) listRequest(p *sim.Proc) {
	m.patient(p, "listing request", func(p *sim.Proc) {
		m.proxy(p)
		for _, half := range m.halves {
			since := p.Now()
			m.light(p, func() { m.compute(p, m.t.Time(Listing)) })
			if m.counts() {
				half.Record(int64(p.Now() - since))
			}
		}
		m.proxy(p)
	})
}

// span is where a document's request is timed. It ends when the proxy gives up,
// though the service goes on.
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

// skip leaves the time since the last lap to no stage.
func (s *span) skip() {
	if s.r != nil {
		s.r.Skip()
	}
}

// ask is one request for a document.
func (m *machine) ask(p *sim.Proc) {
	d := 0
	if !m.First {
		d = p.Rand().IntN(Docs)
	}
	s := &span{r: m.flow.Begin(), at: coldfetch.Queue}
	m.patient(p, "document request", func(p *sim.Proc) {
		m.proxy(p)
		missed := m.document(p, s, d)
		s.lap(coldfetch.Write)
		m.proxy(p)
		way := m.t.Time(Transfer)
		if m.Gzip {
			way /= 5
		}
		p.Sleep(way)
		if m.counts() {
			m.docs++
			if missed {
				m.missed++
			}
		}
	})
	s.r.Lap(s.at)
	s.r.Done()
	s.r = nil
}

// document is the handler, run as the mode says. It tells whether the cache hadn't
// the document.
func (m *machine) document(p *sim.Proc, s *span, d int) (missed bool) {
	whole := func() {
		s.lap(coldfetch.Locate)
		m.locate(p, d)
		if missed = !m.cached(d); missed {
			m.share(p, &m.builds[d], m.Flight == coldfetch.ShareBuild, func() { m.build(p, s, d) })
		}
		m.answer(p, s, missed)
	}
	switch m.Mode {
	case coldfetch.Loop:
		if m.t.Count(Turns) > 1 {
			return m.inTwoTurns(p, s, d)
		}
		m.loop.Run(p, whole)
	case coldfetch.OffloadGIL:
		m.threads.Run(p, func() {
			m.gil.Acquire(p)
			whole()
			m.gil.Release(p)
		})
	default:
		whole()
	}
	return missed
}

// inTwoTurns is the handler on a loop to which it returns after the look-up.
func (m *machine) inTwoTurns(p *sim.Proc, s *span, d int) (missed bool) {
	m.loop.Run(p, func() {
		s.lap(coldfetch.Locate)
		m.locate(p, d)
		missed = !m.cached(d)
		s.lap(coldfetch.Queue)
	})
	if missed {
		m.share(p, &m.builds[d], m.Flight == coldfetch.ShareBuild, func() {
			m.loop.Soon(p, func() { m.build(p, s, d) })
		})
	}
	s.at = coldfetch.Queue
	m.loop.Soon(p, func() { m.answer(p, s, missed) })
	return missed
}

// share runs f, unless somebody does so for the same document and that is shared:
// then it waits for him, without the interpreter's lock.
func (m *machine) share(p *sim.Proc, at **sim.Signal, shared bool, f func()) {
	if !shared {
		f()
		return
	}
	if leader := *at; leader != nil {
		m.unlocked(p, func() { leader.Wait(p) })
		return
	}
	done := m.sim.Signal("flight")
	*at = done
	f()
	*at = nil
	done.Give()
}

// unlocked runs what waits, without the lock if there is one.
func (m *machine) unlocked(p *sim.Proc, f func()) {
	if m.gil != nil {
		m.gil.Release(p)
	}
	f()
	if m.gil != nil {
		m.gil.Acquire(p)
	}
}

// locate looks for the file or pulls it. On a loop all wait meanwhile.
func (m *machine) locate(p *sim.Proc, d int) {
	if !m.local[d] {
		m.share(p, &m.pulls[d], m.Flight == coldfetch.SharePull || m.Flight == coldfetch.ShareBuild, func() {
			m.unlocked(p, func() { p.Sleep(m.pull(d)) })
			m.local[d] = true
			if m.counts() {
				m.figures.Gets++
			}
		})
	}
	m.compute(p, m.t.Time(Locate))
}

// pull is how long a document is on its way.
func (m *machine) pull(d int) time.Duration {
	bytes := int64(small)
	if d == 0 {
		bytes = large
	}
	switch m.Store {
	case LAN:
		return PullTime(m.t.Time(LANFirst), m.t.Rate(LANRate), bytes)
	case WAN:
		return PullTime(m.t.Time(WANFirst), m.t.Rate(WANRate), bytes)
	}
	return PullTime(m.t.Time(PullFirst), m.t.Rate(PullRate), bytes)
}

// PullTime is the time of a pull of so many bytes; a rate of 0 is no limit.
func PullTime(first time.Duration, bytesPerSec, bytes int64) time.Duration {
	if bytesPerSec > 0 {
		first += time.Duration(bytes/bytesPerSec*1e9 + bytes%bytesPerSec*1e9/bytesPerSec)
	}
	return first
}

// build computes, one at a time if there is a bound, and keeps the result.
func (m *machine) build(p *sim.Proc, s *span, d int) {
	if m.bound != nil {
		s.lap(coldfetch.Queue)
		m.bound.Acquire(p)
		defer m.bound.Release(p)
	}
	s.lap(coldfetch.BuildIt)
	if m.bound != nil && m.cached(d) {
		return // somebody did so meanwhile
	}
	m.compute(p, p.Draw(m.buildFor))
	if m.counts() {
		m.figures.Builds++
	}
	m.keep(d)
}

// answer is a request's end.
func (m *machine) answer(p *sim.Proc, s *span, missed bool) {
	s.lap(coldfetch.JSON)
	work := m.t.Time(JSON)
	if m.Gzip {
		work += m.t.Time(Gzip)
	}
	m.compute(p, work)
	rest := m.t.Time(HitRest)
	if missed {
		rest = m.t.Time(MissRest)
	}
	s.lap(coldfetch.Write)
	m.compute(p, rest)
	s.skip()
}

// cached says whether the document is built, and makes it the last used.
func (m *machine) cached(d int) bool {
	for i, c := range m.cache {
		if c == d {
			copy(m.cache[1:], m.cache[:i])
			m.cache[0] = d
			return true
		}
	}
	return false
}

func (m *machine) keep(d int) {
	if m.cached(d) || m.Cache == 0 {
		return
	}
	if len(m.cache) < m.Cache {
		m.cache = append(m.cache, d)
	}
	copy(m.cache[1:], m.cache)
	m.cache[0] = d
}
