package rawblock

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// index finds a key's slot. It is a table of fixed size with linear probing: a
// cell has 32 bits of the key's hash, whose first bits are where it belongs, and
// the slot. The keys themselves are in the slots' meta. A look-up that finds
// nothing, and the entry after it, touch one line of memory, where Go's map needs
// several; that is most of what Phase A costs. The store's lock guards it.
type index struct {
	cells []uint64 // hash << 32 | slot + 1; 0 is empty
	shift uint     // from a hash to its cell
	seed  [2]uint64
	keyOf []slotMeta
}

// maxSlots keeps the table at most half full with 32 bits of hash.
const maxSlots = 1 << 31

func newIndex(meta []slotMeta) index {
	size := bits.Len(uint(2*len(meta) - 1)) // log2
	return index{
		cells: make([]uint64, 1<<size), shift: uint(32 - size), keyOf: meta,
		seed: [2]uint64{rand.Uint64(), rand.Uint64()}, // so that nobody can make keys that collide
	}
}

func (x *index) hash(k *Key) uint32 {
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(k[:])^x.seed[0], binary.LittleEndian.Uint64(k[8:])^x.seed[1])
	return uint32((hi ^ lo) >> 32)
}

// find gives the key's slot, or the cell where it is to be entered.
func (x *index) find(k *Key) (slot uint32, at place, ok bool) {
	h := x.hash(k)
	for i := h >> x.shift; ; i = (i + 1) & uint32(len(x.cells)-1) {
		c := x.cells[i]
		if c == 0 {
			return 0, place{i, h}, false
		}
		if uint32(c>>32) == h && x.keyOf[uint32(c)-1].key == *k {
			return uint32(c) - 1, place{i, h}, true
		}
	}
}

// place is a cell that find has found for a hash. It is good until the next
// change of the index.
type place struct{ cell, hash uint32 }

// enter puts a slot, whose meta has the key, where find said.
func (x *index) enter(at place, slot uint32) {
	x.cells[at.cell] = uint64(at.hash)<<32 | uint64(slot+1)
}

// remove takes a key out that is there, and moves up what had to give way to it.
func (x *index) remove(k *Key) {
	_, at, _ := x.find(k)
	mask := uint32(len(x.cells) - 1)
	hole := at.cell
	for i := (hole + 1) & mask; x.cells[i] != 0; i = (i + 1) & mask {
		home := uint32(x.cells[i]>>32) >> x.shift
		if (i-home)&mask >= (i-hole)&mask { // it may lie in the hole
			x.cells[hole] = x.cells[i]
			hole = i
		}
	}
	x.cells[hole] = 0
}
