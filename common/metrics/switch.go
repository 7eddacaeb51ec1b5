package metrics

import (
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// EnvStages is the environment variable that gives a [Recorder] its first
// state: on for 1, true, yes and on, in any case; off for anything else.
const EnvStages = "LATLAB_STAGES"

func envOn() bool {
	switch strings.ToLower(strings.TrimSpace(os.Getenv(EnvStages))) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// onOff is a switch with scopes. Readers load on; all else is worked out by
// the writers, which are rare.
type onOff struct {
	on atomic.Bool // what counts: the last scope in scopes, else base

	mu     sync.Mutex
	base   bool     // guarded by mu: what the environment or SetOn said
	scopes []*Scope // guarded by mu: open scopes, in the order of their opening
}

// settle works out on again. The caller holds mu.
func (o *onOff) settle() {
	on := o.base
	if n := len(o.scopes); n > 0 {
		on = o.scopes[n-1].on
	}
	o.on.Store(on)
}

func (o *onOff) turn(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.base = on
	o.settle()
}

func (o *onOff) open(on bool) *Scope {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &Scope{of: o, on: on}
	o.scopes = append(o.scopes, s)
	o.settle()
	return s
}

// Scope holds a [Recorder] on or off until Close.
type Scope struct {
	of *onOff
	on bool
}

// Close ends the scope. Scopes may be closed in any order, by any goroutine,
// and more than once; only the first Close counts.
func (s *Scope) Close() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if i := slices.Index(s.of.scopes, s); i >= 0 {
		s.of.scopes = slices.Delete(s.of.scopes, i, i+1)
		s.of.settle()
	}
}
