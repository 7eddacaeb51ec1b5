package rawblock

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// Key names an object: the first 16 bytes of a SHA-256.
type Key [16]byte

// KeyOf is the key of a name.
func KeyOf(name string) Key {
	sum := sha256.Sum256([]byte(name))
	return Key(sum[:16])
}

func (k Key) String() string { return fmt.Sprintf("%x", k[:]) }

var (
	// ErrHeader occurs when a slot's header isn't the one that was written for its key.
	ErrHeader = errors.New("slot header does not match")
	// ErrChecksum occurs when a slot's header is its key's, but the payload isn't
	// what was written.
	ErrChecksum = errors.New("payload damaged")
)

// castagnoli is the polynomial that processors have an instruction for: CRC32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// headerSize is that of version 2. The study's header had magic, key and length
// in 32 bytes.
const headerSize = 64

var slotMagic = [8]byte{'l', 'a', 't', 's', 'l', 'o', 't', '2'}

// header says what lies in a slot. On the device, little endian:
//
//	 0  magic
//	 8  instance: which Format the store is from
//	16  generation: a number that no other write of the store has, and rises
//	24  key
//	40  length of the payload, 8 bytes
//	48  slot: where the header must lie
//	52  CRC32C of the payload
//	56  zero
//	60  CRC32C of the 60 bytes before
type header struct {
	instance, gen uint64
	key           Key
	length, slot  uint32
	payload       uint32 // its checksum
}

func (h header) put(dst []byte) {
	copy(dst, slotMagic[:])
	binary.LittleEndian.PutUint64(dst[8:], h.instance)
	binary.LittleEndian.PutUint64(dst[16:], h.gen)
	copy(dst[24:], h.key[:])
	binary.LittleEndian.PutUint64(dst[40:], uint64(h.length))
	binary.LittleEndian.PutUint32(dst[48:], h.slot)
	binary.LittleEndian.PutUint32(dst[52:], h.payload)
	binary.LittleEndian.PutUint32(dst[56:], 0)
	seal(dst[:headerSize])
}

// parseHeader reads a slot's header. Its errors wrap ErrHeader.
func parseHeader(src []byte) (header, error) {
	if err := sealed(src, headerSize, slotMagic); err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	length := binary.LittleEndian.Uint64(src[40:])
	if zero := binary.LittleEndian.Uint32(src[56:]); length > math.MaxUint32 || zero != 0 {
		return header{}, fmt.Errorf("%w: length %d, reserved %#x", ErrHeader, length, zero)
	}
	return header{
		instance: binary.LittleEndian.Uint64(src[8:]),
		gen:      binary.LittleEndian.Uint64(src[16:]),
		key:      Key(src[24:40]),
		length:   uint32(length),
		slot:     binary.LittleEndian.Uint32(src[48:]),
		payload:  binary.LittleEndian.Uint32(src[52:]),
	}, nil
}

// check compares the header that was found with what the index has. The
// payload's checksum isn't in the index.
func (h header) check(want header) error {
	switch {
	case h.instance != want.instance:
		return fmt.Errorf("%w: it is from another format of the device", ErrHeader)
	case h.slot != want.slot:
		return fmt.Errorf("%w: it was written for slot %d", ErrHeader, h.slot)
	case h.key != want.key:
		return fmt.Errorf("%w: it belongs to key %v", ErrHeader, h.key)
	case h.gen != want.gen:
		return fmt.Errorf("%w: generation %d, the index has %d", ErrHeader, h.gen, want.gen)
	case h.length != want.length:
		return fmt.Errorf("%w: length %d, the index has %d", ErrHeader, h.length, want.length)
	}
	return nil
}

// seal puts the checksum of all before into a record's last 4 bytes.
func seal(record []byte) {
	at := len(record) - 4
	binary.LittleEndian.PutUint32(record[at:], checksum(record[:at]))
}

// sealed says why src doesn't start with a whole record of n bytes.
func sealed(src []byte, n int, magic [8]byte) error {
	switch {
	case len(src) < n:
		return fmt.Errorf("%d bytes of %d", len(src), n)
	case [8]byte(src) != magic:
		return fmt.Errorf("no magic, found %x", src[:8])
	case binary.LittleEndian.Uint32(src[n-4:]) != checksum(src[:n-4]):
		return errors.New("its checksum is wrong")
	}
	return nil
}
