package rawblock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Recovery says what Open found.
type Recovery struct {
	Sequence uint64 // of the checkpoint that was used; 0 if there is none
	Rejected int    // containers with a checkpoint of the store that isn't whole
	Listed   int    // keys from the checkpoint
	Newer    int    // keys whose writes were done after the checkpoint
	Torn     int    // slots whose header has no whole payload; they are free
	Replaced int    // whole slots whose key was written again later; they are free
	Damaged  int    // keys of the checkpoint whose slot holds neither them nor a newer write; a sound device has none
}

// Recovery says what Open found; it is zero for a store of New.
func (s *Store) Recovery() Recovery { return s.recovery }

// Open opens the store that Format made on dev and that may have crashed. It
// takes the newer checkpoint that is whole, reads the header of every slot, and
// keeps the keys that the checkpoint lists and those with a newer header. The
// payload of the newer ones, or with Options.Verify of all, is read and
// checked. Nothing is written.
//
// A key that was deleted since the last Sync may be back. If its slot was being
// written again at the crash, a Get answers ErrChecksum, unless Verify has left
// the key out.
//
// The store owns dev from then on: Close closes it, and so does an error of
// Open. Errors wrap ErrNotFormatted or ErrGeometry, or are the device's.
func Open(ctx context.Context, dev Device, o Options) (*Store, error) {
	s, err := newStore(dev, o)
	if err == nil {
		err = s.recover(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("rawblock: open: %w", err), s.abandon(dev))
	}
	return s, nil
}

// found is a slot that may hold a key.
type found struct {
	header
	listed bool // by the checkpoint, as stored
	torn   bool
}

func (s *Store) recover(ctx context.Context) error {
	b, err := readSuperblock(s.dev, &s.arena)
	if err != nil {
		return err
	}
	if err := s.fits(b); err != nil {
		return err
	}
	s.use(b)
	c, err := s.newestCheckpoint(b)
	if err != nil {
		return err
	}
	s.sequence, s.gen = c.sequence, c.next
	slots, err := s.scan(ctx, c)
	if err != nil {
		return err
	}
	if err := s.verify(ctx, slots); err != nil {
		return err
	}
	s.enter(slots)
	s.start(func(slot uint32) bool { return s.meta[slot].state == slotStored })
	if r := s.recovery; r.Newer+r.Torn+r.Replaced+r.Damaged > 0 {
		s.changes++ // so that the next Sync doesn't take the checkpoint for enough
	}
	return nil
}

// fits compares the superblock with the device and with what was asked for.
func (s *Store) fits(b superblock) error {
	g, o := b.geo, s.opt
	switch {
	case g.block != s.dev.BlockSize():
		return fmt.Errorf("%w: formatted in blocks of %d bytes, the device has %d", ErrGeometry, g.block, s.dev.BlockSize())
	case g.size() > s.dev.Size():
		return fmt.Errorf("%w: it takes %d bytes, the device has %d", ErrGeometry, g.size(), s.dev.Size())
	case o.Payload != 0 && o.Payload != g.payload, o.Slots != 0 && o.Slots != g.slots, o.Layout != "" && o.Layout != g.layout:
		return fmt.Errorf("%w: formatted with payload %d, %d slots, layout %s; the options say %d, %d, %q: leave them zero or format again",
			ErrGeometry, g.payload, g.slots, g.layout, o.Payload, o.Slots, o.Layout)
	}
	return nil
}

// newestCheckpoint reads both containers. Without a checkpoint every header is newer.
func (s *Store) newestCheckpoint(b superblock) (checkpoint, error) {
	newest := checkpoint{next: 1}
	for i := range 2 {
		c, written, err := s.readCheckpoint(i, b)
		switch {
		case err == nil && c.sequence > newest.sequence:
			newest = c
		case err == nil:
		case !errors.Is(err, errCheckpoint):
			return newest, err
		case written:
			s.recovery.Rejected++
			s.rejected[i] = true
		}
	}
	s.recovery.Sequence = newest.sequence
	return newest, nil
}

// Slots up to fullScan bytes are read whole, scanRun bytes at once: that is
// faster than a read a header. Of larger ones only the start is read.
const (
	fullScan = 16 << 10
	scanRun  = 128 << 10
	scanAll  = 4 << 20 // in one submission
)

// scan reads all headers and returns those that may be of a stored key.
func (s *Store) scan(ctx context.Context, c checkpoint) ([]found, error) {
	listed := make(map[uint32]entry, len(c.entries))
	for _, e := range c.entries {
		listed[e.slot] = e
	}
	run, size := 1, s.geo.head()
	if s.geo.slot() <= fullScan {
		run = min(scanRun/s.geo.slot(), s.geo.slots)
		size = run * s.geo.slot()
	}
	reads := min(max(1, scanAll/size), (s.geo.slots+run-1)/run)
	arena, err := s.arena.get(reads * size)
	if err != nil {
		return nil, err
	}
	defer s.arena.put(arena)
	var slots []found
	for next := 0; next < s.geo.slots; {
		first := next
		var rs []IO
		for len(rs) < reads && next < s.geo.slots {
			n := min(run, s.geo.slots-next)
			buf := arena[len(rs)*size:]
			if run > 1 {
				buf = buf[:n*s.geo.slot()]
			} else {
				buf = buf[:size]
			}
			rs = append(rs, IO{Off: s.geo.offset(uint32(next)), Buf: buf})
			next += n
		}
		s.readAll(ctx, rs)
		slot := first
		for _, r := range rs {
			if r.Err != nil {
				return nil, fmt.Errorf("read the headers from slot %d on: %w", slot, r.Err)
			}
			for at := 0; at < len(r.Buf); at += s.geo.slot() {
				if f, ok := s.judge(r.Buf[at:], uint32(slot), c, listed); ok {
					slots = append(slots, f)
				}
				slot++
			}
		}
	}
	return slots, nil
}

// judge decides by checkpoint and header whether a slot may hold a key.
func (s *Store) judge(buf []byte, slot uint32, c checkpoint, listed map[uint32]entry) (found, bool) {
	h, err := parseHeader(buf)
	e, known := listed[slot]
	mine := err == nil && h.instance == s.instance && h.slot == slot && h.gen > 0 && int(h.length) <= s.geo.payload
	if mine {
		s.gen = max(s.gen, h.gen+1)
	}
	switch {
	case mine && h.gen >= c.next, mine && known && e.inFlight && h.gen == e.gen:
		return found{header: h}, true
	case mine && known && !e.inFlight && h.gen == e.gen && h.key == e.key && h.length == e.length:
		return found{header: h, listed: true}, true
	case known && !e.inFlight:
		s.recovery.Damaged++
	}
	return found{}, false
}

// verify reads the payloads that can't be taken for whole.
func (s *Store) verify(ctx context.Context, slots []found) error {
	var wants []header
	var at []int
	for i, f := range slots {
		if !f.listed || s.opt.Verify {
			wants, at = append(wants, f.header), append(at, i)
		}
	}
	var failed error
	s.read(ctx, wants, func(n int, _ []byte, err error) {
		switch {
		case errors.Is(err, ErrChecksum):
			slots[at[n]].torn = true
		case err != nil && failed == nil:
			failed = fmt.Errorf("read slot %d: %w", wants[n].slot, err)
		}
	})
	return failed
}

// enter puts what was found into the index: of each key the newest.
func (s *Store) enter(slots []found) {
	slices.SortFunc(slots, func(a, b found) int { return cmp.Compare(b.gen, a.gen) })
	for _, f := range slots {
		if f.torn {
			s.recovery.Torn++
			continue
		}
		_, place, ok := s.index.find(&f.key)
		if ok {
			s.recovery.Replaced++
			continue
		}
		if f.listed {
			s.recovery.Listed++
		} else {
			s.recovery.Newer++
		}
		s.meta[f.slot] = slotMeta{key: f.key, gen: f.gen, length: f.length, state: slotStored}
		s.index.enter(place, f.slot)
		s.stored++
	}
}
