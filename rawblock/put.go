package rawblock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"latlab.example/common/metrics"
)

// PutResult says what became of the keys of a PutMany. Keys of a failed write
// are in none of the counts.
type PutResult struct {
	Written  int // written and in the index now
	Present  int // in the index before; not written again, and no error
	InFlight int // being written by another call, or twice in this one; not written here
}

// PutMany stores objects[i] under keys[i] by the store's strategy. With
// strategy Batch on a Batcher the call is all or nothing. Otherwise each key
// stands for itself, and the error joins those of the keys that failed. Nothing
// is written if any payload is too big. The objects may be reused when PutMany
// has returned.
func (s *Store) PutMany(ctx context.Context, keys []Key, objects [][]byte) (PutResult, error) {
	if len(keys) != len(objects) {
		return PutResult{}, fmt.Errorf("put: %w: %d keys, %d objects", ErrArguments, len(keys), len(objects))
	}
	for i, o := range objects {
		if len(o) > s.opt.Payload {
			return PutResult{}, fmt.Errorf("put %v: %w: %d bytes, a slot takes %d; nothing was written", keys[i], ErrTooBig, len(o), s.opt.Payload)
		}
	}
	if err := s.begin(); err != nil {
		return PutResult{}, err
	}
	defer s.calls.Done()
	p := put{s: s, req: s.rec.Request(), keys: keys, objects: objects}
	defer p.req.Finish()
	if s.opt.Strategy == Batch && s.batcher != nil && len(keys) > 1 {
		return p.batch(ctx)
	}
	switch s.opt.Strategy {
	case FanOut:
		return p.fanOut(ctx)
	case Pool:
		return p.pool(ctx)
	}
	return p.sequential(ctx)
}

// put is one PutMany under way.
type put struct {
	s       *Store
	req     *metrics.Request
	keys    []Key
	objects [][]byte
}

// reserve is Phase A for the keys from..to: it takes a slot for each key that is
// neither stored nor in flight, or none at all if there aren't enough. picked
// are their indexes.
func (p put) reserve(from, to int) (picked []int, slots []uint32, res PutResult, err error) {
	s := p.s
	picked = make([]int, 0, to-from)
	slots = make([]uint32, 0, to-from)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := from; i < to; i++ {
		k := p.keys[i]
		if _, ok := s.index[k]; ok {
			res.Present++
		} else if _, ok := s.inFlight[k]; ok {
			res.InFlight++
		} else {
			s.inFlight[k] = struct{}{}
			picked = append(picked, i)
		}
	}
	slots, ok := s.free.take(slots, len(picked))
	if !ok {
		for _, i := range picked {
			delete(s.inFlight, p.keys[i])
		}
		return nil, nil, res, fmt.Errorf("%w: %d keys to write, %d of %d slots free; delete keys or use a larger device", ErrFull, len(picked), s.free.n, len(s.meta))
	}
	return picked, slots, res, nil
}

// settle is Phase D: it commits the picked keys, or gives their slots back.
func (p put) settle(picked []int, slots []uint32, written bool) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, i := range picked {
		delete(s.inFlight, p.keys[i])
		if written {
			s.index[p.keys[i]] = slots[n]
			s.meta[slots[n]].length = uint32(len(p.objects[i]))
		} else {
			s.free.give(slots[n])
		}
	}
}

// batch does all keys at once, Phases A to D.
func (p put) batch(ctx context.Context) (PutResult, error) {
	s, req := p.s, p.req
	mark := req.Start()
	picked, slots, res, err := p.reserve(0, len(p.keys))
	req.End(0, StageReserve, mark)
	if err != nil {
		return res, fmt.Errorf("put %d keys: %w; nothing was written", len(p.keys), err)
	}
	if len(picked) == 0 {
		return res, nil
	}

	mark = req.Start()
	total := 0
	for _, i := range picked {
		total += s.geo.used(len(p.objects[i]))
	}
	arena, err := s.arena.get(total)
	if err != nil {
		p.settle(picked, slots, false)
		return res, fmt.Errorf("put %d keys: %w; nothing was written", len(p.keys), err)
	}
	ws := make([]IO, 0, 2*len(picked))
	rest := arena
	for n, i := range picked {
		used := s.geo.used(len(p.objects[i]))
		buf := rest[:used:used]
		rest = rest[used:]
		s.geo.fill(buf, p.keys[i], p.objects[i])
		ws = s.geo.writes(ws, s.offset(slots[n]), buf)
	}
	req.End(0, StagePrepare, mark)

	s.writes.Add(int64(len(ws)))
	mark = req.Start()
	err = s.batcher.WriteBatch(ctx, ws, func() {
		req.End(0, StageSubmit, mark)
		mark = req.Start()
	})
	req.End(0, StageWait, mark)
	s.arena.put(arena)

	mark = req.Start()
	p.settle(picked, slots, err == nil)
	req.End(0, StageCommit, mark)
	if err != nil {
		return res, fmt.Errorf("put %d keys in one batch: %w; nothing was stored", len(picked), err)
	}
	res.Written = len(picked)
	return res, nil
}

// one does key i on a track, the old loop's body.
func (p put) one(ctx context.Context, i int, track metrics.Track) (PutResult, error) {
	s, req := p.s, p.req
	mark := req.Start()
	picked, slots, res, err := p.reserve(i, i+1)
	req.End(track, StageReserve, mark)
	if err != nil {
		return res, fmt.Errorf("put %v: %w", p.keys[i], err)
	}
	if len(picked) == 0 {
		return res, nil
	}

	mark = req.Start()
	buf, err := s.arena.get(s.geo.used(len(p.objects[i])))
	if err != nil {
		p.settle(picked, slots, false)
		return res, fmt.Errorf("put %v: %w", p.keys[i], err)
	}
	s.geo.fill(buf, p.keys[i], p.objects[i])
	ws := s.geo.writes(make([]IO, 0, 2), s.offset(slots[0]), buf)
	req.End(track, StagePrepare, mark)

	mark = req.Start()
	for _, w := range ws {
		s.writes.Add(1)
		if err = s.dev.Write(ctx, w); err != nil {
			break
		}
	}
	req.End(track, StageWait, mark)
	s.arena.put(buf)

	mark = req.Start()
	p.settle(picked, slots, err == nil)
	req.End(track, StageCommit, mark)
	if err != nil {
		return res, fmt.Errorf("put %v: %w", p.keys[i], err)
	}
	res.Written = 1
	return res, nil
}

// sequential is the old loop.
func (p put) sequential(ctx context.Context) (PutResult, error) {
	var t tally
	for i := range p.keys {
		t.add(p.one(ctx, i, 0))
	}
	return t.done()
}

// fanOut starts a goroutine a key.
func (p put) fanOut(ctx context.Context) (PutResult, error) {
	var t tally
	var wg sync.WaitGroup
	for i := range p.keys {
		asked := p.req.Start()
		wg.Go(func() {
			track := p.req.Track()
			p.req.End(track, StageDispatch, asked)
			t.add(p.one(ctx, i, track))
		})
	}
	wg.Wait()
	return t.done()
}

// pool lets a bounded number of goroutines take the keys in order.
func (p put) pool(ctx context.Context) (PutResult, error) {
	var t tally
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
				t.add(p.one(ctx, i, track))
			}
		})
	}
	wg.Wait()
	return t.done()
}

// tally adds up what became of keys that stand for themselves.
type tally struct {
	mu   sync.Mutex
	res  PutResult
	errs []error
}

func (t *tally) add(r PutResult, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.res.Written += r.Written
	t.res.Present += r.Present
	t.res.InFlight += r.InFlight
	if err != nil {
		t.errs = append(t.errs, err)
	}
}

func (t *tally) done() (PutResult, error) { return t.res, errors.Join(t.errs...) }
