package rawblock

import (
	"testing"
	"testing/quick"
)

// The index agrees with a map, whatever is entered and removed, also when it is
// full and when hashes collide.
func TestIndex(t *testing.T) {
	property := func(ops []uint16, size uint8, collide bool) bool {
		slots := int(size)%40 + 1
		meta := make([]slotMeta, slots)
		x := newIndex(meta)
		if collide {
			x.shift = 31 // all belong into the first two cells
		}
		ks, _ := numbered(0, 60)
		want := map[Key]uint32{}
		free := newFreeList(slots, Contiguous, 0, nil)
		for _, op := range ops {
			k := ks[int(op)%len(ks)]
			slot, at, ok := x.find(&k)
			if have, known := want[k]; known != ok || known && have != slot {
				return false
			}
			if ok {
				x.remove(&k)
				free.give(slot)
				delete(want, k)
			} else if slot, ok := free.take(); ok {
				meta[slot].key = k
				x.enter(at, slot)
				want[k] = slot
			}
		}
		for _, k := range ks {
			slot, _, ok := x.find(&k)
			if have, known := want[k]; known != ok || known && have != slot {
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}
