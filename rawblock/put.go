package rawblock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"latlab.example/common/metrics"
)

// PutResult says what became of the keys of a PutMany. Keys of a failed write
// are in none of the counts. A key that comes twice in one call is written once,
// and the second has the first's result: present if that was written.
type PutResult struct {
	Written  int // written and in the index now
	Present  int // in the index before; not written again, and no error
	InFlight int // being written by another call; not written here
	Deleted  int // deleted while they were written here
}

// PutMany stores objects[i] under keys[i] by the store's strategy. With
// strategy Batch on a Batcher each chunk of keys (Options.Chunk) is all or
// nothing: an error of the device, or too few free slots, and none of its keys is
// stored. Otherwise each key stands for itself. The error joins those of chunks
// or keys. Nothing is written if any payload is too big. The objects may be
// reused when PutMany has returned.
//
// A key that failed may be found, whole, after a crash before the next Sync.
func (s *Store) PutMany(ctx context.Context, keys []Key, objects [][]byte) (PutResult, error) {
	if len(keys) != len(objects) {
		return PutResult{}, fmt.Errorf("put: %w: %d keys, %d objects", ErrArguments, len(keys), len(objects))
	}
	for i, o := range objects {
		if err := s.tooBig(o); err != nil {
			return PutResult{}, fmt.Errorf("put %v: %w; nothing was written", keys[i], err)
		}
	}
	if err := s.begin(); err != nil {
		return PutResult{}, err
	}
	defer s.calls.Done()
	p := s.newPut(keys, objects)
	p.run(ctx)
	return p.res, errors.Join(p.errs...)
}

// PutEach stores as PutMany does, but each key stands for itself, also in a
// batch. It returns an error a key: nil if it is stored now, whether it was
// written or there before. Keys after the slots have run out get ErrFull, those
// with too large a payload ErrTooBig, those that another call writes ErrInFlight,
// those deleted meanwhile ErrDeleted.
func (s *Store) PutEach(ctx context.Context, keys []Key, objects [][]byte) []error {
	each := make([]error, len(keys))
	err := s.begin()
	if err == nil {
		defer s.calls.Done()
		if len(keys) != len(objects) {
			err = fmt.Errorf("put: %w: %d keys, %d objects", ErrArguments, len(keys), len(objects))
		}
	}
	if err != nil {
		for i := range each {
			each[i] = err
		}
		return each
	}
	p := s.newPut(keys, objects)
	p.each = each
	p.run(ctx)
	return each
}

// Put stores one object: PutEach of one key.
func (s *Store) Put(ctx context.Context, k Key, object []byte) error {
	return s.PutEach(ctx, []Key{k}, [][]byte{object})[0]
}

func (s *Store) tooBig(object []byte) error {
	if len(object) > s.geo.payload {
		return fmt.Errorf("%w: %d bytes, a slot takes %d", ErrTooBig, len(object), s.geo.payload)
	}
	return nil
}

// put is one PutMany or PutEach under way.
type put struct {
	s       *Store
	req     *metrics.Request
	keys    []Key
	objects [][]byte
	call    uint64

	// The store's lock guards what follows, while goroutines of the put run.
	each   []error       // by key; nil if keys don't stand for themselves
	res    PutResult     // what is counted so far
	errs   []error       // for PutMany to join
	failed map[Key]error // why this call didn't store a key, for those that come twice
	twice  []int         // keys that this call was writing already
}

func (s *Store) newPut(keys []Key, objects [][]byte) *put {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call++
	return &put{s: s, keys: keys, objects: objects, call: s.call}
}

// run does all keys by the strategy.
func (p *put) run(ctx context.Context) {
	s := p.s
	p.req = s.rec.Request()
	defer p.req.Finish()
	switch {
	case s.opt.Strategy == Batch && s.batcher != nil && len(p.keys) > 1:
		p.batch(ctx)
	case s.opt.Strategy == FanOut:
		p.fanOut(ctx)
	case s.opt.Strategy == Pool:
		p.pool(ctx)
	default:
		p.sequential(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range p.twice {
		p.again(i)
	}
}

// batch does the keys chunk by chunk, each through Phases A to D.
func (p *put) batch(ctx context.Context) {
	chunk := p.s.opt.Chunk
	if chunk == 0 {
		chunk = len(p.keys)
	}
	for from := 0; from < len(p.keys); from += chunk {
		p.group(ctx, from, min(from+chunk, len(p.keys)), 0, true)
	}
}

// sequential is the old loop.
func (p *put) sequential(ctx context.Context) {
	for i := range p.keys {
		p.group(ctx, i, i+1, 0, false)
	}
}

// fanOut starts a goroutine a key.
func (p *put) fanOut(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range p.keys {
		asked := p.req.Start()
		wg.Go(func() {
			track := p.req.Track()
			p.req.End(track, StageDispatch, asked)
			p.group(ctx, i, i+1, track, false)
		})
	}
	wg.Wait()
}

// pool lets a bounded number of goroutines take the keys in order.
func (p *put) pool(ctx context.Context) {
	var wg sync.WaitGroup
	next := make(chan int, len(p.keys)) // never blocks, so that workers set the pace
	for i := range p.keys {
		next <- i
	}
	close(next)
	for range min(p.s.opt.Workers, len(p.keys)) {
		asked := p.req.Start()
		wg.Go(func() {
			track := p.req.Track()
			p.req.End(track, StageDispatch, asked)
			for i := range next {
				p.group(ctx, i, i+1, track, false)
			}
		})
	}
	wg.Wait()
}

// group does the keys from..to: Phases A to D in one submission if it is
// batched, else the old loop's body for one key.
func (p *put) group(ctx context.Context, from, to int, track metrics.Track, batched bool) {
	s, req := p.s, p.req
	mark := req.Start()
	picks := p.reserve(from, to)
	req.End(track, StageReserve, mark)
	if len(picks) == 0 {
		return
	}

	mark = req.Start()
	buf, steps, err := p.prepare(picks)
	req.End(track, StagePrepare, mark)

	var failed []error
	if err == nil {
		failed, err = p.write(ctx, track, batched, len(picks), steps)
		s.arena.put(buf)
	}

	mark = req.Start()
	p.settle(picks, failed, err)
	req.End(track, StageCommit, mark)
}

// pick is a key that got a slot.
type pick struct {
	at   int // in the call's keys
	slot uint32
	gen  uint64
}

// reserve is Phase A for the keys from..to: it takes a slot and a generation for
// each key that is neither stored nor in flight. If there aren't enough slots,
// none is taken, unless keys stand for themselves.
func (p *put) reserve(from, to int) []pick {
	s := p.s
	picks := make([]pick, 0, to-from)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := from; i < to; i++ {
		k := p.keys[i]
		if p.failed != nil && p.failed[k] != nil {
			p.again(i)
			continue
		}
		if p.each != nil {
			if err := s.tooBig(p.objects[i]); err != nil {
				p.fail(i, err)
				continue
			}
		}
		slot, place, ok := s.index.find(&k)
		if ok {
			switch m := &s.meta[slot]; {
			case m.state == slotStored:
				p.res.Present++
			case m.call == p.call:
				p.twice = append(p.twice, i)
			default:
				p.res.InFlight++
				if p.each != nil {
					p.each[i] = fmt.Errorf("put %v: %w", k, ErrInFlight)
				}
			}
			continue
		}
		slot, ok = s.free.take()
		if !ok {
			err := fmt.Errorf("%w: all %d are in use; delete keys or use a larger device", ErrFull, len(s.meta))
			if p.each != nil {
				p.fail(i, err)
				continue
			}
			p.unreserve(picks)
			for _, x := range picks {
				p.fail(x.at, err)
			}
			p.fail(i, err)
			p.errs = append(p.errs, fmt.Errorf("put %s: %w; none was written", p.name(from, to), err))
			return nil
		}
		s.index.enter(place, slot)
		m := &s.meta[slot]
		m.key, m.gen, m.call, m.length, m.state = k, s.gen, p.call, uint32(len(p.objects[i])), slotInFlight
		picks = append(picks, pick{at: i, slot: slot, gen: s.gen})
		s.gen++
	}
	s.inFlight += len(picks)
	return picks
}

// unreserve takes back what reserve has just given. The caller holds the lock.
func (p *put) unreserve(picks []pick) {
	s := p.s
	for _, x := range picks {
		s.index.remove(&p.keys[x.at])
		s.meta[x.slot].state = slotFree
	}
	s.free.undo(len(picks))
}

// prepare is Phase B: it fills the buffers.
func (p *put) prepare(picks []pick) (arena []byte, steps []step, err error) {
	s := p.s
	total := 0
	for _, x := range picks {
		total += s.geo.used(len(p.objects[x.at]))
	}
	if arena, err = s.arena.get(total); err != nil {
		return nil, nil, err
	}
	steps = s.steps(len(picks))
	rest := arena
	for n, x := range picks {
		object := p.objects[x.at]
		used := s.geo.used(len(object))
		buf := rest[:used:used]
		rest = rest[used:]
		s.fill(buf, header{key: p.keys[x.at], gen: x.gen, slot: x.slot}, object)
		s.arrange(steps, n, s.geo.offset(x.slot), buf)
	}
	return arena, steps, nil
}

// fill writes header and payload into a slot's buffer and clears the padding.
func (s *Store) fill(buf []byte, h header, payload []byte) {
	h.instance, h.length, h.payload = s.instance, uint32(len(payload)), checksum(payload)
	h.put(buf)
	at := s.geo.payloadAt()
	clear(buf[headerSize:at])
	clear(buf[at+copy(buf[at:], payload):])
}

// settle is Phase D: it commits the picked keys, or gives their slots back if
// err says so for all, failed for one, or the key was deleted meanwhile.
func (p *put) settle(picks []pick, failed []error, err error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight -= len(picks)
	s.changes++
	for n, x := range picks {
		why := err
		if why == nil && failed != nil {
			why = failed[n]
		}
		m := &s.meta[x.slot]
		if why == nil && m.state == slotCancelled {
			why = ErrDeleted
			p.res.Deleted++
		}
		if why == nil {
			m.state = slotStored
			s.stored++
			p.res.Written++
			continue
		}
		s.index.remove(&p.keys[x.at])
		s.release(x.slot)
		p.fail(x.at, why)
	}
	if err != nil && p.each == nil {
		from, last := picks[0].at, picks[len(picks)-1].at
		p.errs = append(p.errs, fmt.Errorf("put %s: %w; none was stored", p.name(from, last+1), err))
	}
}

// fail notes why key i isn't stored. The caller holds the lock.
func (p *put) fail(i int, why error) {
	if p.failed == nil {
		p.failed = make(map[Key]error)
	}
	p.failed[p.keys[i]] = why
	if p.each != nil {
		p.each[i] = fmt.Errorf("put %v: %w", p.keys[i], why)
	}
}

// again gives key i the result that this call has for the same key. The caller
// holds the lock.
func (p *put) again(i int) {
	why := p.failed[p.keys[i]]
	switch {
	case why == nil:
		p.res.Present++
		return
	case errors.Is(why, ErrDeleted):
		p.res.Deleted++
	}
	p.fail(i, why)
}

// name says which keys an error is of.
func (p *put) name(from, to int) string {
	if to-from == 1 {
		return p.keys[from].String()
	}
	return fmt.Sprintf("keys %d to %d of %d", from, to-1, len(p.keys))
}
