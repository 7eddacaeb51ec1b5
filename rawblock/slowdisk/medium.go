package slowdisk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

// The operations of a fault schedule.
const (
	opRead  = "read"
	opWrite = "write"
	opFlush = "flush"
)

// Counts are the requests that reached the medium since Open returned, with
// those that failed.
type Counts struct {
	Reads, Writes, Flushes int64
	Dropped                int64 // flushes that did nothing, and hid it
	Peak                   int64 // the most requests that were there at once, waiting ones too
}

// medium is memory that takes its time. Its methods may be called concurrently.
type medium struct {
	block  int64
	waiter emu.Waiter
	faults *emu.Schedule
	// armed says whether requests take time, fail and are counted. Those of the
	// kernel while the disk is made don't.
	armed atomic.Bool

	reads, writes, flushes, dropped, here, peak atomic.Int64

	timing   sync.Mutex // guards channels
	channels *fake.Channels

	mu   sync.RWMutex // guards data and undo
	data []byte
	undo map[int64][]byte // by block, what it held at the last flush; nil without power cuts
}

func newMedium(c Config, w emu.Waiter) (*medium, error) {
	channels, err := fake.NewChannels(c.Channels, emu.NewSampler(c.Latency, c.Seed), 0)
	if err != nil {
		return nil, fmt.Errorf("slowdisk: %w: %w", ErrConfig, err)
	}
	m := &medium{block: int64(c.Block), waiter: w, faults: c.Faults, channels: channels, data: make([]byte, c.Size)}
	if c.PowerCuts {
		m.undo = make(map[int64][]byte)
	}
	return m, nil
}

func (m *medium) counts() Counts {
	return Counts{
		Reads: m.reads.Load(), Writes: m.writes.Load(), Flushes: m.flushes.Load(),
		Dropped: m.dropped.Load(), Peak: m.peak.Load(),
	}
}

// outcome is what a fault makes of a request of so many bytes.
type outcome struct {
	moved    int   // how many bytes are moved
	answered int   // how many the answer claims
	err      error // the request fails
}

// serve waits as long as the request takes, lets move do its part, and gives the
// bytes that the answer claims.
func (m *medium) serve(ctx context.Context, op string, count *atomic.Int64, off int64, n int, move func(moved int)) (int, error) {
	if !m.armed.Load() {
		move(n)
		return n, nil
	}
	count.Add(1)
	defer m.here.Add(-1)
	for here := m.here.Add(1); ; {
		if peak := m.peak.Load(); here <= peak || m.peak.CompareAndSwap(peak, here) {
			break
		}
	}
	o, late := m.judge(op, n)
	m.timing.Lock()
	done, _ := m.channels.Serve(m.waiter.Now(), []rawblock.IO{{Off: off}})
	m.timing.Unlock()
	if err := m.waiter.Until(ctx, done.Add(late)); err != nil {
		return 0, err // the disk is torn down
	}
	if o.err != nil {
		return 0, o.err
	}
	move(o.moved)
	return o.answered, nil
}

// judge asks the schedule what becomes of a request.
func (m *medium) judge(op string, n int) (o outcome, late time.Duration) {
	o = outcome{moved: n, answered: n}
	f, ok := m.faults.Next(op)
	if !ok {
		return o, 0
	}
	half := n / 2 / int(m.block) * int(m.block)
	switch {
	case f.Kind == emu.Slow:
		return o, f.Delay
	case f.Kind == emu.Error || f.Kind == emu.Reset:
		return outcome{err: f.Err()}, 0
	case f.Kind == emu.Torn && op != opRead:
		return outcome{moved: half, answered: n}, 0
	default:
		return outcome{moved: half, answered: half}, 0
	}
}

func (m *medium) read(ctx context.Context, dst []byte, off int64) (int, error) {
	n, off := m.within(len(dst), off)
	return m.serve(ctx, opRead, &m.reads, off, n, func(moved int) {
		m.mu.RLock()
		defer m.mu.RUnlock()
		copy(dst[:moved], m.data[off:])
	})
}

func (m *medium) write(ctx context.Context, src []byte, off int64) (int, error) {
	n, off := m.within(len(src), off)
	return m.serve(ctx, opWrite, &m.writes, off, n, func(moved int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.undo != nil {
			m.keep(off, int64(moved))
		}
		copy(m.data[off:], src[:moved])
	})
}

// within cuts a request of n bytes at the medium's end, which it may begin beyond.
func (m *medium) within(n int, off int64) (int, int64) {
	off = min(off, int64(len(m.data)))
	return int(min(int64(n), int64(len(m.data))-off)), off
}

// keep saves the blocks of a range that weren't written since the last flush. It
// needs mu.
func (m *medium) keep(off, n int64) {
	for b := off / m.block; b*m.block < off+n; b++ {
		if _, kept := m.undo[b]; !kept {
			m.undo[b] = append([]byte(nil), m.data[b*m.block:(b+1)*m.block]...)
		}
	}
}

// flush makes durable what was written. A dropped one only says so.
func (m *medium) flush(ctx context.Context) error {
	// A fault that moves half a request's blocks drops a flush, of one block or so.
	_, err := m.serve(ctx, opFlush, &m.flushes, 0, 1, func(moved int) {
		if moved == 0 {
			m.dropped.Add(1)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		clear(m.undo)
	})
	return err
}

// powerCut puts back what wasn't flushed, and says how many blocks that were.
func (m *medium) powerCut() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	lost := len(m.undo)
	for b, old := range m.undo {
		copy(m.data[b*m.block:], old)
	}
	clear(m.undo)
	return lost
}
