package rawblock

import (
	"slices"
	"testing"
	"testing/quick"
)

// Any sequence of take and give: no slot is out twice, none is lost.
func TestFreeListNeverLosesASlot(t *testing.T) {
	property := func(ops []int8, size uint8, scattered bool, seed uint64) bool {
		slots, p := int(size)+1, Contiguous
		if scattered {
			p = Scattered
		}
		f := newFreeList(slots, p, seed)
		out := map[uint32]bool{}
		var order []uint32
		for _, op := range ops {
			if op >= 0 {
				taken, ok := f.take(nil, int(op))
				if ok != (int(op) <= slots-len(out)) || !ok && len(taken) > 0 || ok && len(taken) != int(op) {
					return false
				}
				for _, s := range taken {
					if out[s] || int(s) >= slots {
						return false
					}
					out[s] = true
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
	contiguous, _ := newFreeList(100, Contiguous, 1).take(nil, 100)
	scattered, _ := newFreeList(100, Scattered, 1).take(nil, 100)
	again, _ := newFreeList(100, Scattered, 1).take(nil, 100)
	other, _ := newFreeList(100, Scattered, 2).take(nil, 100)
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
	newFreeList(3, Contiguous, 0).give(1)
}
