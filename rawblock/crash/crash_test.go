package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// number reads an environment variable.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q: it must be a number", name, text)
	}
	return n
}

// checker crashes scripts and counts the states that it has looked at.
type checker struct {
	t      *testing.T
	seen   map[uint64]bool
	hash   maphash.Seed
	states int // distinct: content of the device, and what had been promised
	used   int // of which were filled and used on
}

func newChecker(t *testing.T) *checker {
	return &checker{t: t, seen: map[uint64]bool{}, hash: maphash.MakeSeed()}
}

// script looks at every moment of a script, at limit states each, and returns
// some of them with what was found.
func (c *checker) script(s *script, set setting, limit int, seed uint64) (last []recovered) {
	c.t.Helper()
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
				c.states++
				found, unreadable, err := c.state(x.Image, set, now)
				if err != nil {
					c.t.Errorf("%+v, crash after %d events and %d facts: %v\n%s%s%s", set, n, f, err, states.Describe(x), story(s.facts), s.rec.History())
					return nil
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
	return last
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
func (c *checker) state(image []byte, set setting, o *oracle) (found map[rawblock.Key][]byte, unreadable map[rawblock.Key]bool, err error) {
	rec, err := crash.NewRecorder(image, block, nil)
	if err != nil {
		return nil, nil, err
	}
	s, err := rawblock.Open(context.Background(), rec, set.options())
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
	found, unreadable, err = contents(s, set, o)
	if err != nil {
		return nil, nil, err
	}
	st := s.Stats()
	if st.Free+st.Stored != slots || st.Stored != len(found)+len(unreadable) || st.InFlight != 0 || rec.Len() != 0 {
		return nil, nil, fmt.Errorf("%+v, %d keys found, %d events: slots were lost, or Open wrote", st, len(found)+len(unreadable), rec.Len())
	}
	if c.states%16 == 0 {
		c.used++
		return found, unreadable, useOn(s, rec, set, found, len(unreadable))
	}
	return found, unreadable, nil
}

// contents reads every key and says which are there.
func contents(s *rawblock.Store, set setting, o *oracle) (found map[rawblock.Key][]byte, unreadable map[rawblock.Key]bool, err error) {
	found, unreadable = map[rawblock.Key][]byte{}, map[rawblock.Key]bool{}
	for i, k := range keys {
		e := o.expect(k)
		got, err := s.Get(context.Background(), k, nil)
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
func useOn(s *rawblock.Store, rec *crash.Recorder, set setting, found map[rawblock.Key][]byte, unreadable int) error {
	ctx := context.Background()
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

// Short histories: every state after a crash at any moment.
func TestEveryStateOfShortHistories(t *testing.T) {
	const all = 1 << 13 // states of a moment
	long := map[int]int{0: 700, 1: 448, 2: 3, 3: payload, 4: 64}
	scripts := map[string]func(*script){
		"one put":      func(s *script) { s.put(false, long, 0) },
		"a batch":      func(s *script) { s.put(false, long, 0, 1, 2) },
		"put, delete":  func(s *script) { s.put(false, long, 0); s.delete(0) },
		"sync, delete": func(s *script) { s.put(false, long, 0, 1); s.sync(); s.delete(0) },
		"delete, sync": func(s *script) { s.put(false, long, 0, 1); s.delete(0); s.sync() },
		"put, sync, sync": func(s *script) {
			s.put(false, long, 0)
			s.sync()
			s.delete(0)
			s.sync()
			s.put(false, long, 0)
			s.sync()
		},
		"put again":         func(s *script) { s.put(false, long, 0); s.delete(0); s.put(false, long, 0) },
		"a slot used again": func(s *script) { s.put(false, long, 0, 1, 2, 4); s.sync(); s.delete(0); s.put(false, long, 3) },
		"sync in a put":     func(s *script) { s.rec.Hook(s.sync); s.put(false, long, 0, 1) },
		"sync of another":   func(s *script) { s.put(false, long, 2); s.rec.Hook(s.sync); s.put(false, long, 0, 1) },
		"delete in a put":   func(s *script) { s.rec.Hook(func() { s.delete(0) }); s.put(false, long, 0, 1) },
		"cancel, sync, reuse": func(s *script) {
			s.put(false, long, 2)
			s.rec.Hook(func() { s.delete(0); s.sync() })
			s.put(false, long, 0)
			s.put(false, long, 1)
		},
	}
	c := newChecker(t)
	for name, f := range scripts {
		for _, set := range settings() {
			t.Run(fmt.Sprintf("%s/%s,%s,%s,verify=%v", name, set.mode, set.layout, set.strategy, set.verify), func(t *testing.T) {
				c.t = t
				s := newScript(t, format(t, set.layout), set, &oracle{mode: set.mode}, "")
				f(s)
				for n := range s.rec.Len() {
					if count := s.rec.After(n).Count(); count > all {
						t.Fatalf("%d states after %d events: not a short history", count, n)
					}
				}
				c.script(s, set, all, 0)
				if err := s.store.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	t.Logf("%d states of %d scripts in %d settings, %d of them used on", c.states, len(scripts), len(settings()), c.used)
}

// Random histories, some of them with faults, and every second one going on from
// a state after a crash of the one before: states are drawn where there are too
// many.
func TestRandomHistories(t *testing.T) {
	target := number(t, "LATLAB_CRASH_STATES", 20_000)
	first := number(t, "LATLAB_CRASH_SEED", 1)
	c := newChecker(t)
	all := settings()
	histories, again := 0, 0
	for seed := first; c.states < target && !t.Failed(); seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		set := all[r.IntN(len(all))]
		set.chunk = r.IntN(3)
		faults := []string{"", "", fmt.Sprintf("write:error@p(0.1,seed=%d)", seed), fmt.Sprintf("flush:error@p(0.1,seed=%d)", seed)}[r.IntN(4)]
		set.faults = faults != ""
		set.unit = []int{0, 0, 0, block / 4}[r.IntN(4)]
		image, o := format(t, set.layout), &oracle{mode: set.mode}
		for life := range 2 {
			s := newScript(t, image, set, o, faults)
			s.random(r, 3+r.IntN(6))
			ends := c.script(s, set, 12, uint64(seed))
			if err := s.store.Close(); err != nil && faults == "" {
				t.Error(err)
			}
			histories++
			again += life
			if len(ends) == 0 {
				break
			}
			end := ends[r.IntN(len(ends))]
			image, o = end.image, end.oracle
		}
		if t.Failed() {
			t.Errorf("LATLAB_CRASH_SEED=%d replays it", seed)
		}
	}
	if c.states < target || c.used == 0 || again == 0 {
		t.Errorf("%d states of %d, %d used on, %d second lives", c.states, target, c.used, again)
	}
	t.Logf("%d states of %d histories from seed %d on, %d histories after a crash, %d states used on", c.states, histories, first, again, c.used)
}

// A checkpoint of several blocks may be torn: then the one before counts.
func TestTornCheckpoint(t *testing.T) {
	const n = 40
	o := rawblock.Options{Payload: 400, Layout: rawblock.Aligned, Strategy: rawblock.Batch}
	rec, err := crash.NewRecorder(formatted(t, n, o), block, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rawblock.Open(t.Context(), rec, o)
	if err != nil {
		t.Fatal(err)
	}
	ks, objects := batchOf(0, n, rand.New(rand.NewPCG(1, 2)))
	for i := range objects {
		objects[i] = objects[i][:min(len(objects[i]), 400)]
	}
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = s.PutMany(t.Context(), ks, objects)
	do("put", err)
	do("sync", s.Sync(t.Context()))
	first := rec.Len()
	var after []int // events until the Sync of each round had ended
	const rounds = 4
	for round := range rounds {
		do("delete", s.Delete(ks[round]))
		do("sync", s.Sync(t.Context()))
		after = append(after, rec.Len())
	}
	torn, states := 0, 0
	for at := first; at <= rec.Len(); at++ {
		for x := range rec.After(at).All(1<<10, 0) {
			states++
			device, err := crash.NewRecorder(x.Image, block, nil)
			do("device", err)
			again, err := rawblock.Open(t.Context(), device, o)
			do("open", err)
			if again.Recovery().Rejected > 0 {
				torn++
			}
			for i, k := range ks {
				got, err := again.Get(t.Context(), k, nil)
				gone := i < rounds && at >= after[i]
				switch {
				case gone && !errors.Is(err, rawblock.ErrNotFound):
					t.Errorf("after %d events: key %d was deleted and is back: %v\n%s", at, i, err, rec.History())
				case i >= rounds && (err != nil || !bytes.Equal(got, objects[i])):
					t.Errorf("after %d events: key %d: %d bytes, %v\n%s", at, i, len(got), err, rec.History())
				}
			}
			do("close", again.Close())
			if t.Failed() {
				return
			}
		}
	}
	do("close", s.Close())
	if torn == 0 {
		t.Errorf("no checkpoint was torn in %d states", states)
	}
	t.Logf("%d states, %d with a torn checkpoint", states, torn)
}

// A program that dies leaves keys in the device's cache. Open finds them, and the
// next Sync makes them durable even though the program changed nothing.
func TestSyncAfterAKilledProgram(t *testing.T) {
	o := rawblock.Options{Payload: payload, Strategy: rawblock.Batch}
	rec, err := crash.NewRecorder(formatted(t, slots, o), block, nil)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := rawblock.Open(t.Context(), rec, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Put(t.Context(), keys[0], []byte("precious")); err != nil {
		t.Fatal(err)
	}
	s, err := rawblock.Open(t.Context(), rec, o)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Recovery(); r != (rawblock.Recovery{Newer: 1}) {
		t.Errorf("%+v, want one newer key", r)
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := rec.Len()
	for x := range rec.After(n).All(1<<10, 0) {
		if err := readBack(t, x.Image, slots, o, map[rawblock.Key][]byte{keys[0]: []byte("precious")}); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(s.Close(), killed.Close()); err != nil {
		t.Error(err)
	}
}

// A crash in Format leaves the store that was there, or an empty one.
func TestFormatIsAllOrNothing(t *testing.T) {
	o := rawblock.Options{Payload: payload, Layout: rawblock.Aligned}
	rec, err := crash.NewRecorder(formatted(t, slots, o), block, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rawblock.Open(t.Context(), rec, o)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[rawblock.Key][]byte{keys[0]: []byte("old")}
	if err := errors.Join(s.Put(t.Context(), keys[0], stored[keys[0]]), s.Close()); err != nil {
		t.Fatal(err)
	}
	before := rec.Len()
	if err := rawblock.Format(t.Context(), rec, o); err != nil {
		t.Fatal(err)
	}
	old, empty := 0, 0
	for n := before; n <= rec.Len(); n++ {
		for x := range rec.After(n).All(1<<10, 0) {
			if readBack(t, x.Image, slots, o, stored) == nil {
				old++
				continue
			}
			device, err := crash.NewRecorder(x.Image, block, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := rawblock.Open(t.Context(), device, o)
			if err != nil {
				t.Fatalf("after %d events: %v", n, err)
			}
			if st := s.Stats(); st.Free != slots {
				t.Errorf("after %d events: %+v, neither the old store nor an empty one", n, st)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			empty++
		}
	}
	if old == 0 || empty == 0 {
		t.Errorf("%d times the old store, %d times an empty one; both must come up", old, empty)
	}
}
