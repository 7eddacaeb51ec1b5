package crash_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"latlab.example/common/emu"
	"latlab.example/rawblock"
	"latlab.example/rawblock/crash"
)

// A device that dies in the middle of a batch, a thousand times: no key is
// reported stored that isn't there afterwards, no slot and no goroutine is lost.
func TestKilledInABatch(t *testing.T) {
	const slots = 64
	died, reported := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 0))
		op := []string{"write", "write", "write", "flush"}[r.IntN(4)]
		schedule, err := emu.ParseFaults(fmt.Sprintf("%s:reset@%d", op, 1+r.IntN(60)))
		if err != nil {
			t.Fatal(err)
		}
		o := rawblock.Options{
			Payload:    payload,
			Strategy:   pick(r, rawblock.StrategyToggle.Levels()),
			Layout:     pick(r, rawblock.LayoutToggle.Levels()),
			Durability: pick(r, rawblock.DurabilityToggle.Levels()),
			Chunk:      r.IntN(4),
			Workers:    3,
		}
		image := formatted(t, slots, o)
		rec, err := crash.NewRecorder(image, block, schedule)
		if err != nil {
			t.Fatal(err)
		}
		s, err := rawblock.Open(t.Context(), rec, o)
		if err != nil {
			t.Fatal(err)
		}
		stored := map[rawblock.Key][]byte{}
		dead := false
		for n := 0; n < slots && !dead; n += 8 {
			ks, objects := batchOf(n, 8, r)
			var errs []error
			if r.IntN(2) == 0 {
				errs = s.PutEach(t.Context(), ks, objects)
			} else {
				_, err := s.PutMany(t.Context(), ks, objects)
				for _, k := range ks {
					if s.Has(k) {
						errs = append(errs, nil)
					} else {
						errs = append(errs, err)
					}
				}
			}
			for i, err := range errs {
				if err == nil {
					stored[ks[i]] = objects[i]
				}
				dead = dead || errors.Is(err, crash.ErrDead)
			}
			if r.IntN(4) == 0 {
				dead = dead || errors.Is(s.Sync(t.Context()), crash.ErrDead)
			}
		}
		if dead {
			died++
		}
		reported += len(stored)
		if st := s.Stats(); st.Free+st.Stored != slots || st.Stored != len(stored) || st.InFlight != 0 {
			t.Errorf("seed %d, %+v: %+v, %d reported stored", seed, o, st, len(stored))
		}
		if err := s.Close(); dead && len(stored) > 0 && op == "write" && !errors.Is(err, crash.ErrDead) && err != nil {
			t.Errorf("seed %d: close: %v", seed, err)
		}
		back := [][]byte{rec.Image()} // it died, and lost nothing
		if o.Durability == rawblock.Flushed {
			for x := range rec.After(rec.Len()).All(4, seed) { // it lost what wasn't flushed
				back = append(back, x.Image)
			}
		}
		for _, image := range back {
			if err := readBack(t, image, slots, o, stored); err != nil {
				t.Errorf("seed %d, %+v, %v: %v\n%s", seed, o, schedule, err, rec.History())
			}
		}
		if t.Failed() {
			return
		}
	}
	goleak.VerifyNone(t)
	if died < 500 || reported < 5000 {
		t.Errorf("only %d devices died, %d keys were stored", died, reported)
	}
	t.Logf("%d of 1000 devices died, %d keys were reported stored and read back", died, reported)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func formatted(t *testing.T, slots int, o rawblock.Options) []byte {
	t.Helper()
	rec, err := crash.NewRecorder(make([]byte, rawblock.SizeFor(slots, o.Payload, o.Layout, block)), block, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rawblock.Format(t.Context(), rec, o); err != nil {
		t.Fatal(err)
	}
	return rec.Image()
}

func batchOf(from, n int, r *rand.Rand) (ks []rawblock.Key, objects [][]byte) {
	for i := from; i < from+n; i++ {
		ks = append(ks, rawblock.KeyOf(fmt.Sprint("key ", i)))
		objects = append(objects, bytes.Repeat([]byte{byte(i), 1}, r.IntN(payload/2)))
	}
	return ks, objects
}

func readBack(t *testing.T, image []byte, slots int, o rawblock.Options, stored map[rawblock.Key][]byte) error {
	rec, err := crash.NewRecorder(image, block, nil)
	if err != nil {
		return err
	}
	s, err := rawblock.Open(t.Context(), rec, o)
	if err != nil {
		return err
	}
	defer s.Close()
	for k, object := range stored {
		if got, err := s.Get(t.Context(), k, nil); err != nil || !bytes.Equal(got, object) {
			return fmt.Errorf("key %v: %d bytes of %d, %w", k, len(got), len(object), err)
		}
	}
	if st := s.Stats(); st.Free+st.Stored != slots || st.InFlight != 0 {
		return fmt.Errorf("after recovery: %+v", st)
	}
	return nil
}
