package aerospike

import (
	"context"
	"errors"
	"fmt"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"

	"latlab.example/aerospike/wire"
)

// inbox holds the frames of an answer. Their memory is used again, or is the
// rows' own.
type inbox struct {
	frames [][]byte
	buf    []byte // what is left of the memory that is used again
	whole  []byte
	again  bool
}

// reset forgets the frames. With again, those that come next lie in memory that
// the reset after them takes back.
func (in *inbox) reset(again bool) {
	clear(in.frames)
	in.frames, in.buf, in.again = in.frames[:0], in.whole, again
}

// room is memory for n bytes. Its content is whatever was there.
func (in *inbox) room(n int) []byte {
	if !in.again {
		return make([]byte, n)
	}
	if len(in.buf) < n {
		in.whole = make([]byte, 2*max(n, len(in.whole)))
		in.buf = in.whole
	}
	b := in.buf[:n:n]
	in.buf = in.buf[n:]
	return b
}

// encode makes the request for some of the keys.
func (l Lazy) encode(dst []byte, p *as.BatchPolicy, keys []*as.Key, rows []int) []byte {
	info := uint8(wire.Read)
	var bins wire.Ops
	if len(l.Bins) == 0 {
		info |= wire.GetAll
	}
	for _, b := range l.Bins {
		bins = bins.Append(wire.Op{Do: wire.OpRead, Name: []byte(b)})
	}
	dst = append(dst[:0], make([]byte, wire.FrameHeaderSize)...)
	dst = wire.Header{
		Info1: wire.Read | wire.BatchBit, Timeout: uint32(p.TotalTimeout / time.Millisecond), Fields: 1,
	}.Append(dst)
	field := len(dst)
	dst = wire.Field{Type: wire.FieldBatchGet}.Append(dst)
	flags := uint8(0)
	if p.AllowInline {
		flags |= wire.Inline
	}
	dst = wire.AppendBatchStart(dst, len(rows), flags)
	var was *as.Key
	for _, i := range rows {
		k := keys[i]
		if was != nil && was.SetName() == k.SetName() && was.Namespace() == k.Namespace() {
			dst = wire.AppendBatchRepeat(dst, uint32(i), wire.Digest(k.Digest()))
			continue
		}
		was = k
		row := wire.BatchRow{
			Index: uint32(i), Digest: wire.Digest(k.Digest()), Info1: info, Bins: bins,
			Namespace: []byte(k.Namespace()), Set: []byte(k.SetName()),
		}
		dst = row.Append(dst, wire.FieldBatchGet)
	}
	wire.PatchField(dst[field:])
	wire.PatchFrame(dst, wire.TypeMessage)
	return dst
}

// ask sends a part's request, and again if the network failed.
func ask(ctx context.Context, p *as.BatchPolicy, of part, request []byte, in *inbox) *NodeError {
	end := time.Now().Add(p.TotalTimeout)
	for attempt := 1; ; attempt++ {
		in.reset(in.again)
		err := exchange(p, of, request, end, in)
		if err == nil {
			return nil
		}
		late := p.TotalTimeout > 0 && time.Now().After(end)
		if attempt >= max(1, p.MaxRetries) || !isNetwork(err) || late || ctx.Err() != nil {
			var ne *NodeError
			if errors.As(err, &ne) {
				return ne
			}
			return nodeErrorOf(of.node, err)
		}
	}
}

func nodeErrorOf(node *as.Node, err error) *NodeError {
	var aerr as.Error
	if errors.As(err, &aerr) {
		return nodeError(node, aerr)
	}
	return &NodeError{Node: node.GetName(), Code: types.PARSE_ERROR, Err: err}
}

// exchange sends a part's request over one of its node's connections and receives
// the answer.
func exchange(p *as.BatchPolicy, of part, request []byte, end time.Time, in *inbox) (err error) {
	node := of.node
	wait := p.TotalTimeout
	if wait == 0 {
		end = time.Time{}
	} else {
		wait = max(time.Until(end), time.Millisecond)
	}
	conn, aerr := node.GetConnection(wait)
	if aerr != nil {
		return aerr
	}
	defer func() {
		if err == nil {
			node.PutConnection(conn)
		} else {
			node.InvalidateConnection(conn)
		}
	}()
	if aerr := conn.SetTimeout(end, p.SocketTimeout); aerr != nil {
		return aerr
	}
	if _, aerr := conn.Write(request); aerr != nil {
		return aerr
	}
	return receive(conn, node, in, len(of.rows))
}

// receive takes frames up to the last one, which holds no rows. The others hold
// one of so many rows at least, so there can't be more of them.
func receive(conn *as.Connection, node *as.Node, in *inbox, rows int) error {
	var first [wire.FrameHeaderSize]byte
	header := first[:]
	if _, aerr := conn.Read(header, len(header)); aerr != nil {
		return aerr
	}
	for {
		t, size, err := wire.ParseFrameHeader(header, wire.MaxBody)
		if err != nil {
			return err
		}
		switch {
		case t != wire.TypeMessage || size < wire.HeaderSize:
			return fmt.Errorf("a frame of type %d and %d bytes where rows were expected", t, size)
		case len(in.frames) > rows:
			return fmt.Errorf("more frames than the %d rows asked for", rows)
		}
		if size == wire.HeaderSize {
			last, err := receiveShort(conn, node, in)
			if last || err != nil {
				return err
			}
			if _, aerr := conn.Read(header, len(header)); aerr != nil {
				return aerr
			}
			continue
		}
		// Rows aren't the end, so another header follows: one read takes both.
		b := in.room(size + wire.FrameHeaderSize)
		if _, aerr := conn.Read(b, len(b)); aerr != nil {
			return aerr
		}
		in.frames, header = append(in.frames, b[:size:size]), b[size:]
	}
}

// receiveShort takes a frame of the smallest size: the last one, or a row
// without bins.
func receiveShort(conn *as.Connection, node *as.Node, in *inbox) (last bool, err error) {
	b := in.room(wire.HeaderSize)
	if _, aerr := conn.Read(b, len(b)); aerr != nil {
		return false, aerr
	}
	h, _, _, err := wire.ParseRow(b)
	switch {
	case err != nil:
		return false, err
	case h.Info3&wire.Last == 0:
		in.frames = append(in.frames, b)
		return false, nil
	case h.Result != wire.OK:
		return true, &NodeError{Node: node.GetName(), Code: types.ResultCode(h.Result)}
	}
	return true, nil
}
