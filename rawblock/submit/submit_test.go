package submit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/quick"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"latlab.example/rawblock"
	"latlab.example/rawblock/submit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store that counts how often PutMany was called for each key.
type memory struct {
	gate chan struct{} // if not nil, each PutMany waits for a message, or for it to be closed

	mu     sync.Mutex // guards what follows
	stored map[rawblock.Key]string
	puts   map[rawblock.Key]int
	fails  func() bool // decides whether a PutMany fails; may be nil
}

func newMemory() *memory {
	return &memory{stored: make(map[rawblock.Key]string), puts: make(map[rawblock.Key]int)}
}

var errDevice = errors.New("device broke")

func (m *memory) Has(k rawblock.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.stored[k]
	return ok
}

func (m *memory) PutMany(_ context.Context, keys []rawblock.Key, objects [][]byte) (res rawblock.PutResult, err error) {
	if m.gate != nil {
		<-m.gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		m.puts[k]++
	}
	if m.fails != nil && m.fails() {
		return res, errDevice
	}
	for i, k := range keys {
		if _, ok := m.stored[k]; ok {
			res.Present++
			continue
		}
		m.stored[k] = string(objects[i])
		res.Written++
	}
	return res, nil
}

// broken is a Starter that can't start anything.
type broken struct{}

var errNoLoop = errors.New("no event loop")

func (broken) Start(func()) error { return errNoLoop }

func open(t testing.TB, store submit.Store, o submit.Options) *submit.Submitter {
	t.Helper()
	s, err := submit.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, submit.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// some makes n keys and their objects, numbered from.
func some(from, n int) (keys []rawblock.Key, objects []*submit.Object) {
	for i := from; i < from+n; i++ {
		name := fmt.Sprint("object ", i)
		keys = append(keys, rawblock.KeyOf(name))
		objects = append(objects, submit.NewObject([]byte(name), nil))
	}
	return keys, objects
}

func wantRefs(t *testing.T, when string, objects []*submit.Object, want ...int64) {
	t.Helper()
	var got []int64
	for _, o := range objects {
		got = append(got, o.Refs())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: references %v, want %v", when, got, want)
	}
}

func TestSubmitStoresInTheBackground(t *testing.T) {
	m := newMemory()
	m.gate = make(chan struct{})
	var outcome submit.Outcome
	s := open(t, m, submit.Options{Done: func(o submit.Outcome) { outcome = o }})
	keys, objects := some(0, 3)
	freed := 0
	objects[0] = submit.NewObject([]byte("object 0"), func() { freed++ })
	res, err := s.Submit(t.Context(), keys, objects)
	if err != nil || res != (submit.Result{Accepted: 3}) {
		t.Errorf("%+v, %v; want 3 accepted", res, err)
	}
	wantRefs(t, "under way", objects, 2, 2, 2)
	objects[0].Release() // the caller goes on
	if freed != 0 || m.Has(keys[0]) {
		t.Errorf("freed %d times, stored: %v, while the task waits", freed, m.Has(keys[0]))
	}
	close(m.gate)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, "stored", objects, 0, 1, 1)
	if freed != 1 || m.stored[keys[0]] != "object 0" || len(m.stored) != 3 {
		t.Errorf("freed %d times, stored %q", freed, m.stored)
	}
	if outcome.Err != nil || outcome.Result.Written != 3 || !slices.Equal(outcome.Keys, keys) {
		t.Errorf("outcome %+v", outcome)
	}
	if got, want := s.Stats(), (submit.Stats{Accepted: 3, Stored: 3}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// Stored keys, registered keys and doubles of one call are known, and their
// objects are left alone.
func TestKnownKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		keys, objects := some(0, 4)
		m.stored[keys[0]] = "before"
		m.gate = make(chan struct{})
		s := open(t, m, submit.Options{})
		for i, test := range []struct {
			keys []int
			want submit.Result
		}{
			{[]int{0}, submit.Result{Known: 1}},
			{[]int{1}, submit.Result{Accepted: 1}},
			{[]int{1}, submit.Result{Known: 1}},
			{[]int{0, 1, 2, 2, 3}, submit.Result{Accepted: 2, Known: 3}},
			{nil, submit.Result{}},
		} {
			var ks []rawblock.Key
			var os []*submit.Object
			for _, k := range test.keys {
				ks, os = append(ks, keys[k]), append(os, objects[k])
			}
			if res, err := s.Submit(t.Context(), ks, os); err != nil || res != test.want {
				t.Errorf("submit %d: %+v, %v; want %+v", i, res, err, test.want)
			}
			synctest.Wait() // its task is in the store
		}
		wantRefs(t, "under way", objects, 1, 2, 2, 2)
		close(m.gate)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantRefs(t, "closed", objects, 1, 1, 1, 1)
		if got, want := s.Stats(), (submit.Stats{Accepted: 3, Known: 5, Stored: 3}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
	})
}

// The study's first fault. While one Submit is on its way to the lock, another
// one has the same key stored from beginning to end. Asked within the lock, the
// store knows the key; the answer from before the lock is out of date.
func TestDedupRace(t *testing.T) {
	for dedup, want := range map[submit.Dedup]struct {
		puts  int
		first submit.Result
		stats submit.Stats
	}{
		submit.Locked: {1, submit.Result{Known: 1}, submit.Stats{Accepted: 1, Known: 1, Stored: 1}},
		submit.Racy:   {2, submit.Result{Accepted: 1}, submit.Stats{Accepted: 2, Stored: 1, Duplicates: 1}},
	} {
		t.Run(string(dedup), func(t *testing.T) {
			m := newMemory()
			keys, objects := some(0, 1)
			var s *submit.Submitter
			stored := make(chan struct{}, 2)
			first := true
			s = open(t, m, submit.Options{
				Dedup: dedup,
				Done:  func(submit.Outcome) { stored <- struct{}{} },
				BeforeLock: func([]rawblock.Key) {
					if !first {
						return
					}
					first = false
					if res, err := s.Submit(t.Context(), keys, objects); err != nil || res.Accepted != 1 {
						t.Errorf("the other submit: %+v, %v", res, err)
					}
					<-stored
				},
			})
			if res, err := s.Submit(t.Context(), keys, objects); err != nil || res != want.first {
				t.Errorf("%+v, %v; want %+v", res, err, want.first)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := m.puts[keys[0]]; got != want.puts {
				t.Errorf("the store was asked to put the key %d times, want %d", got, want.puts)
			}
			if got := s.Stats(); got != want.stats {
				t.Errorf("stats %+v, want %+v", got, want.stats)
			}
			wantRefs(t, "closed", objects, 1)
		})
	}
}

// The study's second fault. A dispatch fails while another task is under way: what
// this Submit raised is taken back, also twice for an object under two keys, and
// what the other one raised is not.
func TestDispatchFailure(t *testing.T) {
	for dispatch, want := range map[submit.Dispatch]struct {
		refs  []int64
		again submit.Result
		stats submit.Stats
	}{
		submit.Undo: {
			[]int64{2, 1, 1},
			submit.Result{Accepted: 3, Known: 2},
			submit.Stats{Accepted: 1, Known: 2, Undone: 3, Registered: 1, Queued: 1},
		},
		submit.Leaky: {
			[]int64{2, 2, 3},
			submit.Result{Known: 5},
			submit.Stats{Accepted: 1, Known: 2, Leaked: 3, Registered: 4, Queued: 1},
		},
	} {
		t.Run(string(dispatch), func(t *testing.T) {
			m := newMemory()
			m.gate = make(chan struct{})
			loop := starter(t)
			s := open(t, m, submit.Options{Dispatch: dispatch, Starter: loop})
			keys, objects := some(0, 4)
			m.stored[keys[3]] = "before"
			if _, err := s.Submit(t.Context(), keys[:1], objects[:1]); err != nil {
				t.Fatal(err)
			}

			loop.broken = true
			// Keys: another's, two of this one, stored before, and the third object again.
			ks := append(slices.Clone(keys), rawblock.KeyOf("another name"))
			os := append(slices.Clone(objects), objects[2])
			res, err := s.Submit(t.Context(), ks, os)
			if !errors.Is(err, submit.ErrDispatch) || !errors.Is(err, errNoLoop) || res != (submit.Result{}) {
				t.Errorf("%+v, %v; want ErrDispatch", res, err)
			}
			wantRefs(t, "after the failure", objects[:3], want.refs...)
			wantRefs(t, "stored before", objects[3:], 1)
			if got := s.Stats(); got != want.stats {
				t.Errorf("stats %+v, want %+v", got, want.stats)
			}

			loop.broken = false
			if res, err := s.Submit(t.Context(), ks, os); err != nil || res != want.again {
				t.Errorf("again: %+v, %v; want %+v", res, err, want.again)
			}
			close(m.gate)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			refs := []int64{1, want.refs[1], want.refs[2], 1} // leaked ones are never given back
			wantRefs(t, "closed", objects, refs...)
		})
	}
}

// fragile is a Loop that can be broken for a while.
type fragile struct {
	*submit.Loop
	broken bool
}

func (f *fragile) Start(task func()) error {
	if f.broken {
		return broken{}.Start(task)
	}
	return f.Loop.Start(task)
}

func starter(t testing.TB) *fragile {
	t.Helper()
	l, err := submit.NewLoop(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	return &fragile{Loop: l}
}

// A failing PutMany gives references and registrations back too, and its error
// reaches Done.
func TestStoreFails(t *testing.T) {
	m := newMemory()
	m.fails = func() bool { return true }
	var got error
	s := open(t, m, submit.Options{Done: func(o submit.Outcome) { got = o.Err }})
	keys, objects := some(0, 3)
	if _, err := s.Submit(t.Context(), keys, objects); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, "failed", objects, 1, 1, 1)
	if st := s.Stats(); st != (submit.Stats{Accepted: 3, Failed: 3}) || !errors.Is(got, errDevice) {
		t.Errorf("%+v, %v; want 3 failed and the device's error", st, got)
	}
}

// Whatever fails in whatever order: no count and no registration is left with
// level undo, and exactly those counted as leaked with level leaky.
func TestNoMoreAndNoLess(t *testing.T) {
	property := func(seed uint64) bool {
		ok := true
		for _, dispatch := range submit.DispatchToggle.Levels() {
			for _, dedup := range submit.DedupToggle.Levels() {
				ok = random(t, seed, dedup, dispatch) && ok
			}
		}
		return ok
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func random(t *testing.T, seed uint64, dedup submit.Dedup, dispatch submit.Dispatch) bool {
	r := rand.New(rand.NewPCG(seed, 1))
	m := newMemory()
	faults := rand.New(rand.NewPCG(seed, 2)) // guarded by m.mu
	m.fails = func() bool { return faults.IntN(4) == 0 }
	loop := starter(t)
	s := open(t, m, submit.Options{Dedup: dedup, Dispatch: dispatch, Starter: loop, Queue: 3})
	keys, objects := some(0, 8)
	for range 30 {
		loop.broken = r.IntN(3) == 0
		var ks []rawblock.Key
		var os []*submit.Object
		for range r.IntN(6) {
			ks, os = append(ks, keys[r.IntN(8)]), append(os, objects[r.IntN(8)])
		}
		if _, err := s.Submit(t.Context(), ks, os); err != nil && !errors.Is(err, submit.ErrDispatch) {
			t.Error(err)
			return false
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
		return false
	}
	var over int64
	for _, o := range objects {
		over += o.Refs() - 1
	}
	st := s.Stats()
	if over != st.Leaked || int64(st.Registered) != st.Leaked || st.Queued != 0 || st.Accepted != st.Stored+st.Duplicates+st.Failed {
		t.Errorf("seed %d, %s, %s: %d references over, %+v", seed, dedup, dispatch, over, st)
		return false
	}
	return dispatch == submit.Leaky || st.Leaked == 0
}

// Many callers with the same keys: with the locked look-up each key reaches the
// store once.
func TestManyCallers(t *testing.T) {
	const callers = 8
	m := newMemory()
	s := open(t, m, submit.Options{Queue: 4})
	keys, objects := some(0, 100)
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			for i := range keys {
				at := (i + n) % len(keys)
				if _, err := s.Submit(context.Background(), keys[at:at+1], objects[at:at+1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		if m.puts[k] != 1 {
			t.Errorf("key %d: put %d times", i, m.puts[k])
		}
	}
	if got, want := s.Stats(), (submit.Stats{Accepted: 100, Known: 100 * (callers - 1), Stored: 100}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// A full queue makes Submit wait, as long as its context lasts, and TrySubmit give
// up. Neither takes anything over.
func TestBoundedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		s := open(t, m, submit.Options{Queue: 2})
		keys, objects := some(0, 4)
		for i := range 2 {
			if _, err := s.TrySubmit(keys[i:i+1], objects[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.TrySubmit(keys[2:3], objects[2:3]); !errors.Is(err, submit.ErrQueueFull) {
			t.Errorf("try: %v, want ErrQueueFull", err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Submit(ctx, keys[2:3], objects[2:3]); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("submit: %v after %v", err, time.Since(start))
		}
		if _, err := s.Submit(ctx, keys[2:3], objects[2:3]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("submit with a dead context: %v", err)
		}
		wantRefs(t, "refused", objects, 2, 2, 1, 1)
		if st := s.Stats(); st.Queued != 2 || st.Registered != 2 {
			t.Errorf("stats %+v", st)
		}

		accepted := make(chan error)
		go func() {
			_, err := s.Submit(t.Context(), keys[3:], objects[3:])
			accepted <- err
		}()
		synctest.Wait()
		wantRefs(t, "waiting", objects, 2, 2, 1, 1)
		m.gate <- struct{}{} // one task ends, one place is free
		if err := <-accepted; err != nil {
			t.Error(err)
		}
		close(m.gate)
	})
}

// Close waits for the tasks, and for Submits that wait for a place.
func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		s := open(t, m, submit.Options{Queue: 1})
		keys, objects := some(0, 2)
		go func() {
			for i := range keys {
				if _, err := s.Submit(t.Context(), keys[i:i+1], objects[i:i+1]); err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait() // one waits in the store, one for a place
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("closed while tasks are under way: %v", err)
		default:
		}
		if _, err := s.Submit(t.Context(), keys, objects); !errors.Is(err, submit.ErrClosed) {
			t.Errorf("submit while closing: %v", err)
		}
		close(m.gate)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		wantRefs(t, "closed", objects, 1, 1)
		if len(m.stored) != 2 {
			t.Errorf("%d stored, want 2", len(m.stored))
		}
		if err := s.Close(); !errors.Is(err, submit.ErrClosed) {
			t.Errorf("second close: %v", err)
		}
		if _, err := s.TrySubmit(keys, objects); !errors.Is(err, submit.ErrClosed) {
			t.Errorf("submit after close: %v", err)
		}
	})
}

func TestBadArguments(t *testing.T) {
	for name, o := range map[string]submit.Options{
		"dedup":    {Dedup: "sloppy"},
		"dispatch": {Dispatch: "sloppy"},
		"queue":    {Queue: -1},
	} {
		if s, err := submit.New(newMemory(), o); err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
		}
	}
	s := open(t, newMemory(), submit.Options{})
	keys, objects := some(0, 2)
	if _, err := s.Submit(t.Context(), keys, objects[:1]); !errors.Is(err, submit.ErrArguments) {
		t.Errorf("two keys, one object: %v", err)
	}
	if st := s.Stats(); st != (submit.Stats{}) {
		t.Errorf("stats %+v, want none", st)
	}
}

// The environment chooses a level that the options leave open.
func TestLevelsFromTheEnvironment(t *testing.T) {
	t.Setenv("LATLAB_DISPATCH", "leaky")
	s := open(t, newMemory(), submit.Options{Starter: broken{}})
	keys, objects := some(0, 1)
	if _, err := s.Submit(t.Context(), keys, objects); !errors.Is(err, submit.ErrDispatch) {
		t.Error(err)
	}
	wantRefs(t, "leaky", objects, 2)
	t.Setenv("LATLAB_DEDUP", "sloppy")
	if s, err := submit.New(newMemory(), submit.Options{}); err == nil {
		t.Error("LATLAB_DEDUP=sloppy: no error")
		_ = s.Close()
	}
}
