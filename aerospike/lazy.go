package aerospike

import (
	"context"
	"fmt"
	"sync"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"

	"latlab.example/aerospike/wire"
	"latlab.example/common/metrics"
)

// Lazy reads with this package's own encoder and decoder, over the client's
// nodes, partition map and connections. Rows stay the bytes that came until
// someone asks for a map or for columns; columns can also be filled straight
// from the replies, without rows. Like the client's BatchGet it asks one node
// after the other, makes two attempts at a node by default, and doesn't stop at
// a row that fails: each row has its own result code.
//
// It differs from the client where that costs: a part of one key is a batch too,
// keys of a node that failed aren't asked of a replica, and where the replica
// policy doesn't spread reads it remembers for 50 ms which node has a partition.
// (The client's own map is up to a tend interval old, a second by default.)
type Lazy struct {
	Client *as.Client
	Policy *as.BatchPolicy // timeouts, attempts, replica policy and inline; the client's default if nil
	Bins   []string        // only these; all if empty
}

var _ ColumnReader = Lazy{}

// part is what one node is asked.
type part struct {
	node *as.Node
	rows []int
}

// work is memory that a read gives back.
type work struct {
	routes routes
	parts  []part
	out    []byte
	in     inbox
}

var works = sync.Pool{New: func() any { return new(work) }}

// sink takes what comes for the rows of a read, each of which is pending at
// first.
type sink interface {
	// frame takes the rows of a frame. Rows with a result code of their own are
	// failures of the node.
	frame(b []byte, node *as.Node, failed *failures) error
	// lose makes the row Failed.
	lose(row int)
	// pending says whether nothing came for the row.
	pending(row int) bool
}

// Read implements Reader.
func (l Lazy) Read(ctx context.Context, sp Span, keys []*as.Key) ([]Row, error) {
	m := sp.Start()
	rows := make(rowSink, len(keys))
	for i := range rows {
		rows[i].state = pending
	}
	sp.End(IntoObject, m)
	failed, err := l.read(ctx, sp, keys, rows, IntoObject)
	if err != nil {
		return nil, err
	}
	return rows, failed.err()
}

// ReadColumns implements ColumnReader.
func (l Lazy) ReadColumns(ctx context.Context, sp Span, keys []*as.Key, specs []Spec) (*Columns, error) {
	m := sp.Start()
	f := newFiller(specs, len(keys))
	defer f.release()
	for i := range f.States {
		f.States[i] = pending
	}
	sp.End(ToColumns, m)
	failed, err := l.read(ctx, sp, keys, f, ToColumns)
	if err != nil {
		return nil, err
	}
	m = sp.Start()
	defer func() { sp.End(ToColumns, m) }()
	if f.wrong != nil {
		return nil, f.wrong
	}
	return f.finish(), failed.err()
}

// read asks the nodes for keys and gives the sink what comes, timed as stage.
func (l Lazy) read(ctx context.Context, sp Span, keys []*as.Key, to sink, stage metrics.Stage) (failures, error) {
	p, err := policy(ctx, l.Client, l.Policy)
	if err != nil {
		return nil, err
	}
	var failed failures
	m := sp.Start()
	w := works.Get().(*work)
	defer works.Put(w)
	w.split(l.Client, p, keys, to, &failed)
	sp.End(IO, m)
	for _, part := range w.parts {
		m = sp.Start()
		w.out = l.encode(w.out[:0], p, keys, part.rows)
		w.in.reset(stage == ToColumns) // rows point into their bytes
		nerr := ask(ctx, p, part, w.out, &w.in)
		sp.End(IO, m)

		m = sp.Start()
		if nerr == nil {
			nerr = fill(to, &w.in, part, &failed)
		}
		if nerr != nil {
			failed.add(nerr)
			w.routes.forget()
			for _, i := range part.rows {
				to.lose(i)
			}
		}
		sp.End(stage, m)
	}
	w.in.reset(stage == ToColumns)
	return failed, nil
}

// split groups the keys by node. Keys without one fail.
func (w *work) split(client *as.Client, p *as.BatchPolicy, keys []*as.Key, to sink, failed *failures) {
	if len(keys) > 0 {
		w.routes.use(client, p, keys[0].Namespace())
	}
	used, last := 0, 0
next:
	for i, k := range keys {
		node, err := w.routes.node(k)
		if err != nil {
			failed.add(nodeError(nil, err))
			to.lose(i)
			continue
		}
		if used > 0 && w.parts[last].node == node {
			w.parts[last].rows = append(w.parts[last].rows, i)
			continue
		}
		for j := range w.parts[:used] {
			if w.parts[j].node == node {
				w.parts[j].rows, last = append(w.parts[j].rows, i), j
				continue next
			}
		}
		if used == len(w.parts) {
			w.parts = append(w.parts, part{})
		}
		w.parts[used].node, w.parts[used].rows = node, append(w.parts[used].rows[:0], i)
		last, used = used, used+1
	}
	w.parts = w.parts[:used]
}

// fill gives the sink a node's answer, and sees to it that there was one for
// each row.
func fill(to sink, in *inbox, p part, failed *failures) *NodeError {
	bad := func(err error) *NodeError {
		return &NodeError{Node: p.node.GetName(), Code: types.PARSE_ERROR, Err: err}
	}
	for _, b := range in.frames {
		if err := to.frame(b, p.node, failed); err != nil {
			return bad(err)
		}
	}
	for _, i := range p.rows {
		if to.pending(i) {
			return bad(fmt.Errorf("no answer for row %d", i))
		}
	}
	return nil
}

// place checks a row's index and says where it is.
func place(h wire.Header, rows int, to sink) (int, error) {
	if uint64(h.Timeout) >= uint64(rows) {
		return 0, fmt.Errorf("row %d of %d", h.Timeout, rows)
	}
	i := int(h.Timeout)
	if !to.pending(i) {
		return 0, fmt.Errorf("a second answer for row %d", i)
	}
	return i, nil
}

// stateOf is a result code's; a code that is an error is added to failed.
func stateOf(code uint8, node *as.Node, failed *failures) RowState {
	switch code {
	case wire.OK:
		return Found
	case wire.NotFound:
		return Missing
	}
	failed.add(&NodeError{Node: node.GetName(), Code: types.ResultCode(code)})
	return Failed
}

// rowSink keeps rows as they came.
type rowSink []Row

func (r rowSink) pending(i int) bool { return r[i].state == pending }

func (r rowSink) lose(i int) { r[i] = Row{state: Failed} }

func (r rowSink) frame(b []byte, node *as.Node, failed *failures) error {
	for len(b) > 0 {
		h, bins, n, err := wire.ParseRow(b)
		if err != nil {
			return err
		}
		b = b[n:]
		i, err := place(h, len(r), r)
		if err != nil {
			return err
		}
		if state := stateOf(h.Result, node, failed); state == Found {
			r[i] = Row{state: Found, count: h.Ops, bins: bins.Data}
		} else {
			r[i] = Row{state: state}
		}
	}
	return nil
}
