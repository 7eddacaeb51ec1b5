package model

import (
	"context"
	"fmt"
	"math"
	"time"

	"latlab.example/common/metrics"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
)

// Device is what lies behind the store.
type Device string

// The fakes' three devices; see package fake.
const (
	Channels         Device = "channels"
	OneWait          Device = "one-wait"
	UnbatchedHeaders Device = "unbatched-headers"
)

// Setup is what the factors of an experiment choose.
type Setup struct {
	Strategy   rawblock.Strategy
	Batches    bool // the engine takes batches: not with posix
	Layout     rawblock.Layout
	Durability rawblock.Durability
	Keys       int
	Payload    int64

	Device   Device
	Channels int           // of device Channels
	Latency  time.Duration // of a request
}

// Figures are what operations did together.
type Figures struct {
	Ops     int
	Took    time.Duration // all of them
	Writes  int64
	Reads   int64
	Flushes int64
	Bytes   int64         // written
	Stay    time.Duration // of all requests in the device, added up
}

// Depth is the mean number of requests at the device.
func (f Figures) Depth() float64 { return float64(f.Stay) / float64(f.Took) }

const block = 4096 // of the device, in bytes

// machine is a store on a device, in virtual time.
type machine struct {
	Setup
	table param.Table
	cpu   *sim.CPU
	lock  *sim.Lock   // the store's
	calls *sim.Pool   // single transfers under way
	dev   *sim.Device // nil unless the device has channels
	sim   *sim.Sim
	got   Figures

	locked, free time.Duration // CPU a key: half of locked in each of two critical sections
	header, body int64         // bytes of a key's writes; header is 0 if it goes with the payload
}

func newMachine(s Setup, t param.Table, seed uint64) (*machine, error) {
	if s.Keys < 1 || s.Payload < 0 || s.Device == Channels && s.Channels < 1 {
		return nil, fmt.Errorf("model: %d keys of %d bytes on %d channels: there must be at least one key and one channel", s.Keys, s.Payload, s.Channels)
	}
	m := &machine{Setup: s, table: t, sim: sim.New(seed)}
	m.cpu = m.sim.QueuedCPU("cores", max(t.Count(Cores), 1))
	m.lock = m.sim.Lock("store")
	m.calls = m.sim.Pool("single calls", max(t.Count(Threads), 1))
	if s.Device == Channels {
		m.dev = m.sim.Device("device", s.Channels, sim.Constant(m.service()), t.Rate(Bandwidth))
	}
	m.locked = t.Part(Locked, t.Time(KeyCPU))
	m.free = t.Time(KeyCPU) - m.locked
	m.body = rawblock.SlotSize(int(s.Payload), s.Layout, block)
	if s.Layout != rawblock.Aligned {
		m.header = block
		m.body -= block
	}
	return m, nil
}

// service is how long the device, or the timer that plays it, takes a request.
func (m *machine) service() time.Duration {
	if m.Latency == 0 {
		return 0
	}
	return m.Latency + m.table.Time(Overshoot)
}

// PutMany runs ops operations of a setup, one after the other. keep, if not nil,
// gets each one's timeline.
func PutMany(ctx context.Context, s Setup, t param.Table, seed uint64, ops int, keep func(metrics.Timeline)) (Figures, error) {
	m, err := newMachine(s, t, seed)
	if err != nil {
		return Figures{}, err
	}
	flow := m.sim.Flow(rawblock.Stages).Timelines(keep)
	return m.repeat(ctx, ops, func(p *sim.Proc) {
		r := flow.Begin()
		m.put(p, r)
		r.Done()
	})
}

// repeat runs an operation so often.
func (m *machine) repeat(ctx context.Context, ops int, op func(*sim.Proc)) (Figures, error) {
	m.got.Ops = ops
	m.sim.Go("caller", func(p *sim.Proc) {
		for range ops {
			op(p)
		}
		m.got.Took = p.Now()
	})
	err := m.sim.Run(ctx, 0, math.MaxInt64/4)
	return m.got, err
}

// put is rawblock's PutMany.
func (m *machine) put(p *sim.Proc, r *sim.Request) {
	switch {
	case m.Strategy == rawblock.Batch && m.Batches && m.Keys > 1:
		m.group(p, &r.Line, m.Keys, true)
	case m.Strategy == rawblock.FanOut:
		m.tasks(p, r, m.Keys, func(p *sim.Proc, l *sim.Line) { m.group(p, l, 1, false) })
	case m.Strategy == rawblock.Pool:
		left := m.Keys
		m.tasks(p, r, min(rawblock.DefaultWorkers, m.Keys), func(p *sim.Proc, l *sim.Line) {
			for left > 0 {
				left--
				m.group(p, l, 1, false)
			}
		})
	default:
		for range m.Keys {
			m.group(p, &r.Line, 1, false)
		}
	}
}

// tasks starts n tasks, each by the caller's own work, and waits for them.
func (m *machine) tasks(p *sim.Proc, r *sim.Request, n int, body func(*sim.Proc, *sim.Line)) {
	all := m.sim.Group("task")
	for range n {
		line := r.Fork()
		m.cpu.Use(p, m.table.Time(Dispatch))
		all.Go(func(p *sim.Proc) {
			line.Lap(rawblock.StageDispatch)
			body(p, line)
		})
	}
	all.Wait(p)
}

// group takes n keys through Phases A to D.
func (m *machine) group(p *sim.Proc, l *sim.Line, n int, batched bool) {
	keys := time.Duration(n)
	m.critical(p, keys*m.locked/2)
	l.Lap(rawblock.StageReserve)
	m.cpu.Use(p, keys*m.free)
	l.Lap(rawblock.StagePrepare)
	m.writes(p, l, n, batched)
	m.critical(p, keys*m.locked-keys*m.locked/2)
	l.Lap(rawblock.StageCommit)
}

func (m *machine) critical(p *sim.Proc, work time.Duration) {
	m.lock.Acquire(p)
	m.cpu.Use(p, work)
	m.lock.Release(p)
}

// writes are those of n keys, with the mode's flushes.
func (m *machine) writes(p *sim.Proc, l *sim.Line, n int, batched bool) {
	var steps [][]request
	header, body := request{m.header, m.header > 0}, request{bytes: m.body}
	switch {
	case m.Durability == rawblock.Ordered && m.header == 0 && m.body > block: // the slot's first block goes last
		steps = [][]request{{{bytes: m.body - block}}, {{bytes: block}}}
	case m.Durability == rawblock.Ordered && m.header > 0:
		steps = [][]request{{body}, {header}}
	case m.header > 0:
		steps = [][]request{{header, body}}
	default:
		steps = [][]request{{body}}
	}
	for i, step := range steps {
		if i > 0 {
			m.flush(p, l)
		}
		if batched {
			m.batch(p, l, n, step)
			continue
		}
		for range n {
			for _, w := range step {
				m.single(p, w)
			}
		}
		l.Lap(rawblock.StageWait)
	}
	if m.Durability == rawblock.Flushed {
		m.flush(p, l)
	}
}

func (m *machine) flush(p *sim.Proc, l *sim.Line) {
	m.got.Flushes++
	p.Sleep(m.table.Time(FlushTime))
	l.Lap(rawblock.StageFlush)
}

// request is one transfer.
type request struct {
	bytes  int64
	header bool
}

// single is one write that its caller waits for.
func (m *machine) single(p *sim.Proc, w request) {
	m.count(w)
	m.calls.Acquire(p)
	m.cpu.Use(p, m.table.Time(WriteCPU))
	m.serve(p, w)
	m.calls.Release(p)
}

func (m *machine) count(w request) {
	m.got.Writes++
	m.got.Bytes += w.bytes
}

// serve has the device do a transfer.
func (m *machine) serve(p *sim.Proc, w request) {
	began := p.Now()
	if m.dev != nil {
		m.dev.Do(p, w.bytes)
	} else {
		p.Sleep(m.service())
	}
	m.got.Stay += p.Now() - began
}

// batch hands the writes of n keys over, one after the other, and waits for all.
func (m *machine) batch(p *sim.Proc, l *sim.Line, n int, step []request) {
	all := m.sim.Group("write")
	var headers, bodies int // that wait for the whole batch to be handed over
	for range n {
		for _, w := range step {
			m.count(w)
			m.cpu.Use(p, m.table.Time(WriteCPU))
			switch {
			case m.Device != UnbatchedHeaders:
				all.Go(func(p *sim.Proc) { m.serve(p, w) })
			case w.header:
				headers++
			default:
				bodies++
			}
		}
	}
	l.Lap(rawblock.StageSubmit)
	for range headers {
		m.serve(p, request{})
	}
	for range bodies {
		all.Go(func(p *sim.Proc) { m.serve(p, request{}) })
	}
	all.Wait(p)
	l.Lap(rawblock.StageWait)
}

// GetMany reads the keys ops times: in one submission, or one by one.
func GetMany(ctx context.Context, s Setup, t param.Table, seed uint64, ops int, many bool) (Figures, error) {
	m, err := newMachine(s, t, seed)
	if err != nil {
		return Figures{}, err
	}
	many = many && s.Batches && s.Keys > 1
	slot := request{bytes: m.header + m.body}
	return m.repeat(ctx, ops, func(p *sim.Proc) {
		m.got.Reads += int64(m.Keys)
		if !many {
			for range m.Keys {
				m.critical(p, m.locked)
				m.cpu.Use(p, m.free)
				m.cpu.Use(p, m.table.Time(WriteCPU))
				m.serve(p, slot)
			}
			return
		}
		keys := time.Duration(m.Keys)
		m.critical(p, keys*m.locked)
		all := m.sim.Group("read")
		for range m.Keys {
			m.cpu.Use(p, m.table.Time(WriteCPU))
			all.Go(func(p *sim.Proc) { m.serve(p, slot) })
		}
		all.Wait(p)
		m.cpu.Use(p, keys*m.free)
	})
}
