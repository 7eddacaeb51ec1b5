package fake

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"

	"latlab.example/aerospike/wire"
	"latlab.example/common/emu"
)

// session is one connection. It answers requests one after the other, as a
// server does, and reuses its memory.
type session struct {
	*node
	conn    net.Conn
	r       *bufio.Reader
	body    []byte
	reply   []byte
	scratch []byte // projected bins, until they are in reply
	msg     wire.Message
	batch   wire.Batch
	order   []int // of a batch's rows, when they are shuffled
}

func newSession(n *node, conn net.Conn) *session {
	return &session{node: n, conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}
}

// errClosed occurs when the connection shall close without an answer.
var errClosed = errors.New("the connection closes")

// run answers until the connection ends or can't be understood.
func (s *session) run() {
	for {
		t, body, err := wire.ReadFrame(s.r, s.body, wire.MaxBody)
		s.body = body
		if err != nil {
			return
		}
		var what string
		var due time.Time
		s.reply = s.reply[:0]
		switch t {
		case wire.TypeInfo:
			what, err = "info", s.serveInfo(body)
		case wire.TypeCompressed:
			what = "get"
			s.one(wire.Header{Result: wire.NotSupportedHere})
		default:
			what, due, err = s.serveMessage(body)
		}
		if err != nil || s.send(what, due) != nil {
			return
		}
	}
}

func (s *session) serveInfo(body []byte) error {
	names, err := wire.ParseInfoRequest(body)
	if err != nil {
		return err
	}
	value := s.info(names)
	s.reply = append(wire.AppendFrame(s.reply, wire.TypeInfo, len(value)), value...)
	return nil
}

// one makes the reply a single message without fields and bins.
func (s *session) one(h wire.Header) {
	s.reply = h.Append(wire.AppendFrame(s.reply[:0], wire.TypeMessage, wire.HeaderSize))
}

// next is the fault of this call, at this node or at any.
func (n *node) next(op string) (emu.Fault, bool) {
	if n.cluster.cfg.Faults == nil {
		return emu.Fault{}, false // saves two look-ups a key
	}
	if f, ok := n.cluster.cfg.Faults.Next(n.ops[op]); ok {
		return f, true
	}
	return n.cluster.cfg.Faults.Next(op)
}

// send waits until the answer is due, and sends it as its fault allows.
func (s *session) send(op string, due time.Time) error {
	ctx := s.cluster.ctx
	half := len(s.reply) / 2
	fault, ok := s.next(op)
	if ok && fault.Kind == emu.Slow {
		if due.IsZero() {
			due = s.cluster.cfg.Waiter.Now()
		}
		due = due.Add(fault.Delay)
	}
	if !due.IsZero() {
		if err := s.cluster.cfg.Waiter.Until(ctx, due); err != nil {
			return err
		}
	}
	if ok {
		switch {
		case fault.Kind == emu.Reset || fault.Kind == emu.Error && op == "info":
			if tcp, isTCP := s.conn.(*net.TCPConn); isTCP {
				return errors.Join(errClosed, tcp.SetLinger(0)) // the client sees a reset, no orderly end
			}
			return errClosed
		case fault.Kind == emu.Error:
			last := uint8(0)
			if op == "batch" {
				last = wire.Last
			}
			s.one(wire.Header{Info3: last, Result: s.cluster.cfg.FaultCode})
		case fault.Kind == emu.Short || fault.Kind == emu.Torn:
			if _, err := s.conn.Write(s.reply[:half]); err != nil || fault.Kind == emu.Torn {
				return errClosed
			}
			_, err := io.Copy(io.Discard, s.conn) // until the client gives up
			return errors.Join(errClosed, err)
		}
	}
	_, err := s.conn.Write(s.reply)
	return err
}

// serveMessage puts the answer into s.reply, and says which operation it was.
func (s *session) serveMessage(body []byte) (op string, due time.Time, err error) {
	s.scratch = s.scratch[:0]
	if _, err := s.msg.Parse(body); err != nil {
		return "", due, err
	}
	for _, f := range s.msg.List {
		if f.Type == wire.FieldBatch || f.Type == wire.FieldBatchGet {
			return "batch", s.serveBatch(f), nil
		}
	}
	op = "get"
	switch m := &s.msg; {
	case m.Info2&wire.Write != 0 && m.Info2&wire.Delete != 0:
		op = "delete"
	case m.Info2&wire.Write != 0:
		op = "put"
	}
	due = s.due(1)
	a, code := s.single()
	var ans answer
	switch {
	case code != wire.OK:
		ans.code = code
	case s.cluster.gone(&a.digest):
		ans.code = wire.UnavailableNow
	default:
		ans = s.cluster.store.do(&a, s.cluster.missed(&a.digest), &s.scratch)
	}
	s.reply = wire.AppendFrame(s.reply, wire.TypeMessage, 0)
	s.row(ans, 0)
	wire.PatchFrame(s.reply, wire.TypeMessage)
	return op, due, nil
}

// single is what a message without a batch asks for.
func (s *session) single() (a ask, code uint8) {
	m := &s.msg
	a = ask{
		namespace: -1, info1: m.Info1, info2: m.Info2, info3: m.Info3, generation: m.Generation, ttl: m.TTL, ops: m.Bins,
	}
	found := false
	for _, f := range m.List {
		switch f.Type {
		case wire.FieldNamespace:
			ns, ok := s.cluster.store.namespaces[string(f.Data)]
			if !ok {
				return a, wire.InvalidNamespace
			}
			a.namespace = ns
		case wire.FieldDigest:
			found = copy(a.digest[:], f.Data) == wire.DigestSize && len(f.Data) == wire.DigestSize
		case wire.FieldSet, wire.FieldKey: // the digest covers them
		default:
			return a, wire.ParameterError
		}
	}
	switch {
	case !found && a.namespace >= 0:
		return a, wire.UnsupportedAction // a scan or a query
	case !found || a.namespace < 0 || m.Info1&wire.Read == 0 && m.Info2&wire.Write == 0:
		return a, wire.ParameterError
	}
	return a, wire.OK
}

// row appends a message with the answer.
func (s *session) row(a answer, index uint32) {
	h := wire.Header{Result: a.code, Generation: a.generation, TTL: a.ttl, Timeout: index, Ops: uint16(a.bins.Count)}
	s.reply = append(h.Append(s.reply), a.bins.Data...)
}
