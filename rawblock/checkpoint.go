package rawblock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// A checkpoint lists the slots that are stored, so that Open knows which headers
// are of deleted keys, and those in flight. It is written to two containers in
// turn, so that one is always whole. On the device, little endian:
//
//	 0  magic
//	 8  instance
//	16  sequence: the higher of two checkpoints is the newer
//	24  next generation: headers from it on are newer than the checkpoint
//	32  number of entries, 8 bytes
//	40  CRC32C of the entries
//	44  zero
//	60  CRC32C of the 60 bytes before
//	64  entries of 32 bytes: key, generation (top bit: in flight), slot, length
type checkpoint struct {
	instance, sequence, next uint64
	entries                  []entry
}

// entry is a slot that was stored or in flight.
type entry struct {
	key          Key
	gen          uint64
	slot, length uint32
	inFlight     bool
}

const (
	checkpointHead  = 64
	checkpointEntry = 32
	inFlightBit     = 1 << 63
)

var checkpointMagic = [8]byte{'l', 'a', 't', 'i', 'n', 'd', 'e', 'x'}

// errCheckpoint occurs when a container holds no whole checkpoint of the store.
var errCheckpoint = errors.New("no whole checkpoint")

func (c checkpoint) size() int { return checkpointHead + len(c.entries)*checkpointEntry }

func (c checkpoint) put(dst []byte) {
	rest := dst[checkpointHead:]
	for _, e := range c.entries {
		gen := e.gen
		if e.inFlight {
			gen |= inFlightBit
		}
		copy(rest, e.key[:])
		binary.LittleEndian.PutUint64(rest[16:], gen)
		binary.LittleEndian.PutUint32(rest[24:], e.slot)
		binary.LittleEndian.PutUint32(rest[28:], e.length)
		rest = rest[checkpointEntry:]
	}
	clear(rest)
	head := dst[:checkpointHead]
	clear(head)
	copy(head, checkpointMagic[:])
	binary.LittleEndian.PutUint64(head[8:], c.instance)
	binary.LittleEndian.PutUint64(head[16:], c.sequence)
	binary.LittleEndian.PutUint64(head[24:], c.next)
	binary.LittleEndian.PutUint64(head[32:], uint64(len(c.entries)))
	binary.LittleEndian.PutUint32(head[40:], checksum(dst[checkpointHead:c.size()]))
	seal(head)
}

// parseCheckpointHead reads all but the entries, and says how many there are.
func parseCheckpointHead(src []byte, b superblock) (c checkpoint, entries int, err error) {
	if err := sealed(src, checkpointHead, checkpointMagic); err != nil {
		return c, 0, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	c.instance = binary.LittleEndian.Uint64(src[8:])
	c.sequence = binary.LittleEndian.Uint64(src[16:])
	c.next = binary.LittleEndian.Uint64(src[24:])
	n := binary.LittleEndian.Uint64(src[32:])
	if c.instance != b.instance || c.sequence == 0 || c.next == 0 || c.next >= inFlightBit || n > uint64(b.geo.slots) {
		return c, 0, fmt.Errorf("%w: instance %x, sequence %d, generation %d, %d entries", errCheckpoint, c.instance, c.sequence, c.next, n)
	}
	return c, int(n), nil
}

// parseCheckpoint reads a container. Its errors wrap errCheckpoint.
func parseCheckpoint(src []byte, b superblock) (checkpoint, error) {
	c, n, err := parseCheckpointHead(src, b)
	if err != nil {
		return c, err
	}
	end := checkpointHead + n*checkpointEntry
	if len(src) < end {
		return c, fmt.Errorf("%w: %d bytes of %d", errCheckpoint, len(src), end)
	}
	body := src[checkpointHead:end]
	if binary.LittleEndian.Uint32(src[40:]) != checksum(body) {
		return c, fmt.Errorf("%w: the checksum of its entries is wrong", errCheckpoint)
	}
	c.entries = make([]entry, n)
	listed := make([]bool, b.geo.slots)
	for i := range c.entries {
		raw := body[i*checkpointEntry:]
		gen := binary.LittleEndian.Uint64(raw[16:])
		e := entry{
			key: Key(raw[:16]), gen: gen &^ inFlightBit, inFlight: gen&inFlightBit != 0,
			slot: binary.LittleEndian.Uint32(raw[24:]), length: binary.LittleEndian.Uint32(raw[28:]),
		}
		if int(e.slot) >= b.geo.slots || listed[e.slot] || e.gen == 0 || e.gen >= c.next || int(e.length) > b.geo.payload {
			return c, fmt.Errorf("%w: entry %d: %+v", errCheckpoint, i, e)
		}
		listed[e.slot] = true
		c.entries[i] = e
	}
	return c, nil
}

// Sync writes a checkpoint. When it has returned nil, whatever the mode: keys
// whose put had returned before it was called survive a crash, and keys whose
// Delete had returned stay away. It costs two flushes, a third where a crash left
// half a checkpoint, and 32 bytes a key. Calls
// that overlap go one after the other; puts and gets go on meanwhile.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := s.sync(ctx); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

func (s *Store) sync(ctx context.Context) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	c, changes := s.snapshot()
	if changes == s.synced {
		return nil
	}
	// What the checkpoint lists as stored must be durable before it is.
	if err := s.flush(ctx); err != nil {
		return err
	}
	if err := s.discard(ctx, int(c.sequence%2)); err != nil {
		return fmt.Errorf("discard half a checkpoint: %w; the one before is whole", err)
	}
	if err := s.writeCheckpoint(ctx, c); err != nil {
		return fmt.Errorf("write checkpoint %d: %w; the one before is whole", c.sequence, err)
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.sequence, s.synced = c.sequence, changes
	return nil
}

// discard makes durable that a container holds nothing, if Open found half a
// checkpoint there. Else a crash could leave its head with the rest of the next
// one, which may be just the rest that it lacked: a checkpoint from before Open
// would be whole, and what it doesn't list would be taken for deleted. The caller
// holds syncing.
func (s *Store) discard(ctx context.Context, container int) error {
	if !s.rejected[container] {
		return nil
	}
	nothing, err := s.arena.get(alignUp(checkpointHead, s.geo.block))
	if err != nil {
		return err
	}
	defer s.arena.put(nothing)
	clear(nothing)
	if err := s.dev.Write(ctx, IO{Off: s.geo.containerAt(container), Buf: nothing}); err != nil {
		return err
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.rejected[container] = false
	return nil
}

// snapshot is the checkpoint of this moment.
func (s *Store) snapshot() (c checkpoint, changes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = checkpoint{instance: s.instance, sequence: s.sequence + 1, next: s.gen}
	if s.changes == s.synced {
		return c, s.changes
	}
	c.entries = make([]entry, 0, s.stored+s.inFlight)
	for slot := range s.meta {
		if m := &s.meta[slot]; m.state == slotStored || m.state == slotInFlight {
			c.entries = append(c.entries, entry{key: m.key, gen: m.gen, slot: uint32(slot), length: m.length, inFlight: m.state == slotInFlight})
		}
	}
	return c, s.changes
}

// checkpointPiece is how much of a checkpoint is written at once.
const checkpointPiece = 1 << 20

func (s *Store) writeCheckpoint(ctx context.Context, c checkpoint) error {
	buf, err := s.arena.get(alignUp(c.size(), s.geo.block))
	if err != nil {
		return err
	}
	defer s.arena.put(buf)
	c.put(buf)
	at := s.geo.containerAt(int(c.sequence % 2))
	for from := 0; from < len(buf); from += checkpointPiece {
		if err := s.dev.Write(ctx, IO{Off: at + int64(from), Buf: buf[from:min(from+checkpointPiece, len(buf))]}); err != nil {
			return err
		}
	}
	return nil
}

// readCheckpoint reads the container. It gives errCheckpoint if there is no
// whole one, and written if there should be.
func (s *Store) readCheckpoint(container int, b superblock) (c checkpoint, written bool, err error) {
	at := s.geo.containerAt(container)
	head, err := s.arena.get(alignUp(checkpointHead, s.geo.block))
	if err != nil {
		return c, false, err
	}
	defer s.arena.put(head)
	if _, err := s.dev.ReadAt(head, at); err != nil {
		return c, false, fmt.Errorf("read checkpoint: %w", err)
	}
	_, n, err := parseCheckpointHead(head, b)
	if err != nil {
		return c, [8]byte(head) == checkpointMagic && binary.LittleEndian.Uint64(head[8:]) == b.instance, err
	}
	buf, err := s.arena.get(alignUp(checkpointHead+n*checkpointEntry, s.geo.block))
	if err != nil {
		return c, true, err
	}
	defer s.arena.put(buf)
	for from := 0; from < len(buf); from += checkpointPiece {
		if _, err := s.dev.ReadAt(buf[from:min(from+checkpointPiece, len(buf))], at+int64(from)); err != nil {
			return c, true, fmt.Errorf("read checkpoint: %w", err)
		}
	}
	c, err = parseCheckpoint(buf, b)
	return c, true, err
}
