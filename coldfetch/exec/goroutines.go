package exec

import (
	"context"
	"fmt"
	"sync"
)

// Goroutines runs each handler on the goroutine that it came on.
type Goroutines struct {
	heavy chan struct{} // a token for each heavy part that runs; nil without a bound

	mu     sync.Mutex
	closed bool           // guarded by mu
	open   sync.WaitGroup // Add is guarded by mu
}

// NewGoroutines sets no bound.
func NewGoroutines() *Goroutines { return &Goroutines{} }

// NewBounded lets at most so many heavy parts run at once; it panics if there is
// to be none.
func NewBounded(heavy int) *Goroutines {
	if heavy <= 0 {
		panic("exec: a bound of at least one is needed")
	}
	return &Goroutines{heavy: make(chan struct{}, heavy)}
}

// Light runs the steps at once.
func (g *Goroutines) Light(ctx context.Context, steps ...func(*Task)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	g.open.Add(1)
	g.mu.Unlock()
	defer g.open.Done()
	t := &Task{}
	if g.heavy != nil {
		t.heavy = g.bounded
	}
	for _, f := range steps {
		f(t)
	}
	return nil
}

// Handle runs f at once; its heavy part waits for the bound.
func (g *Goroutines) Handle(ctx context.Context, f func(*Task)) error { return g.Light(ctx, f) }

func (g *Goroutines) bounded(ctx context.Context, f func(func())) error {
	select {
	case g.heavy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.heavy }()
	f(func() {})
	return nil
}

// Close waits for the handlers that run.
func (g *Goroutines) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.open.Wait()
}

func (g *Goroutines) String() string {
	if g.heavy != nil {
		return fmt.Sprintf("bounded(%d)", cap(g.heavy))
	}
	return "goroutines"
}
