package rawblock

import "math/rand/v2"

// freeList gives out slots in the order in which they came back, so that
// contiguous slots stay contiguous and a slot rests as long as it can. Its cost
// a slot doesn't depend on how many there are. The store's lock guards it.
type freeList struct {
	ring []uint32
	head int // next to give out
	n    int // free slots
}

func newFreeList(slots int, p Placement, seed uint64) *freeList {
	f := &freeList{ring: make([]uint32, slots), n: slots}
	for i := range f.ring {
		f.ring[i] = uint32(i)
	}
	if p == Scattered {
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(slots, func(i, j int) { f.ring[i], f.ring[j] = f.ring[j], f.ring[i] })
	}
	return f
}

// take gives out n slots, or none if there aren't so many.
func (f *freeList) take(dst []uint32, n int) ([]uint32, bool) {
	if n > f.n {
		return dst, false
	}
	for range n {
		dst = append(dst, f.ring[f.head])
		if f.head++; f.head == len(f.ring) {
			f.head = 0
		}
	}
	f.n -= n
	return dst, true
}

func (f *freeList) give(slot uint32) {
	if f.n == len(f.ring) {
		panic("rawblock: a slot came back twice")
	}
	at := f.head + f.n
	if at >= len(f.ring) {
		at -= len(f.ring)
	}
	f.ring[at] = slot
	f.n++
}
