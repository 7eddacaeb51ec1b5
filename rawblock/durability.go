package rawblock

import (
	"context"
	"errors"
	"fmt"

	"latlab.example/common/metrics"
)

// step is a list of writes that may be under way together. Between two steps
// lies a flush.
type step struct {
	ws []IO
	of []int // by write: which of the picked keys it is for
}

func (s *step) add(n int, w IO) {
	s.ws, s.of = append(s.ws, w), append(s.of, n)
}

// arrange appends the writes of a filled slot buffer at offset off to the steps, of
// which mode Ordered has two. n is the number of the picked key.
func (s *Store) arrange(steps []step, n int, off int64, buf []byte) {
	last := len(steps) - 1
	cut := s.geo.head()
	if s.geo.layout == Aligned && last == 0 {
		cut = len(buf) // header and payload in one write
	}
	steps[last].add(n, IO{Off: off, Buf: buf[:cut:cut], HeaderOnly: s.geo.layout == Split})
	if cut < len(buf) {
		steps[0].add(n, IO{Off: off + int64(cut), Buf: buf[cut:]})
	}
}

// steps makes room for the writes of so many keys.
func (s *Store) steps(keys int) []step {
	n := 1
	if s.opt.Durability == Ordered {
		n = 2
	}
	a := make([]step, n)
	for i := range a {
		room := keys * 2 / n
		a[i] = step{make([]IO, 0, room), make([]int, 0, room)}
	}
	return a
}

// write does the steps and the flushes of the mode. An error means that none of
// the picked keys is to be stored; otherwise failed[n] says why key n isn't.
// failed is nil if all are.
func (p *put) write(ctx context.Context, track metrics.Track, batched bool, keys int, steps []step) (failed []error, err error) {
	flush := false // what was written since the last flush
	for i, st := range steps {
		if i > 0 && flush {
			if err := p.flush(ctx, track); err != nil {
				return failed, err
			}
			flush = false
		}
		st.drop(failed)
		if len(st.ws) == 0 {
			continue
		}
		flush = true
		if err := p.submit(ctx, track, batched, st.ws); err != nil {
			if failed = st.blame(failed, keys, err); failed == nil || p.each == nil {
				return failed, err
			}
		}
	}
	if p.s.opt.Durability == Flushed && flush {
		return failed, p.flush(ctx, track)
	}
	return failed, nil
}

// drop leaves out the writes of keys that have failed.
func (s *step) drop(failed []error) {
	if failed == nil {
		return
	}
	n := 0
	for i, key := range s.of {
		if failed[key] == nil {
			s.ws[n], s.of[n] = s.ws[i], key
			n++
		}
	}
	s.ws, s.of = s.ws[:n], s.of[:n]
}

// blame notes the keys whose writes failed with err. It returns nil if no write
// says that it did: then err is of all.
func (s *step) blame(failed []error, keys int, err error) []error {
	found := false
	for i, w := range s.ws {
		if w.Err == nil {
			continue
		}
		found = true
		if failed == nil {
			failed = make([]error, keys)
		}
		if failed[s.of[i]] == nil {
			failed[s.of[i]] = because(w.Err, err)
		}
	}
	if !found {
		return nil
	}
	return failed
}

// because adds why a transfer wasn't done.
func because(one, batch error) error {
	if errors.Is(one, ErrNotDone) {
		return fmt.Errorf("%w: %w", one, batch)
	}
	return one
}

// submit hands writes over and waits for them.
func (p *put) submit(ctx context.Context, track metrics.Track, batched bool, ws []IO) error {
	s, req := p.s, p.req
	mark := req.Start()
	defer func() { req.End(track, StageWait, mark) }()
	if !batched {
		var err error
		for i := range ws {
			if ws[i].Err = ErrNotDone; err == nil {
				s.writes.Add(1)
				err = s.dev.Write(ctx, ws[i])
				ws[i].Err = err
			}
		}
		return err
	}
	return transfer(ws, p.each != nil, func(ws []IO) error {
		s.writes.Add(int64(len(ws)))
		return s.batcher.WriteBatch(ctx, ws, func() {
			req.End(track, StageSubmit, mark)
			mark = req.Start()
		})
	})
}

// transfer does a batch. If each transfer stands for itself, those that weren't
// done after another had failed are handed over again, as long as that brings
// any further.
func transfer(ios []IO, each bool, do func([]IO) error) error {
	err := do(ios)
	if err == nil || !each {
		return err
	}
	for before := len(ios); ; {
		var again []IO
		var at []int
		for i, x := range ios {
			if errors.Is(x.Err, ErrNotDone) {
				again, at = append(again, x), append(at, i)
			}
		}
		if len(again) == 0 || len(again) == before {
			return err
		}
		before = len(again)
		_ = do(again) // each transfer says itself what became of it
		for i, x := range again {
			ios[at[i]].Err = x.Err
		}
	}
}

// flush is the store's, as a stage of the put.
func (p *put) flush(ctx context.Context, track metrics.Track) error {
	mark := p.req.Start()
	defer func() { p.req.End(track, StageFlush, mark) }()
	return p.s.flush(ctx)
}

// flush makes what was written durable. After one has failed, all do: a device
// may have dropped what it couldn't write, and take the next flush for done.
func (s *Store) flush(ctx context.Context) error {
	if err := s.flushError.Load(); err != nil {
		return *err
	}
	s.flushes.Add(1)
	err := s.dev.Flush(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) { // the device wasn't asked
		return err
	}
	err = fmt.Errorf("%w: %w; close the store and open it again", ErrFlush, err)
	s.flushError.CompareAndSwap(nil, &err)
	return err
}
