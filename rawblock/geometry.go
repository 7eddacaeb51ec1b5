package rawblock

import "math"

// geometry is where things lie on a device. All sizes are in bytes. One after
// the other come the superblock, two containers for checkpoints, and the slots.
type geometry struct {
	block   int
	layout  Layout
	payload int // the largest
	slots   int
}

func alignUp[T int | int64](n, block T) T { return (n + block - 1) / block * block }

// payloadAt is the payload's offset in the slot.
func (g geometry) payloadAt() int {
	if g.layout == Aligned {
		return headerSize
	}
	return alignUp(headerSize, g.block)
}

// slot is a slot's size.
func (g geometry) slot() int { return alignUp(g.payloadAt()+g.payload, g.block) }

// used is how much of the slot a payload of n bytes takes, from its start.
func (g geometry) used(n int) int { return alignUp(g.payloadAt()+n, g.block) }

// head is how much of a slot's start holds the header: what mode Ordered writes last.
func (g geometry) head() int { return alignUp(headerSize, g.block) }

// containerSize has room for a checkpoint that lists every slot.
func (g geometry) containerSize() int64 {
	return alignUp(int64(checkpointHead)+int64(g.slots)*checkpointEntry, int64(g.block))
}

func (g geometry) containerAt(i int) int64 {
	return alignUp(superblockSize, int64(g.block)) + int64(i)*g.containerSize()
}

func (g geometry) offset(slot uint32) int64 {
	return g.containerAt(2) + int64(slot)*int64(g.slot())
}

// size is what the whole store takes.
func (g geometry) size() int64 { return g.containerAt(2) + int64(g.slots)*int64(g.slot()) }

// overflows says whether size is beyond what offsets can say.
func (g geometry) overflows() bool {
	return int64(g.slots) > (math.MaxInt64-g.containerAt(2))/int64(g.slot())
}

// fit sets the number of slots to the largest that size bytes hold.
func (g geometry) fit(size int64) geometry {
	g.slots = 0
	rest := max(0, size-g.size())
	g.slots = int(min(rest/(int64(g.slot())+2*checkpointEntry), maxSlots))
	// The containers are rounded up to blocks: a little less or more may fit.
	for g.slots > 0 && g.size() > size {
		g.slots--
	}
	for g.slots < maxSlots {
		g.slots++
		if g.size() > size {
			g.slots--
			break
		}
	}
	return g
}

// SlotSize is the size in bytes of the slots of a store with these options on a
// device with that block; no layout is the baseline.
func SlotSize(payload int, l Layout, block int) int64 {
	return int64(geometry{block: block, layout: l, payload: payload}.slot())
}

// SizeFor is the size in bytes of the smallest device that holds so many slots.
// No layout is the baseline.
func SizeFor(slots, payload int, l Layout, block int) int64 {
	return geometry{block: block, layout: l, payload: payload, slots: slots}.size()
}
