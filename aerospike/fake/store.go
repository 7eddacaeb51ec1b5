package fake

import (
	"errors"
	"fmt"
	"sync"

	"latlab.example/aerospike/wire"
)

// Bin is a named value of a record.
type Bin struct {
	Name  string
	Value any // what wire.AppendValue takes
}

// Errors of Put. They come wrapped with the name.
var (
	// ErrNamespace occurs when a cluster has no namespace of that name.
	ErrNamespace = errors.New("no such namespace")
	// ErrBinName occurs when a bin's name has more than 15 bytes.
	ErrBinName = errors.New("a bin's name has up to 15 bytes")
)

// Bounds, so that a client can't fill memory with what a small request asks for
// over and over. What is beyond is answered with wire.TooBig.
const (
	maxName  = 15        // bytes, of a bin; a server's
	maxBins  = 1<<15 - 1 // of a record; a server's
	maxReply = 64 << 20  // bytes, of a request's whole reply
)

type id struct {
	namespace int
	digest    wire.Digest
}

// record is never changed: a write puts another one in its place.
type record struct {
	generation uint32
	ttl        uint32
	bins       wire.Ops // as a read of all bins answers
}

// store is all records of a cluster.
type store struct {
	namespaces map[string]int // fixed

	mu      sync.RWMutex
	records map[id]*record // guarded by mu
}

func (s *store) init(namespaces []string) {
	s.namespaces, s.records = map[string]int{}, map[id]*record{}
	for i, ns := range namespaces {
		s.namespaces[ns] = i
	}
}

func (s *store) load(namespace string, d wire.Digest, bins []Bin) error {
	ns, ok := s.namespaces[namespace]
	if !ok {
		return fmt.Errorf("fake: %w: %q", ErrNamespace, namespace)
	}
	r := &record{generation: 1}
	for _, b := range bins {
		if b.Value == nil {
			continue
		}
		if len(b.Name) > maxName {
			return fmt.Errorf("fake: bin %q: %w", b.Name, ErrBinName)
		}
		p, value, err := wire.AppendValue(nil, b.Value)
		if err != nil {
			return fmt.Errorf("fake: bin %q: %w", b.Name, err)
		}
		r.bins = r.bins.Append(wire.Op{Do: wire.OpRead, Type: p, Name: []byte(b.Name), Value: value})
	}
	s.mu.Lock()
	s.records[id{ns, d}] = r
	s.mu.Unlock()
	return nil
}

// ask is what one key's request wants done, however it came.
type ask struct {
	namespace           int
	digest              wire.Digest
	info1, info2, info3 uint8
	generation          uint32
	ttl                 uint32
	ops                 wire.Ops
}

// answer is what became of it. Its bins may lie in the scratch that was given.
type answer struct {
	code       uint8
	generation uint32
	ttl        uint32
	bins       wire.Ops
}

// Operations beside reads and writes that the client sends for what is served.
const opDelete = 14

// do serves one key. hidden says that reads don't find the record.
func (s *store) do(a *ask, hidden bool, scratch *[]byte) answer {
	if a.info2&wire.Write != 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.write(a, scratch)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read(a, hidden, scratch)
}

// read needs mu, for reading.
func (s *store) read(a *ask, hidden bool, scratch *[]byte) answer {
	r := s.records[id{a.namespace, a.digest}]
	if r == nil || hidden {
		return answer{code: wire.NotFound}
	}
	ans := answer{generation: r.generation, ttl: r.ttl}
	switch {
	case a.info1&wire.NoBinData != 0:
	case a.info1&wire.GetAll != 0:
		ans.bins = r.bins
	default:
		ans.bins, ans.code = results(a, r, scratch)
	}
	return ans
}

// results answers operation by operation.
func results(a *ask, r *record, scratch *[]byte) (wire.Ops, uint8) {
	from, count := len(*scratch), 0
	add := func(o wire.Op) { *scratch, count = wire.AppendOp(*scratch, o), count+1 }
	ops := a.ops
	for o, ok := ops.Next(); ok; o, ok = ops.Next() {
		switch {
		case len(*scratch) > maxReply:
			return wire.Ops{}, wire.TooBig
		case o.Do == wire.OpRead && len(o.Name) == 0:
			if a.info1&wire.GetAll != 0 {
				*scratch, count = append(*scratch, r.bins.Data...), count+r.bins.Count
			}
		case o.Do == wire.OpRead:
			if bin, found := r.bins.Find(string(o.Name)); found {
				add(bin)
			}
		case o.Do == wire.OpWrite || o.Do == opDelete:
			if a.info2&wire.RespondAll != 0 {
				add(wire.Op{Do: o.Do, Name: o.Name})
			}
		default:
			return wire.Ops{}, wire.ParameterError
		}
	}
	return wire.Ops{Count: count, Data: (*scratch)[from:]}, wire.OK
}

// write needs mu.
func (s *store) write(a *ask, scratch *[]byte) answer {
	key := id{a.namespace, a.digest}
	was := s.records[key]
	next, del := &record{generation: 1, ttl: expiry(a.ttl)}, a.info2&wire.Delete != 0
	if was != nil {
		next.generation = was.generation + 1
		if a.info3&wire.Replace == 0 {
			next.bins = wire.Ops{Count: was.bins.Count, Data: was.bins.Data[:len(was.bins.Data):len(was.bins.Data)]}
		}
	}
	switch {
	case was == nil && (del || a.info3&wire.UpdateOnly != 0):
		return answer{code: wire.NotFound}
	case was != nil && a.info2&wire.CreateOnly != 0:
		return answer{code: wire.KeyExists}
	case a.info2&wire.Generation != 0 && (was == nil || was.generation != a.generation):
		return answer{code: wire.GenerationError}
	}
	ops := a.ops
	for o, ok := ops.Next(); ok; o, ok = ops.Next() {
		switch o.Do {
		case wire.OpWrite:
			if next.bins = set(next.bins, o); next.bins.Count > maxBins {
				return answer{code: wire.TooBig}
			}
		case opDelete:
			del = true
		}
	}
	bins, code := results(a, next, scratch)
	if code != wire.OK {
		return answer{code: code}
	}
	if del || next.bins.Count == 0 {
		delete(s.records, key)
	} else {
		s.records[key] = next
	}
	return answer{generation: next.generation, ttl: next.ttl, bins: bins}
}

// set is bins with one written; writing null takes it away.
func set(bins wire.Ops, w wire.Op) (out wire.Ops) {
	if _, there := bins.Find(string(w.Name)); !there && w.Type != wire.Null {
		w.Do = wire.OpRead
		return bins.Append(w)
	}
	for o, ok := bins.Next(); ok; o, ok = bins.Next() {
		if string(o.Name) != string(w.Name) {
			out = out.Append(o)
		}
	}
	if w.Type != wire.Null {
		w.Do = wire.OpRead
		out = out.Append(w)
	}
	return out
}
