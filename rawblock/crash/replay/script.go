package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

const (
	block   = 512
	slots   = 4
	payload = 1100
)

// keys that a workload uses: more than there are slots.
var keys = func() (k []rawblock.Key) {
	for i := range 6 {
		k = append(k, rawblock.KeyOf(fmt.Sprint(i)))
	}
	return k
}()

// setting is how a store is opened.
type setting struct {
	mode     rawblock.Durability
	layout   rawblock.Layout
	strategy rawblock.Strategy
	chunk    int
	verify   bool
	faults   bool // the device has some
	unit     int  // that a crash doesn't tear; the block if zero
}

func (s setting) options() rawblock.Options {
	return rawblock.Options{Durability: s.mode, Strategy: s.strategy, Chunk: s.chunk, Verify: s.verify, Placement: rawblock.Contiguous}
}

// script drives a store and notes all facts. It is deterministic.
type script struct {
	ctx    context.Context
	wrong  error // the first that the store said about itself and isn't so
	rec    *crash.Recorder
	store  *rawblock.Store
	oracle *oracle // of now
	begin  *oracle // of the start
	facts  []fact
}

// format is the image of an empty store.
func format(ctx context.Context, l rawblock.Layout) ([]byte, error) {
	rec, err := crash.NewRecorder(make([]byte, rawblock.SizeFor(slots, payload, l, block)), block, nil)
	if err != nil {
		return nil, err
	}
	if err := rawblock.Format(ctx, rec, rawblock.Options{Payload: payload, Layout: l}); err != nil {
		return nil, err
	}
	return rec.Image(), nil
}

// newScript opens a store on an image, of which the oracle knows all.
func newScript(ctx context.Context, image []byte, s setting, o *oracle, faults string) (*script, error) {
	schedule, err := emu.ParseFaults(faults)
	if err != nil {
		return nil, err
	}
	rec, err := crash.NewRecorder(image, block, schedule)
	if err != nil {
		return nil, err
	}
	if s.unit > 0 {
		rec.TearAt(s.unit)
	}
	store, err := rawblock.Open(ctx, rec, s.options())
	if err != nil {
		return nil, err
	}
	return &script{ctx: ctx, rec: rec, store: store, oracle: o.clone(), begin: o}, nil
}

// found keeps the first of what is wrong.
func (s *script) found(err error) {
	if s.wrong == nil {
		s.wrong = err
	}
}

func (s *script) note(text string, apply func(*oracle)) {
	apply(s.oracle)
	s.facts = append(s.facts, fact{s.rec.Len(), apply, text})
}

// object makes an object that no other attempt has. Its length is odd on purpose.
func (s *script) object(n int) []byte {
	b := bytes.Repeat([]byte{byte(len(s.oracle.attempts) + 1)}, n)
	if n >= 8 {
		binary.LittleEndian.PutUint64(b, uint64(len(s.oracle.attempts))+1)
	}
	return b
}

// put puts objects of so many bytes, each key by itself or all or nothing.
func (s *script) put(each bool, lengths map[int]int, order ...int) {
	var ks []rawblock.Key
	var objects [][]byte
	var numbers []int // of attempts; -1 if the key isn't to be written
	for _, i := range order {
		k := keys[i]
		number := -1
		busy := s.store.Has(k)
		for _, a := range s.oracle.attempts {
			busy = busy || a.key == k && a.running
		}
		object := s.object(lengths[i])
		if !busy {
			number = len(s.oracle.attempts)
			s.note(fmt.Sprintf("put of key %d starts: %d bytes, attempt %d", i, len(object), number),
				func(o *oracle) { o.start(attempt{key: k, object: object}) })
		}
		ks, objects, numbers = append(ks, k), append(objects, object), append(numbers, number)
	}
	var errs []error
	if each {
		errs = s.store.PutEach(s.ctx, ks, objects)
	} else {
		_, err := s.store.PutMany(s.ctx, ks, objects)
		for _, k := range ks {
			e := err
			if s.store.Has(k) {
				e = nil // a chunk of its own
			} else if e == nil {
				e = rawblock.ErrDeleted
			}
			errs = append(errs, e)
		}
	}
	for n, number := range numbers {
		if number < 0 {
			continue
		}
		err := errs[n]
		if err == nil && !s.store.Has(ks[n]) {
			s.found(fmt.Errorf("attempt %d: reported stored, and isn't", number))
		}
		s.note(fmt.Sprintf("attempt %d ends: %v", number, err), func(o *oracle) { o.end(number, err) })
	}
}

func (s *script) delete(i int) {
	err := s.store.Delete(keys[i])
	if err != nil && !errors.Is(err, rawblock.ErrNotFound) {
		s.found(err)
	}
	if err == nil {
		s.note(fmt.Sprintf("key %d deleted", i), func(o *oracle) { o.delete(keys[i]) })
	}
}

func (s *script) sync() {
	var settle func(*oracle)
	s.note("sync starts", func(o *oracle) { settle = o.syncing() })
	err := s.store.Sync(s.ctx)
	if err != nil {
		s.note(fmt.Sprintf("sync fails: %v", err), func(*oracle) {})
		return
	}
	// The facts are replayed: what settles is of the oracle that replays.
	done := settle
	s.note("sync ends", func(o *oracle) { done(o) })
}

// random does so many steps, some of them while a write is under way.
func (s *script) random(r *rand.Rand, steps int) {
	lengths := map[int]int{}
	for range steps {
		for i := range keys {
			lengths[i] = []int{3, 64, 448, 449, 700, payload}[r.IntN(6)]
		}
		switch r.IntN(8) {
		case 0, 1:
			s.delete(r.IntN(len(keys)))
		case 2:
			s.sync()
		default:
			perm := r.Perm(len(keys))
			order, others := perm[:1+r.IntN(3)], perm[3:]
			var inner func()
			cancel := func() { s.delete(order[0]) }
			if s.store.Has(keys[order[0]]) {
				cancel = func() {} // a strategy that goes key by key might write it again, or not
			}
			switch r.IntN(8) {
			case 0, 1:
				inner = cancel
			case 2:
				inner = s.sync
			case 3:
				inner = func() { cancel(); s.sync() }
			case 4:
				inner = func() { s.delete(others[0]); s.put(false, lengths, others[0], others[1]) }
			}
			s.rec.Hook(inner)
			s.put(r.IntN(2) == 0, lengths, order...)
			s.rec.Hook(nil)
		}
	}
}
