// Package model is the study's service in virtual time: users in a closed loop,
// an event loop, an interpreter lock that can be taken away, three clients, and
// the layers around them.
//
// Go has no such lock, so this is the only place in the case where it is. Read
// Study for what the model takes for granted, machine.read for what a read does,
// and Relations for what the study says beside what comes out.
package model

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/metrics"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
)

// Lock is whether there is an interpreter lock.
type Lock string

// With CPython's lock, or free-threaded.
const (
	Held Lock = "held"
	Free Lock = "free"
)

// Mode is how the sets of a request are read.
type Mode string

// The modes.
const (
	Gather Mode = "gather" // a read a set, all at once
	Single Mode = "single" // one read of all keys
)

// Client is who reads.
type Client string

// The clients.
const (
	Async          Client = "async"
	Official       Client = "official"
	OfficialThread Client = "executor" // the official one on an executor, in layer A too
)

// Layer is how much of the service there is.
type Layer string

// The layers: client alone; behind an HTTP server; with inference.
const (
	A Layer = "A"
	B Layer = "B"
	C Layer = "C"
)

// Load is what the factors of an experiment choose.
type Load struct {
	Lock   Lock
	Mode   Mode
	Client Client
	Layer  Layer
	Users  int
	Sets   int
	Batch  int // keys a set
}

// The study's stages, and three that are outside of the client.
const (
	keyParse metrics.Stage = iota
	scheduleDelay
	io
	intoObject
	spawnBlockingDelay
	resumeDelay
	toMap
	merge
	setup
	turn
	http
	inference
)

// Stages are the study's, by its names in package aerospike; then turn (until the
// loop first runs the request), http and inference.
var Stages = metrics.NewStageSet("aerospike-model",
	"key_parse", "schedule_delay", "io", "into_object", "spawn_blocking_delay", "resume_delay",
	"to_map", "merge", "setup", "turn", "http", "inference")

// Figures are what a run gave.
type Figures struct {
	sim.Result
	Inference time.Duration // mean, waits for the lock included
	LockBusy  float64       // share of the time in which the lock was held or handed over; 0 without one
	LoopBusy  float64       // share of the time in which the loop ran something, or waited for the lock to
}

// Mean and Quantile are response times in milliseconds.
func (f Figures) Mean() float64 { return f.Response.Mean() / 1e6 }

// Quantile is the response time that a share of the requests stayed within, in
// milliseconds.
func (f Figures) Quantile(q float64) float64 { return float64(f.Response.Quantile(q)) / 1e6 }

// StageMean is the mean of a stage's runs in milliseconds, as a histogram of the
// stage shows it: each of nine reads counts.
func (f Figures) StageMean(name string) float64 {
	for _, s := range f.Stages.Stages {
		if s.Name == name {
			return s.Dist.Mean() / 1e6
		}
	}
	return 0
}

const warm = 2 * time.Second

// Run runs the service for a window after a warm-up of two seconds. keep, if not
// nil, gets the timeline of each request.
func Run(ctx context.Context, l Load, t param.Table, seed uint64, window time.Duration, keep func(metrics.Timeline)) (Figures, error) {
	if l.Users < 1 || l.Sets < 1 || l.Batch < 1 {
		return Figures{}, fmt.Errorf("model: %d users, %d sets of %d keys: there must be at least one of each", l.Users, l.Sets, l.Batch)
	}
	m := newMachine(l, t, seed)
	flow := m.sim.Flow(Stages).Timelines(keep)
	pause := sim.Constant(0)
	if l.Layer != A {
		pause = m.spread(t.Time(Pause)) // else users fall into step with each other
	}
	m.sim.Users(l.Users, pause, func(p *sim.Proc) {
		r := flow.Begin()
		m.request(p, r)
		r.Done()
	})
	if err := m.sim.Run(ctx, warm, window); err != nil {
		return Figures{}, err
	}
	f := Figures{Result: flow.Result(), LoopBusy: m.loop.Usage().Utilisation()}
	for _, s := range f.Stages.Stages {
		if s.Name == Stages.Stage(inference) {
			f.Inference = time.Duration(s.Dist.Mean())
		}
	}
	if m.gil != nil {
		f.LockBusy = m.gil.Usage().Utilisation()
	}
	return f, nil
}

// machine is the service.
type machine struct {
	Load
	t        param.Table
	sim      *sim.Sim
	cpu      *sim.CPU
	gil      *sim.Lock // nil when free-threaded
	own      *sim.Lock // the official client's own; nil if it has none
	loop     *sim.Loop
	blocking *sim.Workers
	executor *sim.Workers
	forward  sim.Dist // an inference alone
	answer   sim.Dist // of the server to a read
}

func newMachine(l Load, t param.Table, seed uint64) *machine {
	m := &machine{Load: l, t: t, sim: sim.New(seed)}
	m.cpu = m.sim.SharedCPU("cores", max(t.Count(Cores), 1))
	if l.Lock == Held {
		m.gil = m.sim.Lock("interpreter").Switch(t.Time(Switch), t.Time(HandOver))
	}
	if l.Client != Async && l.Lock == Free && t.Count(OfficialLock) > 0 { // where the interpreter has a lock, it serves
		m.own = m.sim.Lock("official client").Switch(t.Time(Switch), t.Time(HandOver))
	}
	m.loop = m.sim.Loop("event loop", 0)
	m.blocking = m.sim.Workers("blocking pool", max(t.Count(Blocking), 1))
	m.executor = m.sim.Workers("executor", max(t.Count(Executor), 1))
	m.forward = m.spread(t.Time(Inference))
	keys := l.Batch
	if l.Mode == Single {
		keys *= l.Sets
	}
	m.answer = m.spread(t.Time(IO) + time.Duration(keys)*t.Time(IOKey))
	return m
}

// spread is a time with the parameters' spread.
func (m *machine) spread(median time.Duration) sim.Dist {
	return sim.LogNormal(max(median, 1), max(m.t.Part(Spread, median), median, 1))
}

// under runs f with the interpreter's lock.
func (m *machine) under(p *sim.Proc, f func()) { with(p, m.gil, f) }

// with runs f with a lock, or without if that is nil.
func with(p *sim.Proc, l *sim.Lock, f func()) {
	if l == nil {
		f()
		return
	}
	l.Acquire(p)
	f()
	l.Release(p)
}

// work is what a call does that keeps the lock: a share of its published mean.
func (m *machine) work(p *sim.Proc, published time.Duration) {
	m.cpu.Use(p, m.t.Part(WorkShare, published))
}

const check = 100 * time.Microsecond // between two looks of interpreted code at the lock

// interpreted is work that gives the lock up when it is asked to.
func (m *machine) interpreted(p *sim.Proc, work time.Duration) {
	if m.gil == nil {
		m.cpu.Use(p, work)
		return
	}
	m.gil.Work(p, m.cpu, work, check)
}

// request is one request of a user.
func (m *machine) request(p *sim.Proc, r *sim.Request) {
	if m.Layer == A && m.Client == Official {
		m.threaded(p, r)
		return
	}
	half := m.t.Time(HTTP) / 2
	m.turn(p, m.loop.Run, func() {
		r.Lap(turn)
		if m.Layer != A {
			m.interpreted(p, half)
			r.Lap(http)
		}
	})
	if m.Mode == Single {
		m.read(p, &r.Line, m.Sets*m.Batch)
	} else {
		all := m.sim.Group("read")
		for range m.Sets {
			line := r.Fork()
			all.Go(func(p *sim.Proc) { m.read(p, line, m.Batch) })
		}
		all.Wait(p)
		r.Skip()
	}
	m.turn(p, m.loop.Soon, func() {
		r.Lap(resumeDelay)
		m.merge(p)
		r.Lap(merge)
	})
	if m.Layer == C {
		m.infer(p)
		r.Lap(inference)
	}
	if m.Layer != A {
		m.turn(p, m.loop.Run, func() { m.interpreted(p, half) })
		r.Lap(http)
	}
}

// turn runs f in a turn of the loop, with the lock. how is the loop's Run or Soon.
func (m *machine) turn(p *sim.Proc, how func(*sim.Proc, func()), f func()) {
	how(p, func() { m.under(p, f) })
}

// read is one read of n keys.
func (m *machine) read(p *sim.Proc, l *sim.Line, n int) {
	if m.Client != Async {
		m.executor.Run(p, func() { m.official(p, l, n, spawnBlockingDelay) })
		m.turn(p, m.loop.Run, func() { l.Lap(resumeDelay) })
		return
	}
	keys := time.Duration(n)
	m.turn(p, m.loop.Soon, func() {
		l.Lap(turn)
		m.work(p, keys*m.t.Time(KeyParse))
		l.Lap(keyParse)
		m.work(p, m.t.Time(Setup))
		l.Lap(setup)
	})
	p.Sleep(m.t.Time(Schedule))
	l.Lap(scheduleDelay)
	m.network(p, l)
	m.blocking.Run(p, func() {
		m.under(p, func() {
			l.Lap(spawnBlockingDelay)
			m.work(p, m.t.Time(IntoObject))
			l.Lap(intoObject)
		})
	})
	m.turn(p, m.loop.Run, func() {
		l.Lap(resumeDelay)
		m.work(p, keys*m.t.Time(ToMap))
		l.Lap(toMap)
	})
}

// network is a read's way to the server and back.
func (m *machine) network(p *sim.Proc, l *sim.Line) {
	p.Sleep(p.Draw(m.answer))
	l.Lap(io)
}

// official is a read of the synchronous client on the calling thread. waited is
// the stage in which the thread came to have the lock.
func (m *machine) official(p *sim.Proc, l *sim.Line, n int, waited metrics.Stage) {
	keys := time.Duration(n)
	client := func(f func()) { m.under(p, func() { with(p, m.own, f) }) }
	client(func() {
		l.Lap(waited)
		m.work(p, keys*m.t.Time(KeyParse))
		l.Lap(keyParse)
	})
	m.network(p, l)
	client(func() {
		l.Lap(resumeDelay)
		m.work(p, keys*m.t.Time(ToMap))
		m.cpu.Use(p, keys*m.t.Time(Eager))
		l.Lap(toMap)
	})
}

// threaded is a request in layer A on the user's own thread. The synchronous
// client reads sets one after the other.
func (m *machine) threaded(p *sim.Proc, r *sim.Request) {
	if m.Mode == Single {
		m.official(p, &r.Line, m.Sets*m.Batch, turn)
	} else {
		for range m.Sets {
			m.official(p, &r.Line, m.Batch, turn)
		}
	}
	m.under(p, func() {
		r.Lap(resumeDelay)
		m.merge(p)
		r.Lap(merge)
	})
}

// merge is by the number of keys; the published cost is of 1800. One set needs
// none.
func (m *machine) merge(p *sim.Proc) {
	if m.Sets > 1 {
		all := m.t.Part(WorkShare, m.t.Time(Merge))
		m.interpreted(p, all*time.Duration(m.Sets*m.Batch)/1800)
	}
}

// infer is a forward pass on a thread of its own: parts under the lock, each
// followed by one without.
func (m *machine) infer(p *sim.Proc) {
	whole := p.Draw(m.forward)
	parts := max(m.t.Count(InferenceParts), 1)
	locked := min(m.t.Part(InferenceLock, whole), whole)
	for range parts {
		m.under(p, func() { m.interpreted(p, locked/time.Duration(parts)) })
		m.cpu.Use(p, (whole-locked)/time.Duration(parts))
	}
}
