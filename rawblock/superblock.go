package rawblock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var (
	// ErrNotFormatted occurs when a device doesn't start with a store's superblock.
	ErrNotFormatted = errors.New("no store on the device")
	// ErrGeometry occurs when a store isn't what the options or the device say.
	ErrGeometry = errors.New("store of another geometry")
)

const (
	superblockSize    = 64
	superblockVersion = 2
	minBlock          = 512
)

var storeMagic = [8]byte{'l', 'a', 't', 's', 't', 'o', 'r', 'e'}

// superblock is written once, by Format. On the device, little endian:
//
//	 0  magic
//	 8  version, 4 bytes
//	12  layout, 4 bytes: 0 split, 1 aligned
//	16  block, 8 bytes
//	24  largest payload, 8 bytes
//	32  slots, 8 bytes
//	40  instance: a random number; what an earlier Format left has another
//	48  zero
//	60  CRC32C of the 60 bytes before
type superblock struct {
	geo      geometry
	instance uint64
}

var layoutCodes = []Layout{Split, Aligned}

func (b superblock) put(dst []byte) {
	clear(dst)
	copy(dst, storeMagic[:])
	binary.LittleEndian.PutUint32(dst[8:], superblockVersion)
	for code, l := range layoutCodes {
		if l == b.geo.layout {
			binary.LittleEndian.PutUint32(dst[12:], uint32(code))
		}
	}
	binary.LittleEndian.PutUint64(dst[16:], uint64(b.geo.block))
	binary.LittleEndian.PutUint64(dst[24:], uint64(b.geo.payload))
	binary.LittleEndian.PutUint64(dst[32:], uint64(b.geo.slots))
	binary.LittleEndian.PutUint64(dst[40:], b.instance)
	seal(dst[:superblockSize])
}

// parseSuperblock reads a superblock. Its errors wrap ErrNotFormatted.
func parseSuperblock(src []byte) (superblock, error) {
	if err := sealed(src, superblockSize, storeMagic); err != nil {
		return superblock{}, fmt.Errorf("%w: superblock: %w", ErrNotFormatted, err)
	}
	version, layout := binary.LittleEndian.Uint32(src[8:]), binary.LittleEndian.Uint32(src[12:])
	block, payload := binary.LittleEndian.Uint64(src[16:]), binary.LittleEndian.Uint64(src[24:])
	slots := binary.LittleEndian.Uint64(src[32:])
	if version != superblockVersion {
		return superblock{}, fmt.Errorf("%w: superblock of version %d, this program knows %d", ErrNotFormatted, version, superblockVersion)
	}
	if int(layout) >= len(layoutCodes) || block < minBlock || block > math.MaxInt32 ||
		payload < 1 || payload > math.MaxUint32 || slots < 1 || slots > maxSlots {
		return superblock{}, fmt.Errorf("%w: superblock with layout %d, block %d, payload %d, slots %d", ErrNotFormatted, layout, block, payload, slots)
	}
	geo := geometry{block: int(block), layout: layoutCodes[layout], payload: int(payload), slots: int(slots)}
	if geo.overflows() {
		return superblock{}, fmt.Errorf("%w: superblock of %d slots of %d bytes, more than a device can hold", ErrNotFormatted, slots, geo.slot())
	}
	return superblock{geo: geo, instance: binary.LittleEndian.Uint64(src[40:])}, nil
}

// IsStore says whether a device whose first bytes are given holds a store. 64
// bytes are enough.
func IsStore(first []byte) bool {
	_, err := parseSuperblock(first)
	return err == nil
}

// write puts the superblock at the start of the device and flushes.
func (b superblock) write(ctx context.Context, dev Device, a *arena) error {
	buf, err := a.get(alignUp(superblockSize, b.geo.block))
	if err != nil {
		return fmt.Errorf("write superblock: %w", err)
	}
	defer a.put(buf)
	b.put(buf)
	if err := dev.Write(ctx, IO{Buf: buf}); err != nil {
		return fmt.Errorf("write superblock: %w", err)
	}
	if err := dev.Flush(ctx); err != nil {
		return fmt.Errorf("write superblock: %w", err)
	}
	return nil
}

func readSuperblock(dev Device, a *arena) (superblock, error) {
	block := dev.BlockSize()
	if dev.Size() < int64(block) || block < minBlock {
		return superblock{}, fmt.Errorf("%w: device of %d bytes in blocks of %d", ErrNotFormatted, dev.Size(), block)
	}
	buf, err := a.get(block)
	if err != nil {
		return superblock{}, fmt.Errorf("read superblock: %w", err)
	}
	defer a.put(buf)
	if _, err := dev.ReadAt(buf, 0); err != nil {
		return superblock{}, fmt.Errorf("read superblock: %w", err)
	}
	return parseSuperblock(buf)
}
