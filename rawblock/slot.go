package rawblock

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Key names an object: the first 16 bytes of a SHA-256.
type Key [16]byte

// KeyOf is the key of a name.
func KeyOf(name string) Key {
	sum := sha256.Sum256([]byte(name))
	return Key(sum[:16])
}

func (k Key) String() string { return fmt.Sprintf("%x", k[:]) }

// headerSize is the study's: magic 8 B, key 16 B, payload length 8 B.
const headerSize = 32

var magic = [8]byte{'l', 'a', 't', 's', 'l', 'o', 't', '1'}

// ErrHeader occurs when a slot's header isn't the one that was written for its key.
var ErrHeader = errors.New("slot header does not match")

func putHeader(dst []byte, k Key, length int) {
	copy(dst, magic[:])
	copy(dst[8:], k[:])
	binary.LittleEndian.PutUint64(dst[24:], uint64(length))
}

func checkHeader(src []byte, k Key, length int) error {
	switch {
	case [8]byte(src) != magic:
		return fmt.Errorf("%w: no magic, found %x", ErrHeader, src[:8])
	case Key(src[8:24]) != k:
		return fmt.Errorf("%w: it belongs to key %x", ErrHeader, src[8:24])
	case binary.LittleEndian.Uint64(src[24:]) != uint64(length):
		return fmt.Errorf("%w: length %d, the index has %d", ErrHeader, binary.LittleEndian.Uint64(src[24:]), length)
	}
	return nil
}

// geometry is where things lie in a slot. All sizes are in bytes.
type geometry struct {
	block   int
	layout  Layout
	payload int // the largest
}

func alignUp(n, block int) int { return (n + block - 1) / block * block }

// payloadAt is the payload's offset in the slot.
func (g geometry) payloadAt() int {
	if g.layout == Split {
		return alignUp(headerSize, g.block)
	}
	return headerSize
}

// slot is a slot's size.
func (g geometry) slot() int { return alignUp(g.payloadAt()+g.payload, g.block) }

// SlotSize is the size in bytes of the slots of a store with these options on a
// device with that block.
func SlotSize(payload int, l Layout, block int) int64 {
	return int64(geometry{block: block, layout: l, payload: payload}.slot())
}

// used is how much of the slot a payload of n bytes takes, from its start.
func (g geometry) used(n int) int { return alignUp(g.payloadAt()+n, g.block) }

// fill writes header and payload into a slot's buffer and clears the padding.
func (g geometry) fill(buf []byte, k Key, payload []byte) {
	putHeader(buf, k, len(payload))
	at := g.payloadAt()
	clear(buf[headerSize:at])
	clear(buf[at+copy(buf[at:], payload):])
}

// writes appends what must be written for a filled buffer at offset off.
func (g geometry) writes(ws []IO, off int64, buf []byte) []IO {
	if g.layout == Aligned {
		return append(ws, IO{Off: off, Buf: buf})
	}
	at := g.payloadAt()
	ws = append(ws, IO{Off: off, Buf: buf[:at], HeaderOnly: true})
	if at < len(buf) {
		ws = append(ws, IO{Off: off + int64(at), Buf: buf[at:]})
	}
	return ws
}
