package submit

import (
	"fmt"
	"sync/atomic"
)

// Object is bytes with a count of those who need them. Its methods may be called
// concurrently.
type Object struct {
	bytes []byte
	refs  atomic.Int64
	freed func()
}

// NewObject makes an object with one reference, the caller's. When the last one
// is released, freed is called, on the goroutine that released it, if it isn't
// nil: a buffer may go back to its pool then.
func NewObject(bytes []byte, freed func()) *Object {
	o := &Object{bytes: bytes, freed: freed}
	o.refs.Store(1)
	return o
}

// Bytes is what the object holds. They must not be changed while others have
// references, nor be used without one.
func (o *Object) Bytes() []byte { return o.bytes }

// Refs is the present count.
func (o *Object) Refs() int64 { return o.refs.Load() }

// Retain adds a reference. Only who has one may add another: it panics if the
// object was freed.
func (o *Object) Retain() {
	for {
		n := o.refs.Load()
		if n <= 0 {
			panic(fmt.Sprintf("submit: object retained with %d references: it was freed", n))
		}
		if o.refs.CompareAndSwap(n, n+1) {
			return
		}
	}
}

// Release gives a reference back, the last one frees. It panics if there was none.
func (o *Object) Release() {
	switch n := o.refs.Add(-1); {
	case n < 0:
		panic(fmt.Sprintf("submit: object released with %d references", n+1))
	case n == 0 && o.freed != nil:
		o.freed()
	}
}
