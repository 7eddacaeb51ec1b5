package rawblock

import (
	"slices"
	"testing"
	"testing/quick"
)

// Any sequence of take and give: no slot is out twice, none is lost.
func TestFreeListNeverLosesASlot(t *testing.T) {
	property := func(ops []int8, size uint8, scattered, half bool, seed uint64) bool {
		slots, p := int(size)+1, Contiguous
		if scattered {
			p = Scattered
		}
		out := map[uint32]bool{}
		var order []uint32
		f := newFreeList(slots, p, seed, func(slot uint32) bool { // some may be in use from the start
			if half && slot%2 == 0 {
				out[slot] = true
				order = append(order, slot)
			}
			return out[slot]
		})
		if f.n+len(out) != slots {
			return false
		}
		for _, op := range ops {
			if op >= 0 {
				var taken []uint32
				for range op {
					s, ok := f.take()
					if ok != (len(out) < slots) {
						return false
					}
					if !ok {
						break
					}
					if out[s] || int(s) >= slots {
						return false
					}
					out[s] = true
					taken = append(taken, s)
				}
				if op%3 == 0 { // rolled back, they come again in the same order
					f.undo(len(taken))
					for _, s := range taken {
						if again, ok := f.take(); !ok || again != s {
							return false
						}
					}
					f.undo(len(taken) / 2)
					for _, s := range taken[len(taken)-len(taken)/2:] {
						delete(out, s)
					}
					taken = taken[:len(taken)-len(taken)/2]
				}
				order = append(order, taken...)
			} else if n := min(-int(op), len(order)); n > 0 {
				for _, s := range order[:n] {
					f.give(s)
					delete(out, s)
				}
				order = order[n:]
			}
			if f.n+len(out) != slots {
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestPlacement(t *testing.T) {
	all := func(p Placement, seed uint64) (slots []uint32) {
		f := newFreeList(100, p, seed, nil)
		for range 100 {
			s, _ := f.take()
			slots = append(slots, s)
		}
		return slots
	}
	contiguous, scattered := all(Contiguous, 1), all(Scattered, 1)
	again, other := all(Scattered, 1), all(Scattered, 2)
	if !slices.IsSorted(contiguous) {
		t.Errorf("contiguous: %v", contiguous)
	}
	neighbours := 0
	for i := range scattered[1:] {
		if scattered[i+1] == scattered[i]+1 {
			neighbours++
		}
	}
	if neighbours > 10 || !slices.Equal(scattered, again) || slices.Equal(scattered, other) {
		t.Errorf("scattered: %d neighbours; must be few, the same for a seed and another for another", neighbours)
	}
}

func TestGivingTwicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a slot that came back twice went unnoticed")
		}
	}()
	f := newFreeList(3, Contiguous, 0, nil)
	one, _ := f.take()
	f.take()
	f.give(one)
	f.give(one) // there is room for it, but it isn't out
}
