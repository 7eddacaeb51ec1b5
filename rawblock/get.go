package rawblock

import (
	"context"
	"fmt"
)

// Get appends the key's payload to dst. The slot is pinned meanwhile: Delete
// and reuse can't change what is read. Header and payload are checked against
// the index and their checksums; an error wraps ErrHeader or ErrChecksum if they
// aren't what was put.
func (s *Store) Get(ctx context.Context, k Key, dst []byte) ([]byte, error) {
	if err := s.begin(); err != nil {
		return dst, err
	}
	defer s.calls.Done()
	s.mu.Lock()
	want, ok := s.pin(k)
	s.mu.Unlock()
	if !ok {
		return dst, fmt.Errorf("get %v: %w", k, ErrNotFound)
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unpin(want.slot)
	}()
	if err := ctx.Err(); err != nil {
		return dst, fmt.Errorf("get %v: %w", k, err)
	}
	buf, err := s.arena.get(s.geo.used(int(want.length)))
	if err != nil {
		return dst, fmt.Errorf("get %v: %w", k, err)
	}
	defer s.arena.put(buf)
	if _, err := s.dev.ReadAt(buf, s.geo.offset(want.slot)); err != nil {
		return dst, fmt.Errorf("get %v: read slot %d: %w", k, want.slot, err)
	}
	payload, err := s.payloadIn(buf, want)
	if err != nil {
		return dst, fmt.Errorf("get %v: slot %d: %w", k, want.slot, err)
	}
	return append(dst, payload...), nil
}

// GetMany appends the payload of keys[i] to dst[i], as Get does, and returns an
// error a key. On a Batcher all are read in one submission, or in one a chunk
// (Options.Chunk); otherwise one by one. A key that can't be read doesn't keep
// the others from being read.
func (s *Store) GetMany(ctx context.Context, keys []Key, dst [][]byte) []error {
	errs := make([]error, len(keys))
	err := s.begin()
	if err == nil {
		defer s.calls.Done()
		if len(keys) != len(dst) {
			err = fmt.Errorf("get: %w: %d keys, %d objects", ErrArguments, len(keys), len(dst))
		}
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	wants, at := make([]header, 0, len(keys)), make([]int, 0, len(keys))
	s.mu.Lock()
	for i, k := range keys {
		if want, ok := s.pin(k); ok {
			wants, at = append(wants, want), append(at, i)
		} else {
			errs[i] = fmt.Errorf("get %v: %w", k, ErrNotFound)
		}
	}
	s.mu.Unlock()
	s.read(ctx, wants, func(n int, payload []byte, err error) {
		i := at[n]
		if err != nil {
			errs[i] = fmt.Errorf("get %v: slot %d: %w", keys[i], wants[n].slot, err)
			return
		}
		dst[i] = append(dst[i], payload...)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range wants {
		s.unpin(want.slot)
	}
	return errs
}

// pin finds a stored key and holds its slot. The caller holds the lock.
func (s *Store) pin(k Key) (want header, ok bool) {
	slot, _, ok := s.index.find(&k)
	if !ok || s.meta[slot].state != slotStored {
		return header{}, false
	}
	m := &s.meta[slot]
	m.pins++
	return header{instance: s.instance, gen: m.gen, key: k, length: m.length, slot: slot}, true
}

// unpin lets a slot go. The caller holds the lock.
func (s *Store) unpin(slot uint32) {
	m := &s.meta[slot]
	if m.pins--; m.pins == 0 && m.state == slotDead {
		s.release(slot)
	}
}

// payloadIn checks a slot's buffer and returns the payload in it.
func (s *Store) payloadIn(buf []byte, want header) ([]byte, error) {
	h, err := parseHeader(buf)
	if err != nil {
		return nil, err
	}
	if err := h.check(want); err != nil {
		return nil, err
	}
	at := s.geo.payloadAt()
	payload := buf[at : at+int(h.length)]
	if sum := checksum(payload); sum != h.payload {
		return nil, fmt.Errorf("%w: CRC32C %08x, the header has %08x", ErrChecksum, sum, h.payload)
	}
	return payload, nil
}

// readAtOnce bounds the memory of one submission of reads.
const readAtOnce = 256 << 20

// read reads slots at full depth and calls use for each, with the payload, which
// is gone afterwards, or an error.
func (s *Store) read(ctx context.Context, wants []header, use func(n int, payload []byte, err error)) {
	for from := 0; from < len(wants); {
		to, total := from, 0
		for to < len(wants) && (s.opt.Chunk == 0 || to-from < s.opt.Chunk) {
			used := s.geo.used(int(wants[to].length))
			if to > from && total+used > readAtOnce {
				break
			}
			total += used
			to++
		}
		s.readGroup(ctx, wants[from:to], total, func(n int, payload []byte, err error) { use(from+n, payload, err) })
		from = to
	}
}

func (s *Store) readGroup(ctx context.Context, wants []header, total int, use func(n int, payload []byte, err error)) {
	arena, err := s.arena.get(total)
	if err != nil {
		for n := range wants {
			use(n, nil, err)
		}
		return
	}
	defer s.arena.put(arena)
	rs := make([]IO, len(wants))
	rest := arena
	for n, want := range wants {
		used := s.geo.used(int(want.length))
		rs[n] = IO{Off: s.geo.offset(want.slot), Buf: rest[:used:used]}
		rest = rest[used:]
	}
	s.readAll(ctx, rs)
	for n, r := range rs {
		if r.Err != nil {
			use(n, nil, r.Err)
			continue
		}
		payload, err := s.payloadIn(r.Buf, wants[n])
		use(n, payload, err)
	}
}

// readAll fills the buffers in one submission if the device takes batches, else
// one after the other, and sets Err of each.
func (s *Store) readAll(ctx context.Context, rs []IO) {
	if s.batcher == nil {
		for i := range rs {
			if rs[i].Err = ctx.Err(); rs[i].Err == nil {
				_, rs[i].Err = s.dev.ReadAt(rs[i].Buf, rs[i].Off)
			}
		}
		return
	}
	err := transfer(rs, true, func(rs []IO) error { return s.batcher.ReadBatch(ctx, rs) })
	if err == nil {
		return
	}
	found := false
	for i := range rs {
		if rs[i].Err != nil {
			found = true
			rs[i].Err = because(rs[i].Err, err)
		}
	}
	if !found { // the error is of all
		for i := range rs {
			rs[i].Err = err
		}
	}
}
