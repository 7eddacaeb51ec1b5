package aerospike

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"

	"latlab.example/aerospike/wire"
)

// Lazy reads with this package's own encoder and decoder, over the client's
// nodes, partition map and connections. Rows stay the bytes that came until
// someone asks for a map or for columns. Like the client's BatchGet it asks one
// node after the other, makes two attempts at a node by default, and doesn't
// stop at a row that fails: each row has its own result code.
//
// It differs from the client where that costs: a part of one key is a batch too,
// and keys of a node that failed aren't asked of a replica.
type Lazy struct {
	Client *as.Client
	Policy *as.BatchPolicy // timeouts, attempts, replica policy and inline; the client's default if nil
	Bins   []string        // only these; all if empty
}

var _ Reader = Lazy{}

// part is what one node is asked.
type part struct {
	node *as.Node
	rows []int
}

// work is memory that a read gives back.
type work struct {
	parts []part
	out   []byte
}

var works = sync.Pool{New: func() any { return new(work) }}

// Read implements Reader.
func (l Lazy) Read(ctx context.Context, sp Span, keys []*as.Key) ([]Row, error) {
	p, err := policy(ctx, l.Client, l.Policy)
	if err != nil {
		return nil, err
	}
	var failed failures
	m := sp.Start()
	rows := make([]Row, len(keys))
	sp.End(IntoObject, m)

	m = sp.Start()
	w := works.Get().(*work)
	defer works.Put(w)
	w.split(l.Client, p, keys, rows, &failed)
	sp.End(IO, m)
	for _, part := range w.parts {
		m = sp.Start()
		w.out = l.encode(w.out[:0], p, keys, part.rows)
		frames, nerr := l.ask(ctx, p, part.node, w.out)
		sp.End(IO, m)

		m = sp.Start()
		if nerr == nil {
			nerr = fill(rows, frames, part, &failed)
		}
		if nerr != nil {
			failed.add(nerr)
			for _, i := range part.rows {
				rows[i] = Row{state: Failed}
			}
		}
		sp.End(IntoObject, m)
	}
	return rows, failed.err()
}

// split groups the keys by node. Keys without one fail.
func (w *work) split(client *as.Client, p *as.BatchPolicy, keys []*as.Key, rows []Row, failed *failures) {
	cluster, sc := client.Cluster(), as.GetReplicaPolicySC(&p.BasePolicy)
	used := 0
next:
	for i, k := range keys {
		node, err := as.GetNodeBatchRead(cluster, k, p.ReplicaPolicy, sc, nil, 0, 0)
		if err != nil {
			failed.add(nodeError(nil, err))
			rows[i].state = Failed
			continue
		}
		for j := range w.parts[:used] {
			if w.parts[j].node == node {
				w.parts[j].rows = append(w.parts[j].rows, i)
				continue next
			}
		}
		if used == len(w.parts) {
			w.parts = append(w.parts, part{})
		}
		w.parts[used].node, w.parts[used].rows = node, append(w.parts[used].rows[:0], i)
		used++
	}
	w.parts = w.parts[:used]
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
		row := wire.BatchRow{Index: uint32(i), Digest: wire.Digest(k.Digest()), Type: wire.RowRepeat}
		if was == nil || was.SetName() != k.SetName() || was.Namespace() != k.Namespace() {
			row.Type, row.Info1, row.Bins = 0, info, bins
			row.Namespace, row.Set = []byte(k.Namespace()), []byte(k.SetName())
			was = k
		}
		dst = row.Append(dst, wire.FieldBatchGet)
	}
	wire.PatchField(dst[field:])
	wire.PatchFrame(dst, wire.TypeMessage)
	return dst
}

// ask sends a request, and again if the network failed.
func (l Lazy) ask(ctx context.Context, p *as.BatchPolicy, node *as.Node, request []byte) ([][]byte, *NodeError) {
	end := time.Now().Add(p.TotalTimeout)
	for attempt := 1; ; attempt++ {
		frames, err := exchange(p, node, request, end)
		if err == nil {
			return frames, nil
		}
		late := p.TotalTimeout > 0 && time.Now().After(end)
		if attempt >= max(1, p.MaxRetries) || !isNetwork(err) || late || ctx.Err() != nil {
			var ne *NodeError
			if errors.As(err, &ne) {
				return nil, ne
			}
			return nil, nodeErrorOf(node, err)
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

// exchange sends a request over one of the node's connections and receives the
// frames of the answer, without the last one, which holds no rows.
func exchange(p *as.BatchPolicy, node *as.Node, request []byte, end time.Time) (frames [][]byte, err error) {
	wait := p.TotalTimeout
	if wait == 0 {
		end = time.Time{}
	} else {
		wait = max(time.Until(end), time.Millisecond)
	}
	conn, aerr := node.GetConnection(wait)
	if aerr != nil {
		return nil, aerr
	}
	defer func() {
		if err == nil {
			node.PutConnection(conn)
		} else {
			node.InvalidateConnection(conn)
		}
	}()
	if aerr := conn.SetTimeout(end, p.SocketTimeout); aerr != nil {
		return nil, aerr
	}
	if _, aerr := conn.Write(request); aerr != nil {
		return nil, aerr
	}
	var header [wire.FrameHeaderSize]byte
	for {
		if _, aerr := conn.Read(header[:], len(header)); aerr != nil {
			return nil, aerr
		}
		t, size, err := wire.ParseFrameHeader(header[:], wire.MaxBody)
		if err != nil {
			return nil, err
		}
		if t != wire.TypeMessage {
			return nil, fmt.Errorf("a frame of type %d where rows were expected", t)
		}
		body := make([]byte, size)
		if _, aerr := conn.Read(body, size); aerr != nil {
			return nil, aerr
		}
		if size != wire.HeaderSize {
			frames = append(frames, body)
			continue
		}
		h, _, _, err := wire.ParseRow(body)
		if err != nil {
			return nil, err
		}
		switch {
		case h.Info3&wire.Last == 0: // a row without bins
			frames = append(frames, body)
		case h.Result != wire.OK:
			return nil, &NodeError{Node: node.GetName(), Code: types.ResultCode(h.Result)}
		default:
			return frames, nil
		}
	}
}

// fill puts the rows of a node's answer in their places.
func fill(rows []Row, frames [][]byte, p part, failed *failures) *NodeError {
	got := 0
	for _, b := range frames {
		for len(b) > 0 {
			h, bins, n, err := wire.ParseRow(b)
			if err != nil {
				return &NodeError{Node: p.node.GetName(), Code: types.PARSE_ERROR, Err: err}
			}
			b = b[n:]
			if uint64(h.Timeout) >= uint64(len(rows)) {
				return &NodeError{Node: p.node.GetName(), Code: types.PARSE_ERROR, Err: fmt.Errorf("row %d of %d", h.Timeout, len(rows))}
			}
			got++
			switch row := &rows[h.Timeout]; h.Result {
			case wire.OK:
				*row = Row{state: Found, bins: bins}
			case wire.NotFound:
				*row = Row{}
			default:
				*row = Row{state: Failed}
				failed.add(&NodeError{Node: p.node.GetName(), Code: types.ResultCode(h.Result)})
			}
		}
	}
	if got != len(p.rows) {
		return &NodeError{Node: p.node.GetName(), Code: types.PARSE_ERROR, Err: fmt.Errorf("%d rows came for %d keys", got, len(p.rows))}
	}
	return nil
}
