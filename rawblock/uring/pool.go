//go:build giouring && linux

package uring

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// pool lends rings of one kind. It makes them when they are first needed, up to
// a number; then callers wait.
//
// One ring for all, with one caller waiting in the kernel for the others, was
// tried and is slower: the kernel finishes a transfer on the thread that
// submitted it, so each completion wakes two threads. Single writes a second by
// 1, 8, 32 and 128 callers on 2 CPUs: a ring each 15400, 35700, 48200, 61900; one
// ring 15500, 11600, 10700, 21900; pwrite 16000, 41500, 54500, 63400.
type pool struct {
	open   func() (*ring, error)
	room   chan struct{} // a token for each ring on loan
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle []*ring // guarded by mu; the last one used is lent first
}

func newPool(entries int, flags uint32, most int) *pool {
	return &pool{
		open:   func() (*ring, error) { return newRing(entries, flags) },
		room:   make(chan struct{}, most),
		closed: make(chan struct{}),
	}
}

// take lends a ring. The error is the context's, os.ErrClosed, or why no ring
// could be made.
func (p *pool) take(ctx context.Context) (*ring, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.room <- struct{}{}:
	case <-p.closed:
		return nil, fmt.Errorf("io_uring: %w", os.ErrClosed)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-p.closed: // both were ready
		<-p.room
		return nil, fmt.Errorf("io_uring: %w", os.ErrClosed)
	default:
	}
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		r := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return r, nil
	}
	p.mu.Unlock()
	r, err := p.open()
	if err != nil {
		<-p.room
	}
	return r, err
}

// give takes a ring back. One that broke is freed, so that the next caller gets
// another.
func (p *pool) give(r *ring) {
	if r.broken != nil {
		r.q.QueueExit()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, r)
		p.mu.Unlock()
	}
	<-p.room
}

// close frees all rings, when those on loan are back.
func (p *pool) close() {
	p.once.Do(func() {
		close(p.closed)
		for range cap(p.room) {
			p.room <- struct{}{}
		}
		for _, r := range p.idle {
			r.q.QueueExit()
		}
	})
}
