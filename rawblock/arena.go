package rawblock

import (
	"math/bits"
	"sync"
)

// arena lends aligned buffers from memory outside the Go heap where the
// platform allows, since a ring must not hold Go pointers. Buffers come in
// powers of two and are kept for reuse until close.
type arena struct {
	register func([]byte) error // tells the device of new memory; may be nil

	mu     sync.Mutex
	free   [64][][]byte // by log2 of the size
	mapped [][]byte     // everything ever mapped
}

// get lends n bytes, aligned to a page. Their content is arbitrary.
func (a *arena) get(n int) ([]byte, error) {
	class := max(bits.Len(uint(n-1)), 12)
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.free[class]) - 1; last >= 0 {
		buf := a.free[class][last]
		a.free[class] = a.free[class][:last]
		return buf[:n], nil
	}
	buf, err := MapPages(1 << class)
	if err != nil {
		return nil, err
	}
	if a.register != nil {
		if err := a.register(buf); err != nil {
			UnmapPages(buf)
			return nil, err
		}
	}
	a.mapped = append(a.mapped, buf)
	return buf[:n], nil
}

// put takes a buffer of get back.
func (a *arena) put(buf []byte) {
	buf = buf[:cap(buf)]
	class := bits.Len(uint(len(buf) - 1))
	a.mu.Lock()
	a.free[class] = append(a.free[class], buf)
	a.mu.Unlock()
}

// close gives the memory back. No buffer may be on loan, and the device must be
// closed: it may have been told of the memory.
func (a *arena) close() {
	for _, buf := range a.mapped {
		UnmapPages(buf)
	}
	a.mapped, a.free = nil, [64][][]byte{}
}
