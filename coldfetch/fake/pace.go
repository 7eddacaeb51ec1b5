package fake

import (
	"context"
	"sync"
	"time"

	"latlab.example/common/emu"
)

// piece is how much of a body is sent at once when the bandwidth has a limit.
const piece = 64 << 10

// pacer makes answers as late as the profile says.
type pacer struct {
	profile Profile
	waiter  emu.Waiter
	first   *emu.Sampler

	mu    sync.Mutex
	begun map[*transfer]time.Time // guarded by mu: those under way, and since when
	ended []time.Time             // guarded by mu: when those ended that may still count
}

// transfer is a body on its way. It is one goroutine's.
type transfer struct {
	pacer *pacer
	due   time.Time // when the bytes so far have passed
}

func newPacer(cfg *Config) *pacer {
	p := &pacer{profile: cfg.Profile, waiter: cfg.Waiter, begun: map[*transfer]time.Time{}}
	if cfg.Profile.FirstByte != nil {
		p.first = emu.NewSampler(cfg.Profile.FirstByte, cfg.Seed)
	}
	return p
}

// delay is the time to the first byte of an answer.
func (p *pacer) delay(op, key string, newConn bool) time.Duration {
	var d time.Duration
	if p.first != nil {
		d = p.first.Next(emu.Key(op + " " + key))
	}
	if newConn {
		d += p.profile.Connect
	}
	return d
}

// until passes time.
func (p *pacer) until(ctx context.Context, due time.Time) error {
	return p.waiter.Until(ctx, due)
}

// limited says whether bodies take time.
func (p *pacer) limited() bool { return p.profile.PerConnection > 0 || p.profile.Total > 0 }

func (p *pacer) begin() *transfer {
	t := &transfer{pacer: p, due: p.waiter.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun[t] = t.due
	return t
}

// pass waits until n more bytes have passed.
func (t *transfer) pass(ctx context.Context, n int) error {
	p := t.pacer
	var perByte float64 // seconds
	if p.profile.PerConnection > 0 {
		perByte = 1 / float64(p.profile.PerConnection)
	}
	if p.profile.Total > 0 {
		perByte = max(perByte, float64(p.sharers(t))/float64(p.profile.Total))
	}
	t.due = t.due.Add(time.Duration(float64(n) * perByte * float64(time.Second)))
	return p.waiter.Until(ctx, t.due)
}

// sharers counts the transfers under way at t's instant: those that began before
// it or are t, and those that didn't end before it. So what happens at one
// instant may happen in any order; and of transfers that begin together the first
// piece passes as if each were alone.
func (p *pacer) sharers(t *transfer) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 1
	for other, since := range p.begun {
		if other != t && since.Before(t.due) {
			n++
		}
	}
	now := p.waiter.Now()
	keep := p.ended[:0]
	for _, at := range p.ended {
		if !at.Before(now) {
			keep = append(keep, at)
		}
		if !at.Before(t.due) {
			n++
		}
	}
	p.ended = keep
	return n
}

func (t *transfer) end() {
	p := t.pacer
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.begun, t)
	p.ended = append(p.ended, p.waiter.Now())
}
