package rawblock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"testing/quick"
)

func TestHeaderComesBack(t *testing.T) {
	property := func(instance, gen uint64, key Key, length, slot, payload uint32) bool {
		want := header{instance, gen, key, length, slot, payload}
		buf := bytes.Repeat([]byte{9}, headerSize)
		want.put(buf)
		got, err := parseHeader(buf)
		return err == nil && got == want
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestHeaderCheck(t *testing.T) {
	want := header{instance: 1, gen: 2, key: KeyOf("a"), length: 3, slot: 4, payload: 5}
	for name, change := range map[string]func(*header){
		"instance":   func(h *header) { h.instance++ },
		"generation": func(h *header) { h.gen-- },
		"key":        func(h *header) { h.key = KeyOf("b") },
		"length":     func(h *header) { h.length++ },
		"slot":       func(h *header) { h.slot++ },
	} {
		h := want
		change(&h)
		if err := h.check(want); !errors.Is(err, ErrHeader) {
			t.Errorf("other %s: %v", name, err)
		}
	}
	if err := want.check(want); err != nil {
		t.Error(err)
	}
}

// Any change of any bit of a record is found.
func TestSealFindsEveryBit(t *testing.T) {
	buf := make([]byte, headerSize)
	header{instance: 1, gen: 2, key: KeyOf("a"), length: 3}.put(buf)
	for bit := range headerSize * 8 {
		buf[bit/8] ^= 1 << (bit % 8)
		if _, err := parseHeader(buf); !errors.Is(err, ErrHeader) {
			t.Errorf("bit %d: %v", bit, err)
		}
		buf[bit/8] ^= 1 << (bit % 8)
	}
}

// A device of a size that SizeFor names holds that many slots, one of less doesn't.
func TestSizeAndSlotsAgree(t *testing.T) {
	property := func(slots uint16, payload uint16, aligned bool, shift uint8) bool {
		g := geometry{block: minBlock << (shift % 5), layout: Split, payload: int(payload) + 1, slots: int(slots) + 1}
		if aligned {
			g.layout = Aligned
		}
		size := SizeFor(g.slots, g.payload, g.layout, g.block)
		none := g
		none.slots = 0
		if none.fit(size) != g || none.fit(size-1).slots != g.slots-1 {
			return false
		}
		// Nothing overlaps, and a checkpoint of all slots fits its container.
		last := g.offset(uint32(g.slots - 1))
		return g.containerAt(0) >= superblockSize && g.containerAt(1) == g.containerAt(0)+g.containerSize() &&
			g.offset(0) == g.containerAt(1)+g.containerSize() && last+int64(g.slot()) == size &&
			g.containerSize() >= int64(checkpoint{entries: make([]entry, g.slots)}.size())
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

// FuzzHeader: what parses is written the same again, whatever it was made of.
func FuzzHeader(f *testing.F) {
	buf := make([]byte, headerSize)
	header{instance: 1, gen: 2, key: KeyOf("a"), length: 3, slot: 4, payload: 5}.put(buf)
	f.Add(buf, false)
	f.Add(buf[:headerSize-1], false)
	f.Add(make([]byte, headerSize), true)
	f.Fuzz(func(t *testing.T, src []byte, mend bool) {
		if mend {
			src = mended(src, slotMagic, headerSize)
		}
		h, err := parseHeader(src)
		if err != nil {
			if !errors.Is(err, ErrHeader) {
				t.Errorf("%v doesn't wrap ErrHeader", err)
			}
			return
		}
		again := make([]byte, headerSize)
		h.put(again)
		if !bytes.Equal(again, src[:headerSize]) {
			t.Errorf("%+v is written as % x, was read from % x", h, again, src[:headerSize])
		}
	})
}

// mended gives arbitrary bytes the magic and the checksum of a record of n
// bytes, so that what lies behind the checksum is tested too.
func mended(src []byte, magic [8]byte, n int) []byte {
	if len(src) < n {
		return src
	}
	src = bytes.Clone(src)
	copy(src, magic[:])
	seal(src[:n])
	return src
}

var fuzzed = superblock{geo: geometry{block: 512, layout: Aligned, payload: 1000, slots: 20}, instance: 7}

// FuzzCheckpoint: what parses has no slot twice or out of range, and is written
// the same again.
func FuzzCheckpoint(f *testing.F) {
	c := checkpoint{instance: 7, sequence: 3, next: 100, entries: []entry{
		{key: KeyOf("a"), gen: 5, slot: 3, length: 1000}, {key: KeyOf("b"), gen: 99, slot: 19, inFlight: true},
	}}
	buf := make([]byte, 512)
	c.put(buf)
	f.Add(buf, false)
	f.Add(buf, true)
	f.Add(buf[:100], true)
	f.Add(make([]byte, 64), true)
	f.Fuzz(func(t *testing.T, src []byte, mend bool) {
		if mend && len(src) >= checkpointHead {
			n := binary.LittleEndian.Uint64(src[32:])
			src = bytes.Clone(src)
			if end := checkpointHead + n*checkpointEntry; n < math.MaxInt32 && end <= uint64(len(src)) {
				binary.LittleEndian.PutUint32(src[40:], checksum(src[checkpointHead:end]))
			}
			binary.LittleEndian.PutUint64(src[8:], fuzzed.instance)
			clear(src[44:60])
			src = mended(src, checkpointMagic, checkpointHead)
		}
		c, err := parseCheckpoint(src, fuzzed)
		if err != nil {
			if !errors.Is(err, errCheckpoint) {
				t.Errorf("%v doesn't wrap errCheckpoint", err)
			}
			return
		}
		listed := map[uint32]bool{}
		for _, e := range c.entries {
			if int(e.slot) >= fuzzed.geo.slots || listed[e.slot] || e.gen == 0 || e.gen >= c.next {
				t.Errorf("%+v: entry %+v", c, e)
			}
			listed[e.slot] = true
		}
		again := make([]byte, c.size())
		c.put(again)
		if !bytes.Equal(again, src[:len(again)]) {
			t.Errorf("%+v is written as % x, was read from % x", c, again, src[:len(again)])
		}
	})
}

// FuzzSuperblock: what parses is a geometry that can be computed with, and is
// written the same again.
func FuzzSuperblock(f *testing.F) {
	buf := make([]byte, superblockSize)
	fuzzed.put(buf)
	f.Add(buf, false)
	f.Add(buf, true)
	f.Add(make([]byte, superblockSize), true)
	huge := superblock{geo: geometry{block: 1 << 30, layout: Split, payload: math.MaxUint32, slots: maxSlots}, instance: 7}
	buf = make([]byte, superblockSize)
	huge.put(buf)
	f.Add(buf, false)
	f.Fuzz(func(t *testing.T, src []byte, mend bool) {
		if mend {
			if src = mended(src, storeMagic, superblockSize); len(src) >= superblockSize {
				clear(src[48:60])
				seal(src[:superblockSize])
			}
		}
		b, err := parseSuperblock(src)
		if (err == nil) != IsStore(src) {
			t.Errorf("%v, is a store: %v", err, IsStore(src))
		}
		if err != nil {
			if !errors.Is(err, ErrNotFormatted) {
				t.Errorf("%v doesn't wrap ErrNotFormatted", err)
			}
			return
		}
		if b.geo.slot() < b.geo.payload || b.geo.size() < b.geo.containerSize() {
			t.Errorf("%+v: slot of %d, %d in all", b.geo, b.geo.slot(), b.geo.size())
		}
		again := make([]byte, superblockSize)
		b.put(again)
		if !bytes.Equal(again, src[:superblockSize]) {
			t.Errorf("%+v is written as % x, was read from % x", b, again, src[:superblockSize])
		}
	})
}
