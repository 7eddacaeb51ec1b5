// Package replay makes up what users may do to a store, crashes its device at
// every moment, and knows what must be found and what may be.
//
//  1. A script drives a store on a [crash.Recorder], and notes what its user was
//     told: a put that returned, a Delete, a Sync.
//  2. An oracle turns these facts into what a key must hold after a crash, or may.
//  3. [Checker.Random] makes up scripts by seed; a [Checker] holds the two against
//     each other in each state that a crash may leave.
package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"

	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

// Checker crashes scripts and counts the states that it has looked at.
//
// One goroutine at a time uses it.
type Checker struct {
	Histories, Again int // histories so far, and of which went on after a crash
	States           int // looked at, distinct: content of the device, and what had been promised
	Used             int // of which were filled and used on

	seen map[uint64]bool
	hash maphash.Seed
}

// New makes a Checker that has seen nothing.
func New() *Checker { return &Checker{seen: map[uint64]bool{}, hash: maphash.MakeSeed()} }

// script looks at every moment of a script, at limit states each, and returns
// some of them with what was found.
func (c *Checker) script(s *script, set setting, limit int, seed uint64) (last []recovered, _ error) {
	if s.wrong != nil {
		return nil, fmt.Errorf("%+v: %w\n%s%s", set, s.wrong, story(s.facts), s.rec.History())
	}
	now := s.begin.clone()
	from := 0
	for f := 0; f <= len(s.facts); f++ {
		to := s.rec.Len()
		if f < len(s.facts) {
			to = s.facts[f].at
		}
		promise := now.String()
		for n := from; n <= to; n++ {
			states := s.rec.After(n)
			for x := range states.All(limit, seed+uint64(n)) {
				var h maphash.Hash
				h.SetSeed(c.hash)
				_, _ = h.WriteString(promise)
				_, _ = h.Write(x.Image)
				if sum := h.Sum64(); c.seen[sum] {
					continue
				} else {
					c.seen[sum] = true
				}
				c.States++
				found, unreadable, err := c.state(s.ctx, x.Image, set, now)
				if err != nil {
					return nil, fmt.Errorf("%+v, crash after %d events and %d facts: %w\n%s%s%s", set, n, f, err, states.Describe(x), story(s.facts), s.rec.History())
				}
				if last = append(last, recovered{x.Image, now.crashed(found, unreadable)}); len(last) > 8 {
					last = last[1:]
				}
			}
		}
		if f < len(s.facts) {
			s.facts[f].apply(now)
			from = s.facts[f].at
		}
	}
	return last, nil
}

// recovered is a device after a crash and what is on it.
type recovered struct {
	image  []byte
	oracle *oracle
}

func story(facts []fact) string {
	var b strings.Builder
	for i, f := range facts {
		fmt.Fprintf(&b, "fact %d, after %d events: %s\n", i, f.at, f.text)
	}
	return b.String()
}

// state recovers from one state and compares with what the oracle expects.
func (c *Checker) state(ctx context.Context, image []byte, set setting, o *oracle) (found map[rawblock.Key][]byte, unreadable map[rawblock.Key]bool, err error) {
	rec, err := crash.NewRecorder(image, block, nil)
	if err != nil {
		return nil, nil, err
	}
	s, err := rawblock.Open(ctx, rec, set.options())
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if e := s.Close(); err == nil && !errors.Is(e, rawblock.ErrClosed) {
			err = e
		}
	}()
	if r := s.Recovery(); r.Damaged > 0 || r.Torn > 0 && set.mode == rawblock.Ordered && o.deletes == 0 && !set.faults && set.unit == 0 {
		return nil, nil, fmt.Errorf("recovery: %+v", r)
	}
	found, unreadable, err = contents(ctx, s, set, o)
	if err != nil {
		return nil, nil, err
	}
	st := s.Stats()
	if st.Free+st.Stored != slots || st.Stored != len(found)+len(unreadable) || st.InFlight != 0 || rec.Len() != 0 {
		return nil, nil, fmt.Errorf("%+v, %d keys found, %d events: slots were lost, or Open wrote", st, len(found)+len(unreadable), rec.Len())
	}
	if c.States%16 == 0 {
		c.Used++
		return found, unreadable, useOn(ctx, s, rec, set, found, len(unreadable))
	}
	return found, unreadable, nil
}

// contents reads every key and says which are there.
func contents(ctx context.Context, s *rawblock.Store, set setting, o *oracle) (found map[rawblock.Key][]byte, unreadable map[rawblock.Key]bool, err error) {
	found, unreadable = map[rawblock.Key][]byte{}, map[rawblock.Key]bool{}
	for i, k := range keys {
		e := o.expect(k)
		got, err := s.Get(ctx, k, nil)
		switch {
		case errors.Is(err, rawblock.ErrNotFound):
			if e.must != nil {
				return nil, nil, fmt.Errorf("key %d is lost: %d bytes were promised", i, len(e.must))
			}
		case errors.Is(err, rawblock.ErrChecksum) && e.damaged && e.must == nil && !set.verify:
			unreadable[k] = true
		case err != nil:
			return nil, nil, fmt.Errorf("key %d: %w", i, err)
		default:
			if e.must != nil && !bytes.Equal(got, e.must) {
				return nil, nil, fmt.Errorf("key %d: %d wrong bytes, %d were promised", i, len(got), len(e.must))
			}
			known := false
			for _, object := range e.may {
				known = known || bytes.Equal(got, object)
			}
			if !known {
				return nil, nil, fmt.Errorf("key %d: %d bytes that it can't have: %x", i, len(got), got[:min(16, len(got))])
			}
			found[k] = got
		}
	}
	return found, unreadable, nil
}

// useOn fills a recovered store and deletes from it, closes it and opens it again.
func useOn(ctx context.Context, s *rawblock.Store, rec *crash.Recorder, set setting, found map[rawblock.Key][]byte, unreadable int) error {
	want := map[rawblock.Key][]byte{}
	for k, object := range found {
		if len(want) == 0 && len(found) > 1 {
			want[k] = nil // is deleted
			if err := s.Delete(k); err != nil {
				return err
			}
			continue
		}
		want[k] = object
	}
	free := s.Stats().Free
	for n := range free + 1 {
		k, object := rawblock.KeyOf(fmt.Sprint("new ", n)), bytes.Repeat([]byte{200 + byte(n)}, payload-n)
		err := s.Put(ctx, k, object)
		if full := errors.Is(err, rawblock.ErrFull); full != (n == free) || err != nil && !full {
			return fmt.Errorf("put %d of %d into what is free: %w", n, free, err)
		}
		if n < free {
			want[k] = object
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	again, err := rawblock.Open(ctx, rec, set.options())
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	for k, object := range want {
		got, err := again.Get(ctx, k, nil)
		if object == nil && errors.Is(err, rawblock.ErrNotFound) {
			continue
		}
		if err != nil || object == nil || !bytes.Equal(got, object) {
			return fmt.Errorf("after more use: key %v: %d bytes, %w", k, len(got), err)
		}
	}
	if st := again.Stats(); st.Stored+st.Free != slots || st.Free != 0 && unreadable == 0 {
		return fmt.Errorf("after more use: %+v", st)
	}
	return again.Close()
}

// settings are all ways to open a store that matter after a crash.
func settings() (all []setting) {
	for _, mode := range rawblock.DurabilityToggle.Levels() {
		for _, layout := range rawblock.LayoutToggle.Levels() {
			for _, strategy := range []rawblock.Strategy{rawblock.Batch, rawblock.Sequential} {
				for _, verify := range []bool{false, true} {
					all = append(all, setting{mode: mode, layout: layout, strategy: strategy, verify: verify})
				}
			}
		}
	}
	return all
}

// Random makes up a history, with faults at times, crashes it at every moment,
// and goes on from a state after a crash: what may be left is drawn where there
// is too much of it. A seed has the same history each time. An error says what
// the store lost, mixed up or made up, and how it came to that.
func (c *Checker) Random(ctx context.Context, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	all := settings()
	set := all[r.IntN(len(all))]
	set.chunk = r.IntN(3)
	faults := []string{"", "", fmt.Sprintf("write:error@p(0.1,seed=%d)", seed), fmt.Sprintf("flush:error@p(0.1,seed=%d)", seed)}[r.IntN(4)]
	set.faults = faults != ""
	set.unit = []int{0, 0, 0, block / 4}[r.IntN(4)]
	image, err := format(ctx, set.layout)
	if err != nil {
		return err
	}
	o := &oracle{mode: set.mode}
	for life := range 2 {
		s, err := newScript(ctx, image, set, o, faults)
		if err != nil {
			return err
		}
		s.random(r, 3+r.IntN(6))
		ends, err := c.script(s, set, 12, seed)
		if cerr := s.store.Close(); cerr != nil && faults == "" {
			err = errors.Join(err, cerr)
		}
		if err != nil {
			return err
		}
		c.Histories++
		c.Again += life
		if len(ends) == 0 {
			break
		}
		end := ends[r.IntN(len(ends))]
		image, o = end.image, end.oracle
	}
	return nil
}
