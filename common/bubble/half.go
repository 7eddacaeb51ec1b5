package bubble

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// half is one direction of a connection: a queue of pieces, each with the
// instant at which it can be read. Those that wait do so at a sync.Cond, which
// lets a bubble's clock go on; timers wake them up to look again.
type half struct {
	link Link

	mu      sync.Mutex // never held across a wait
	pieces  []piece    // guarded by mu, as all that follows; the first to arrive first
	spare   []byte     // the memory of a piece that was read
	held    int        // bytes in pieces
	sent    time.Time  // when the wire is free again
	mute    error      // why the writer doesn't write any more, or nil
	end     ending     // the end of the stream, if mute
	deaf    error      // why the reader doesn't read any more, or nil
	refused time.Time  // when the writer learns that the reader is gone; zero if it isn't

	read, write side
}

// A piece is what was sent at once.
type piece struct {
	at   time.Time
	data []byte
	used int // bytes read already
}

// An ending is what Read returns behind the last piece, and when it comes.
type ending struct {
	at  time.Time
	err error
}

// A side is those that wait to read, or to write.
type side struct {
	cond     sync.Cond
	deadline time.Time // zero if there is none
	timer    *time.Timer
	due      time.Time // what timer is set to; zero if it has fired
}

func newHalf(l Link) *half {
	h := &half{link: l}
	h.read.cond.L = &h.mu
	h.write.cond.L = &h.mu
	return h
}

// Read is as in net.Conn, with bare errors.
func (h *half) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		now := time.Now()
		if h.deaf != nil {
			return 0, h.deaf
		}
		if h.read.passed(now) {
			return 0, os.ErrDeadlineExceeded
		}
		if len(p) == 0 {
			return 0, nil
		}
		if n := h.take(p, now); n > 0 {
			h.write.cond.Broadcast()
			return n, nil
		}
		var next time.Time
		switch {
		case len(h.pieces) > 0:
			next = h.pieces[0].at
		case h.mute != nil && !h.end.at.After(now):
			return 0, h.end.err
		case h.mute != nil:
			next = h.end.at
		}
		h.wait(&h.read, next)
	}
}

// take copies what has arrived. It needs mu.
func (h *half) take(p []byte, now time.Time) (n int) {
	done := 0
	for i := range h.pieces {
		piece := &h.pieces[i]
		if piece.at.After(now) || n == len(p) {
			break
		}
		c := copy(p[n:], piece.data[piece.used:])
		piece.used += c
		n += c
		if piece.used < len(piece.data) {
			break
		}
		h.spare = piece.data
		done++
	}
	if done == len(h.pieces) {
		clear(h.pieces)
		h.pieces = h.pieces[:0]
	} else {
		clear(h.pieces[:done])
		h.pieces = h.pieces[done:]
	}
	h.held -= n
	return n
}

// Write is as in net.Conn, with bare errors.
func (h *half) Write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		now := time.Now()
		if h.mute != nil {
			return n, h.mute
		}
		if h.write.passed(now) {
			return n, os.ErrDeadlineExceeded
		}
		if !h.refused.IsZero() && !h.refused.After(now) {
			return n, os.NewSyscallError("write", syscall.EPIPE)
		}
		if n == len(p) {
			return n, nil
		}
		room := min(h.link.buffer()-h.held, len(p)-n, maxPiece)
		if room <= 0 {
			h.wait(&h.write, h.refused)
			continue
		}
		h.send(p[n:n+room], now)
		if n += room; n == len(p) {
			return n, nil // not an error of after the last byte
		}
	}
}

// send puts a piece on the wire. It needs mu.
func (h *half) send(p []byte, now time.Time) {
	if h.sent.Before(now) {
		h.sent = now
	}
	h.sent = h.sent.Add(h.link.sending(len(p)))
	if h.deaf != nil {
		return // nobody will read it, but the writer doesn't know
	}
	h.pieces = append(h.pieces, piece{at: h.sent.Add(h.link.oneWay()), data: append(h.spare[:0], p...)})
	h.spare = nil
	h.held += len(p)
	h.read.cond.Broadcast()
}

// closeWrite ends the stream with end, behind what was written, if it hasn't
// ended yet. Write returns mute from now on.
func (h *half) closeWrite(mute, end error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mute == nil {
		if now := time.Now(); h.sent.Before(now) {
			h.sent = now
		}
		h.end = ending{h.sent.Add(h.link.oneWay()), end}
		h.read.cond.Broadcast()
	}
	h.mute = mute
	h.write.cond.Broadcast()
	h.write.stop()
}

// closeRead makes Read return err from now on and drops what comes in. If
// tell, the writer learns of it half a round trip later. It reports whether
// bytes were dropped that had been written.
func (h *half) closeRead(err error, tell bool) (dropped bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dropped = h.held > 0
	h.deaf, h.pieces, h.held, h.spare = err, nil, 0, nil
	if tell {
		h.refused = time.Now().Add(h.link.oneWay())
	}
	h.read.cond.Broadcast()
	h.write.cond.Broadcast()
	h.read.stop()
	return dropped
}

// setDeadline is for h.read or h.write.
func (h *half) setDeadline(s *side, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.deadline = t
	s.cond.Broadcast()
}

// wait waits until something has changed on a side, until its deadline or
// until the instant, if that isn't zero. It needs mu.
func (h *half) wait(s *side, until time.Time) {
	if !s.deadline.IsZero() && (until.IsZero() || s.deadline.Before(until)) {
		until = s.deadline
	}
	if !until.IsZero() && !s.due.Equal(until) {
		s.due = until
		if d := time.Until(until); s.timer == nil {
			s.timer = time.AfterFunc(d, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				s.due = time.Time{}
				s.cond.Broadcast()
			})
		} else {
			s.timer.Reset(d)
		}
	}
	s.cond.Wait()
}

// passed needs mu. A deadline has passed at its own instant, so that it
// doesn't matter whether data of that instant were there first.
func (s *side) passed(now time.Time) bool {
	return !s.deadline.IsZero() && !s.deadline.After(now)
}

// stop needs mu. Nobody waits any more, or nobody needs the timer.
func (s *side) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
