package rawblock

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"
)

// nowhere is a device of any size that keeps nothing, for what needs no device.
type nowhere struct {
	Device
	size int64
}

func (d nowhere) BlockSize() int { return 4096 }
func (d nowhere) Size() int64    { return d.size }

// reserving is a store whose index holds so many keys and that has so many
// slots free.
func reserving(tb testing.TB, stored, free int) *Store {
	tb.Helper()
	o := Options{Payload: 4000, Layout: Aligned, Seed: 1}
	s, err := newStore(nowhere{size: SizeFor(stored+free, o.Payload, o.Layout, 4096)}, o)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := plan(s.dev, o)
	if err != nil {
		tb.Fatal(err)
	}
	s.use(b)
	s.start(nil)
	ks, objects := numbered(0, stored)
	p := s.newPut(ks, objects)
	if picks := p.reserve(0, stored); len(picks) != stored {
		tb.Fatalf("reserved %d of %d", len(picks), stored)
	} else {
		p.settle(picks, nil, nil)
	}
	return s
}

// numbered makes n keys as well mixed as hashes, and empty objects.
func numbered(from, n int) ([]Key, [][]byte) {
	ks := make([]Key, n)
	for i := range ks {
		x := uint64(from + i + 1)
		binary.LittleEndian.PutUint64(ks[i][:], x*0x9e3779b97f4a7c15)
		binary.LittleEndian.PutUint64(ks[i][8:], x*0xbf58476d1ce4e5b9)
	}
	return ks, make([][]byte, n)
}

// BenchmarkPhaseA prints what it costs a key to be reserved, with 100,000 keys in
// the index: batches of 10 to 100,000 keys into as many free slots as stored, and
// into a store that is 99 % full, alone and against each other. over-100 is the
// cost over that of a batch of 100 in the same store.
func BenchmarkPhaseA(b *testing.B) {
	const stored = 100_000
	for _, full := range []int{50, 99} {
		free := stored * (100 - full) / full
		s := reserving(b, stored, free)
		for _, writers := range []int{1, 8} {
			var hundred float64
			for _, n := range []int{100, 10, 1000, 10_000, 100_000} {
				if n*writers > free && (n != free || writers > 1) {
					continue
				}
				b.Run(fmt.Sprintf("full=%d%%/writers=%d/keys=%d", full, writers, n), func(b *testing.B) {
					var mu sync.Mutex
					var took time.Duration
					reserved := 0
					var wg sync.WaitGroup
					rounds := max(1, b.N/writers)
					for w := range writers {
						wg.Go(func() {
							mine, done := reserveOften(s, stored*(2+w), n, rounds)
							mu.Lock()
							defer mu.Unlock()
							took += mine
							reserved += done
						})
					}
					wg.Wait()
					each := float64(took.Nanoseconds()) / float64(reserved)
					if n == 100 {
						hundred = each
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(each, "ns/key")
					if hundred > 0 {
						b.ReportMetric(each/hundred, "over-100")
					}
				})
			}
			if st := s.Stats(); st.Free != free || st.Stored != stored {
				b.Errorf("%+v: slots were lost", st)
			}
		}
	}
}

// reserveOften times Phase A alone, and gives the slots back after each round.
func reserveOften(s *Store, from, n, rounds int) (took time.Duration, reserved int) {
	const pool = 100_000
	ks, objects := numbered(from, pool)
	for round := range rounds {
		at := round * n % pool
		p := s.newPut(ks[at:at+n], objects[at:at+n])
		start := time.Now()
		picks := p.reserve(0, n)
		took += time.Since(start)
		reserved += len(picks)
		s.mu.Lock()
		for _, x := range picks { // not as an error would: that notes why, a key
			s.index.remove(&p.keys[x.at])
			s.release(x.slot)
		}
		s.inFlight -= len(picks)
		s.mu.Unlock()
	}
	return took, reserved
}

// Eight writers reserve, roll back, commit and delete at once; no slot is handed
// out twice, none is lost.
func TestReserveContended(t *testing.T) {
	const slots, writers, n = 400, 8, 60
	s := reserving(t, 0, slots)
	var mu sync.Mutex
	out := map[uint32]int{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			ks, objects := numbered(w*n, n)
			for round := range 200 {
				p := s.newPut(ks, objects)
				picks := p.reserve(0, n) // fails at times: 8 x 60 > 400
				mu.Lock()
				for _, x := range picks {
					if by, ok := out[x.slot]; ok {
						t.Errorf("slot %d is with writers %d and %d", x.slot, by, w)
					}
					out[x.slot] = w
				}
				mu.Unlock()
				var failed error
				if round%3 == 0 {
					failed = ErrNotDone
				}
				mu.Lock()
				for _, x := range picks {
					delete(out, x.slot)
				}
				mu.Unlock()
				if len(picks) == 0 {
					continue
				}
				p.settle(picks, nil, failed)
				for _, x := range picks {
					if failed == nil {
						// It isn't out any more only when it is deleted.
						if err := s.Delete(p.keys[x.at]); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if st := s.Stats(); st.Free != slots || st.Stored != 0 || st.InFlight != 0 {
		t.Errorf("%+v, want all %d free", st, slots)
	}
}
