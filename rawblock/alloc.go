package rawblock

import "math/rand/v2"

// freeList gives out slots in the order in which they came back, so that
// contiguous slots stay contiguous and a slot rests as long as it can. Its cost
// a slot depends neither on how many there are nor on how many are free. The
// store's lock guards it.
type freeList struct {
	ring []uint32
	head int      // next to give out
	n    int      // free slots
	out  []uint64 // a bit a slot: it isn't here
}

// newFreeList makes a list of all slots but those that are used. No used means none.
func newFreeList(slots int, p Placement, seed uint64, used func(slot uint32) bool) *freeList {
	f := &freeList{ring: make([]uint32, slots), out: make([]uint64, (slots+63)/64)}
	for i := range f.ring {
		f.ring[i] = uint32(i)
	}
	if p == Scattered {
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(slots, func(i, j int) { f.ring[i], f.ring[j] = f.ring[j], f.ring[i] })
	}
	for _, slot := range f.ring {
		if used != nil && used(slot) {
			f.out[slot/64] |= 1 << (slot % 64)
			continue
		}
		f.ring[f.n] = slot
		f.n++
	}
	return f
}

// take gives out a slot, if there is one.
func (f *freeList) take() (slot uint32, ok bool) {
	if f.n == 0 {
		return 0, false
	}
	slot = f.ring[f.head]
	if f.head++; f.head == len(f.ring) {
		f.head = 0
	}
	f.n--
	f.out[slot/64] |= 1 << (slot % 64)
	return slot, true
}

// undo takes the last n slots back as if they had never been given out. Nothing
// may have come back since.
func (f *freeList) undo(n int) {
	for range n {
		if f.head--; f.head < 0 {
			f.head = len(f.ring) - 1
		}
		f.clear(f.ring[f.head])
	}
	f.n += n
}

// give takes a slot back.
func (f *freeList) give(slot uint32) {
	f.clear(slot)
	at := f.head + f.n
	if at >= len(f.ring) {
		at -= len(f.ring)
	}
	f.ring[at] = slot
	f.n++
}

func (f *freeList) clear(slot uint32) {
	if f.out[slot/64]&(1<<(slot%64)) == 0 {
		panic("rawblock: a slot came back twice")
	}
	f.out[slot/64] &^= 1 << (slot % 64)
}
