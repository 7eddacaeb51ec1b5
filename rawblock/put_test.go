package rawblock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
)

// wantErrors compares errors a key. A nil in want is for no error.
func wantErrors(t *testing.T, got []error, want ...error) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d errors, want %d", len(got), len(want))
	}
	for i := range got {
		if (got[i] == nil) != (want[i] == nil) || want[i] != nil && !errors.Is(got[i], want[i]) {
			t.Errorf("key %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// Each key of a PutEach has its own result: stored before, too big, twice.
func TestPutEach(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 6)
		put(t, s, keys[:1], objects[:1])
		tooBig := make([]byte, payload+1)
		asked := append(keys[:6:6], keys[2], keys[4])
		given := append(objects[:6:6], objects[2], objects[4])
		given[4] = tooBig
		errs := s.PutEach(t.Context(), asked, given)
		if s.Has(keys[4]) {
			// Strategies that don't keep the order may come to the second before, which fits.
			wantErrors(t, errs[7:], nil)
			errs[7] = rawblock.ErrTooBig
			if err := s.Delete(keys[4]); err != nil {
				t.Error(err)
			}
		}
		wantErrors(t, errs, nil, nil, nil, nil, rawblock.ErrTooBig, nil, nil, rawblock.ErrTooBig)
		for _, i := range []int{0, 1, 2, 3, 5} {
			wantStored(t, s, keys[i:i+1], objects[i:i+1])
		}
		wantStats(t, s, 15, 5)
		if err := s.Put(t.Context(), keys[4], objects[4]); err != nil || !s.Has(keys[4]) {
			t.Errorf("put of one: %v", err)
		}
		if err := s.Put(t.Context(), rawblock.KeyOf("big"), tooBig); !errors.Is(err, rawblock.ErrTooBig) {
			t.Errorf("put of one that is too big: %v", err)
		}
	})
}

// As many keys as there are slots are stored; the rest say so.
func TestPutEachFillsTheStore(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 25)
		full := 0
		for i, err := range s.PutEach(t.Context(), keys, objects) {
			if errors.Is(err, rawblock.ErrFull) {
				full++
			} else if err != nil {
				t.Error(err)
			} else {
				wantStored(t, s, keys[i:i+1], objects[i:i+1])
			}
		}
		if full != 5 {
			t.Errorf("%d keys found no slot, want 5", full)
		}
		wantStats(t, s, 0, 20)
	})
}

// A write that fails takes no other key with it, also in a batch, and the second
// of a key has the first's result.
func TestPutEachOneFailedWrite(t *testing.T) {
	every(t, "write:error@5", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 10)
		errs := s.PutEach(t.Context(), append(keys, keys...), append(objects, objects...))
		failed := 0
		for i, k := range keys {
			if (errs[i] == nil) != s.Has(k) || (errs[i+10] == nil) != s.Has(k) {
				t.Errorf("key %d: stored %v, %v and %v", i, s.Has(k), errs[i], errs[i+10])
			}
			if errs[i] != nil {
				failed++
				if !errors.Is(errs[i], emu.ErrInjected) || !errors.Is(errs[i+10], emu.ErrInjected) {
					t.Errorf("key %d: %v and %v", i, errs[i], errs[i+10])
				}
			}
		}
		if failed != 1 {
			t.Errorf("%d keys failed, want one", failed)
		}
		wantStats(t, s, 11, 9)
	})
}

// A duplicate in an all-or-nothing batch that fails is not stored either.
func TestDuplicateInheritsTheFailure(t *testing.T) {
	every(t, "write:error@every(1)", func(t *testing.T, s *rawblock.Store) {
		keys, objects := some(0, 3)
		res, err := s.PutMany(t.Context(), append(keys, keys[1]), append(objects, objects[1]))
		if !errors.Is(err, emu.ErrInjected) || res != (rawblock.PutResult{}) {
			t.Errorf("%+v, %v; want nothing in any count", res, err)
		}
		wantStats(t, s, 20, 0)
	})
}

// A batch that doesn't fit, with a duplicate in it, leaves the slots as they were.
func TestBatchThatDoesNotFit(t *testing.T) {
	s := open(t, device(t, 20, rawblock.Aligned, true, ""), rawblock.Options{Strategy: rawblock.Batch, Layout: rawblock.Aligned})
	keys, objects := some(0, 21)
	asked, given := append(keys[:1:1], keys...), append(objects[:1:1], objects...)
	res, err := s.PutMany(t.Context(), asked, given)
	if !errors.Is(err, rawblock.ErrFull) || res != (rawblock.PutResult{}) {
		t.Errorf("%+v, %v", res, err)
	}
	wantStats(t, s, 20, 0)
	if res := put(t, s, keys[:20], objects[:20]); res.Written != 20 {
		t.Errorf("%+v", res)
	}
	wantStored(t, s, keys[:20], objects[:20])
}

// Each chunk of a batch is all or nothing by itself.
func TestChunks(t *testing.T) {
	c := &counting{Batcher: device(t, 20, rawblock.Aligned, true, "write:error@5").(rawblock.Batcher)}
	s := open(t, c, rawblock.Options{Strategy: rawblock.Batch, Layout: rawblock.Aligned, Chunk: 4})
	keys, objects := some(0, 10)
	asked, given := append(keys, keys[6], keys[0]), append(objects, objects[6], objects[0])
	res, err := s.PutMany(t.Context(), asked, given)
	if !errors.Is(err, emu.ErrInjected) || res != (rawblock.PutResult{Written: 6, Present: 1}) {
		t.Errorf("%+v, %v; want keys 0 to 3, 8 and 9, and key 0 present", res, err)
	}
	if c.calls != 3 || c.singles != 0 {
		t.Errorf("%d batches, %d single writes; want 3 batches", c.calls, c.singles)
	}
	for i, k := range keys {
		if s.Has(k) != (i < 4 || i > 7) {
			t.Errorf("key %d: stored %v", i, s.Has(k))
		}
	}
	wantStats(t, s, 14, 6)
}

// Delete of a key in flight cancels it: the put says so, and the slot is free
// when its write is done. Another Delete doesn't find the key.
func TestDeleteInFlight(t *testing.T) {
	for _, strategy := range rawblock.StrategyToggle.Levels() {
		t.Run(string(strategy), func(t *testing.T) {
			g := &gated{device(t, 20, rawblock.Aligned, true, "").(rawblock.Batcher), make(chan struct{}, 9), make(chan struct{})}
			s := open(t, g, rawblock.Options{Strategy: strategy, Layout: rawblock.Aligned})
			keys, objects := some(0, 2)
			done := make(chan []error, 1)
			many := make(chan rawblock.PutResult, 1)
			go func() { done <- s.PutEach(context.Background(), keys[:1], objects[:1]) }()
			go func() {
				res, err := s.PutMany(context.Background(), []rawblock.Key{keys[1], keys[1]}, [][]byte{objects[1], objects[1]})
				if err != nil {
					t.Error(err)
				}
				many <- res
			}()
			<-g.arrived
			<-g.arrived
			for _, k := range keys {
				if err := s.Delete(k); err != nil {
					t.Errorf("delete in flight: %v", err)
				}
				if err := s.Delete(k); !errors.Is(err, rawblock.ErrNotFound) {
					t.Errorf("delete again: %v", err)
				}
				if err := s.Put(t.Context(), k, nil); !errors.Is(err, rawblock.ErrInFlight) {
					t.Errorf("put of a cancelled key: %v", err)
				}
			}
			if st := s.Stats(); st.Free != 18 || st.InFlight != 2 {
				t.Errorf("%+v; the slots are still being written", st)
			}
			close(g.let)
			wantErrors(t, <-done, rawblock.ErrDeleted)
			if res := <-many; res != (rawblock.PutResult{Deleted: 2}) {
				t.Errorf("%+v, want both deleted", res)
			}
			wantStats(t, s, 20, 0)
			put(t, s, keys, objects)
			wantStored(t, s, keys, objects)
		})
	}
}

func TestPutEachArguments(t *testing.T) {
	s := open(t, device(t, 20, rawblock.Split, true, ""), rawblock.Options{})
	keys, objects := some(0, 3)
	wantErrors(t, s.PutEach(t.Context(), keys, objects[:2]), rawblock.ErrArguments, rawblock.ErrArguments, rawblock.ErrArguments)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantErrors(t, s.PutEach(t.Context(), keys[:1], objects[:1]), rawblock.ErrClosed)
	if err := s.Sync(t.Context()); !errors.Is(err, rawblock.ErrClosed) {
		t.Error(err)
	}
}

// Payloads of any length, down to none, come back as they are.
func TestAnyLength(t *testing.T) {
	every(t, "", func(t *testing.T, s *rawblock.Store) {
		var keys []rawblock.Key
		var objects [][]byte
		for i, n := range []int{0, 1, 63, block - 65, block - 64, block - 63, block - 1, block, block + 1, payload - 1, payload} {
			keys = append(keys, rawblock.KeyOf(fmt.Sprint(n)))
			objects = append(objects, bytes.Repeat([]byte{byte(i + 1)}, n))
		}
		put(t, s, keys, objects)
		wantStored(t, s, keys, objects)
	})
}
