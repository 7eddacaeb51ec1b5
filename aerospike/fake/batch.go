package fake

import (
	"math/rand/v2"
	"slices"
	"time"

	"latlab.example/aerospike/wire"
	"latlab.example/common/emu"
)

// serveBatch answers all rows, in frames of the block size, and then the end.
func (s *session) serveBatch(f wire.Field) time.Time {
	c := s.cluster
	err := s.batch.Parse(f.Data, f.Type)
	rows := s.batch.Rows
	due := s.due(len(rows))
	if err != nil || len(rows) == 0 || len(s.msg.List) != 1 {
		s.one(wire.Header{Info3: wire.Last, Result: wire.ParameterError})
		return due
	}
	order := s.rowOrder(len(rows))
	reads := !slices.ContainsFunc(rows, func(r wire.BatchRow) bool { return r.Info2&wire.Write != 0 })
	if reads { // one lock instead of one a key
		c.store.mu.RLock()
		defer c.store.mu.RUnlock()
	}
	start := len(s.reply) // of the frame under way
	s.reply = wire.AppendFrame(s.reply, wire.TypeMessage, 0)
	for i := range rows {
		if order != nil {
			i = order[i]
		}
		r := &rows[i]
		ns, ok := c.store.namespaces[string(r.Namespace)]
		if !ok {
			s.one(wire.Header{Info3: wire.Last, Result: wire.ParameterError})
			return due
		}
		ans, slow := s.batchRow(&ask{
			namespace: ns, digest: r.Digest, info1: r.Info1, info2: r.Info2, info3: r.Info3,
			generation: uint32(r.Generation), ttl: r.TTL, ops: r.Bins,
		}, reads)
		if slow > 0 {
			if due.IsZero() {
				due = c.cfg.Waiter.Now()
			}
			due = due.Add(slow)
		}
		if len(s.reply)+len(ans.bins.Data) > maxReply {
			s.one(wire.Header{Info3: wire.Last, Result: wire.TooBig})
			return due
		}
		if used := len(s.reply) - start - wire.FrameHeaderSize; used > 0 && used+wire.HeaderSize+len(ans.bins.Data) > c.cfg.Block {
			wire.PatchFrame(s.reply[start:], wire.TypeMessage)
			start = len(s.reply)
			s.reply = wire.AppendFrame(s.reply, wire.TypeMessage, 0)
		}
		s.row(ans, r.Index)
		failed := ans.code != wire.OK && ans.code != wire.NotFound
		if failed && f.Type == wire.FieldBatch && s.batch.Flags&wire.RespondAllKeys == 0 {
			break
		}
	}
	wire.PatchFrame(s.reply[start:], wire.TypeMessage)
	s.reply = wire.AppendFrame(s.reply, wire.TypeMessage, wire.HeaderSize)
	s.reply = wire.Header{Info3: wire.Last}.Append(s.reply)
	return due
}

// batchRow serves a row, and says by how much it makes the answer late. With held
// the row is a read, and the store is locked for reading.
func (s *session) batchRow(a *ask, held bool) (ans answer, slow time.Duration) {
	c := s.cluster
	if f, ok := s.next("key"); ok {
		if f.Kind != emu.Slow {
			return answer{code: c.cfg.FaultCode}, 0
		}
		slow = f.Delay
	}
	if c.gone(&a.digest) {
		return answer{code: wire.UnavailableNow}, slow
	}
	if held {
		return c.store.read(a, c.missed(&a.digest), &s.scratch), slow
	}
	return c.store.do(a, c.missed(&a.digest), &s.scratch), slow
}

// rowOrder is the order in which n rows are answered; nil is their own. A server
// answers in another order when the batch doesn't allow it to serve the rows on
// the thread that read them.
func (s *session) rowOrder(n int) []int {
	if !s.cluster.cfg.Shuffle && s.batch.Flags&wire.Inline != 0 {
		return nil
	}
	s.order = s.order[:0]
	for i := range n {
		s.order = append(s.order, i)
	}
	// The same request is always answered in the same order.
	seed := s.cluster.cfg.Seed
	for _, b := range s.batch.Rows[0].Digest {
		seed = seed*31 + uint64(b)
	}
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	r.Shuffle(n, func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	return s.order
}
