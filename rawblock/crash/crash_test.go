package crash_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
	"latlab.example/rawblock/crash/replay"
)

const (
	block   = 512
	slots   = 4
	payload = 1100
)

// keys that a workload uses.
var keys = []rawblock.Key{rawblock.KeyOf("0")}

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

// Random histories, some of them with faults, and every second one going on from
// a state after a crash of the one before: states are drawn where there are too
// many.
func TestRandomHistories(t *testing.T) {
	target := number(t, "LATLAB_CRASH_STATES", 20_000)
	first := number(t, "LATLAB_CRASH_SEED", 1)
	c := replay.New()
	for seed := first; c.States < target; seed++ {
		if err := c.Random(t.Context(), uint64(seed)); err != nil {
			t.Fatalf("%v\nLATLAB_CRASH_SEED=%d replays it", err, seed)
		}
	}
	if c.Used == 0 || c.Again == 0 {
		t.Errorf("%d states used on, %d second lives", c.Used, c.Again)
	}
	t.Logf("%d states of %d histories from seed %d on, %d histories after a crash, %d states used on", c.States, c.Histories, first, c.Again, c.Used)
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

// Half a checkpoint that a crash left is never made whole by the rest of the next
// one: the two lists are alike from some block on, and the old one lacks a key
// that came back.
func TestHalfACheckpointStaysHalf(t *testing.T) {
	const n = 40 // entries, in three blocks
	o := rawblock.Options{Payload: 400, Layout: rawblock.Aligned, Strategy: rawblock.Batch, Durability: rawblock.Flushed, Placement: rawblock.Contiguous}
	open := func(image []byte) (*crash.Recorder, *rawblock.Store) {
		rec, err := crash.NewRecorder(image, block, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := rawblock.Open(t.Context(), rec, o)
		if err != nil {
			t.Fatal(err)
		}
		return rec, s
	}
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	rec, s := open(formatted(t, n, o))
	ks, objects := batchOf(0, n, rand.New(rand.NewPCG(1, 3)))
	for i := range objects {
		objects[i] = objects[i][:min(len(objects[i]), 400)]
	}
	_, err := s.PutMany(t.Context(), ks, objects)
	do(err, s.Sync(t.Context()), s.Delete(ks[0]))
	first := rec.Len()
	do(s.Sync(t.Context()))
	halves := 0
	for at := first; at <= rec.Len(); at++ {
		for x := range rec.After(at).All(1<<10, 0) {
			again, s := open(x.Image)
			if s.Recovery().Rejected == 0 {
				do(s.Close())
				continue
			}
			halves++
			if !s.Has(ks[0]) {
				t.Fatal("the deleted key isn't back, although its checkpoint isn't whole")
			}
			do(s.Delete(ks[1]), s.Sync(t.Context()))
			for to := range again.Len() + 1 {
				for y := range again.After(to).All(1<<10, 0) {
					_, s := open(y.Image)
					if got, err := s.Get(t.Context(), ks[0], nil); err != nil || !bytes.Equal(got, objects[0]) {
						t.Fatalf("after %d events: the key that came back is gone: %v\n%s", to, err, again.History())
					}
					do(s.Close())
				}
			}
			do(s.Close())
		}
	}
	do(s.Close())
	if halves == 0 {
		t.Error("no crash left half a checkpoint")
	}
	t.Logf("%d times half a checkpoint", halves)
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
