package crash

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// States are those in which a crash may leave a device.
type States struct {
	base  []byte // with what is certain
	cells []cell
}

// cell is a block, or what a crash can't tear, that may hold one of several contents. The first is the one
// that is durable.
type cell struct {
	off      int64
	contents [][]byte
}

// State is one of States.
type State struct {
	Image  []byte
	Choice []int // by uncertain block: 0 for the durable content, 1 for the first that was written after it
}

// After gives the states of a crash after the first n events of the history.
func (r *Recorder) After(n int) States {
	r.mu.Lock()
	defer r.mu.Unlock()
	return after(r.base, r.unit, r.history[:n])
}

func after(base []byte, unit int, h History) States {
	// A submission is durable if its completion comes before the beginning of a
	// flush that has ended.
	flushed := -1
	for _, e := range h {
		if e.Kind == FlushEnd {
			flushed = max(flushed, e.Of)
		}
	}
	completed := map[int]bool{}
	for i, e := range h {
		if e.Kind == Complete && i < flushed {
			completed[e.Of] = true
		}
	}
	s := States{base: bytes.Clone(base)}
	pending := map[int64][][]byte{}
	for i, e := range h {
		for _, w := range e.Writes {
			durable := completed[i] && !w.Failed
			for at := 0; at < len(w.Data); at += unit {
				off, data := w.Off+int64(at), w.Data[at:at+unit]
				if durable {
					copy(s.base[off:], data)
					delete(pending, off)
				} else {
					pending[off] = append(pending[off], data)
				}
			}
		}
	}
	for off, contents := range pending {
		c := cell{off, [][]byte{bytes.Clone(s.base[off : off+int64(unit)])}}
		for _, data := range contents {
			if !slices.ContainsFunc(c.contents, func(have []byte) bool { return bytes.Equal(have, data) }) {
				c.contents = append(c.contents, data)
			}
		}
		if len(c.contents) > 1 {
			s.cells = append(s.cells, c)
		}
	}
	slices.SortFunc(s.cells, func(a, b cell) int { return int(a.off - b.off) })
	return s
}

// Count is how many there are, at most math.MaxInt.
func (s States) Count() int {
	n := 1
	for _, c := range s.cells {
		if n > math.MaxInt/len(c.contents) {
			return math.MaxInt
		}
		n *= len(c.contents)
	}
	return n
}

// All gives every state if there are at most limit. Otherwise it gives limit of
// them, some perhaps twice, as the seed says: none and all of the uncertain
// blocks written, all but one, only one, and random ones.
func (s States) All(limit int, seed uint64) iter.Seq[State] {
	if s.Count() <= limit {
		return s.every
	}
	return func(yield func(State) bool) { s.sample(limit, seed, yield) }
}

func (s States) every(yield func(State) bool) {
	choice := make([]int, len(s.cells))
	for {
		if !yield(s.state(choice)) {
			return
		}
		i := 0
		for ; i < len(choice); i++ {
			if choice[i]++; choice[i] < len(s.cells[i].contents) {
				break
			}
			choice[i] = 0
		}
		if i == len(choice) {
			return
		}
	}
}

func (s States) sample(limit int, seed uint64, yield func(State) bool) {
	r := rand.New(rand.NewPCG(seed, uint64(len(s.cells))))
	newest := make([]int, len(s.cells))
	for i, c := range s.cells {
		newest[i] = len(c.contents) - 1
	}
	for n := range limit {
		choice := make([]int, len(s.cells))
		one := r.IntN(len(choice))
		switch {
		case n == 0: // nothing
		case n == 1:
			copy(choice, newest)
		case n%4 == 2:
			copy(choice, newest)
			choice[one] = r.IntN(newest[one])
		case n%4 == 3:
			choice[one] = 1 + r.IntN(newest[one])
		default:
			for i := range choice {
				choice[i] = r.IntN(newest[i] + 1)
			}
		}
		if !yield(s.state(choice)) {
			return
		}
	}
}

func (s States) state(choice []int) State {
	img := bytes.Clone(s.base)
	for i, c := range s.cells {
		copy(img[c.off:], c.contents[choice[i]])
	}
	return State{img, slices.Clone(choice)}
}

// Describe says which uncertain blocks a state holds.
func (s States) Describe(x State) string {
	var b bytes.Buffer
	for i, c := range s.cells {
		fmt.Fprintf(&b, "block at %d: %d of %d\n", c.off, x.Choice[i], len(c.contents)-1)
	}
	return b.String()
}
