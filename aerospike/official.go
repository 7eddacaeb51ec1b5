package aerospike

import (
	"context"
	"errors"
	"slices"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"
)

// Reader reads records. It may be used by any number of goroutines.
type Reader interface {
	// Read returns a row a key, in the order of keys, which may repeat. It times
	// its stages on sp. An error that wraps ErrPartial comes with rows; other
	// errors come without.
	Read(ctx context.Context, sp Span, keys []*as.Key) ([]Row, error)
}

// ColumnReader is a Reader that can fill columns without making rows.
type ColumnReader interface {
	Reader
	// ReadColumns is Read and [NewColumns] in one. An error that wraps ErrPartial
	// comes with columns; other errors come without.
	ReadColumns(ctx context.Context, sp Span, keys []*as.Key, specs []Spec) (*Columns, error)
}

// Official reads with the client's own calls.
type Official struct {
	Client  *as.Client
	Policy  *as.BatchPolicy // the client's default if nil; partial results are always allowed
	Bins    []string        // only these; all if empty
	Operate bool            // BatchOperate instead of BatchGet: each row has its own result code
}

var _ Reader = Official{}

// policy is the reader's with what ctx asks for. The client can't be
// interrupted: a call ends at its timeout.
func policy(ctx context.Context, client *as.Client, p *as.BatchPolicy) (*as.BatchPolicy, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p == nil {
		p = client.GetDefaultBatchPolicy()
	}
	own := *p
	own.AllowPartialResults = true
	if end, ok := ctx.Deadline(); ok {
		left := max(time.Until(end), time.Millisecond)
		if own.TotalTimeout == 0 || left < own.TotalTimeout {
			own.TotalTimeout = left
		}
	}
	return &own, nil
}

// Read implements Reader.
func (o Official) Read(ctx context.Context, sp Span, keys []*as.Key) ([]Row, error) {
	p, err := policy(ctx, o.Client, o.Policy)
	if err != nil {
		return nil, err
	}
	if o.Operate {
		return o.operate(sp, p, keys)
	}
	m := sp.Start()
	before, nodes := mapOf(o.Client, p, keys), o.Client.GetNodes()
	recs, aerr := o.Client.BatchGet(p, keys, o.Bins...)
	sp.End(IO, m)

	m = sp.Start()
	rows, sure, err := o.rows(p, keys, recs, aerr, before)
	sp.End(IntoObject, m)
	if !sure {
		err = errors.Join(err, o.askAgain(sp, p, keys, rows, before, nodes))
	}
	return rows, err
}

// rows is what BatchGet's answer says. sure is false where it may have called a
// row missing that it couldn't read. before is the partition map that it began
// with.
func (o Official) rows(p *as.BatchPolicy, keys []*as.Key, recs []*as.Record, aerr as.Error, before *as.Partition) (rows []Row, sure bool, err error) {
	rows = make([]Row, len(keys))
	for i, r := range recs {
		if r != nil {
			rows[i] = Row{state: Found, rec: r}
		}
	}
	if aerr == nil {
		return rows, false, nil
	}
	var failed failures
	var nodes []*as.Node
	for _, ae := range chain(aerr) {
		if ae.Node != nil {
			failed.add(nodeError(ae.Node, aerr))
			nodes = append(nodes, ae.Node)
		}
	}
	if len(failed) == 0 {
		failed.add(nodeError(nil, aerr))
	}
	o.lose(p, keys, rows, failed)
	// Who was asked is only known if the cluster is still as it was, and the policy
	// asks the same node each time.
	after := mapOf(o.Client, p, keys)
	if before == nil || after == nil || *before != *after || !steady(p.ReplicaPolicy) || slices.ContainsFunc(nodes, inactive) {
		for i := range rows {
			if rows[i].state == Missing {
				rows[i].state = Failed
			}
		}
		return rows, true, failed.err()
	}
	return rows, false, failed.err()
}

// askAgain reads those rows once more of which the client didn't say whether they
// are missing or failed: for a key that is alone on its node BatchGet makes a
// read of its own, and where partial results are allowed it drops that read's
// error. was and nodes are the partition map and the nodes from before: the map may
// be late to tell of a node that left.
//
// It can't see one case, for which two reads must fail: a node fails, the client's
// own retry leaves a key alone on another node, and that fails too. With
// Policy.MaxRetries 0 there is none.
func (o Official) askAgain(sp Span, p *as.BatchPolicy, keys []*as.Key, rows []Row, was *as.Partition, nodes []*as.Node) error {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.state == Missing }) {
		return nil
	}
	var doubtful []int
	var ask []*as.Key
	now := mapOf(o.Client, p, keys)
	known := steady(p.ReplicaPolicy) && was != nil && now != nil && *now == *was &&
		slices.Equal(nodes, o.Client.GetNodes()) && !slices.ContainsFunc(nodes, inactive)
	var alone map[string]int
	if known {
		alone = o.alone(p, keys)
	}
	for i := range rows {
		if rows[i].state != Missing {
			continue
		}
		if known {
			if len(alone) == 0 {
				break
			}
			if alone[nodeOf(o.Client, p, keys[i])] != 1 {
				continue
			}
		}
		doubtful, ask = append(doubtful, i), append(ask, keys[i])
	}
	if len(ask) == 0 {
		return nil
	}
	again, err := o.operate(sp, p, ask)
	for i, at := range doubtful {
		rows[at] = again[i]
	}
	return err
}

// alone counts the keys of each node. It is empty if no node has just one, which
// shows after a few keys where there are many.
func (o Official) alone(p *as.BatchPolicy, keys []*as.Key) map[string]int {
	count := map[string]int{}
	several, nodes := 0, len(o.Client.GetNodes())
	for _, k := range keys {
		n := nodeOf(o.Client, p, k)
		if count[n]++; count[n] == 2 {
			several++
		}
		if several >= nodes {
			return nil
		}
	}
	if several == len(count) {
		return nil
	}
	return count
}

// lose marks the rows that the nodes that failed were asked for: such a row isn't
// known to be missing.
func (o Official) lose(p *as.BatchPolicy, keys []*as.Key, rows []Row, failed failures) {
	for i := range rows {
		if rows[i].state == Missing && (failed.has(noNode) || failed.has(nodeOf(o.Client, p, keys[i]))) {
			rows[i].state = Failed
		}
	}
}

func inactive(n *as.Node) bool { return !n.IsActive() }

// mapOf stands for the client's partition map, which it never changes but
// replaces: two of them are equal only if it is the same map. It is nil if there
// is none.
func mapOf(client *as.Client, p *as.BatchPolicy, keys []*as.Key) *as.Partition {
	if len(keys) == 0 {
		return nil
	}
	m, err := as.PartitionForRead(client.Cluster(), &p.BasePolicy, keys[0])
	if err != nil {
		return nil
	}
	return m
}

// nodeOf is the name of the node that the client asks for a key.
func nodeOf(client *as.Client, p *as.BatchPolicy, k *as.Key) string {
	n, err := as.GetNodeBatchRead(client.Cluster(), k, p.ReplicaPolicy, as.GetReplicaPolicySC(&p.BasePolicy), nil, 0, 0)
	if err != nil || n == nil {
		return noNode
	}
	return n.GetName()
}

func (o Official) operate(sp Span, p *as.BatchPolicy, keys []*as.Key) ([]Row, error) {
	m := sp.Start()
	reads := make([]as.BatchRecordIfc, len(keys))
	for i, k := range keys {
		r := as.NewBatchRead(nil, k, o.Bins)
		r.ReadAllBins = len(o.Bins) == 0
		reads[i] = r
	}
	aerr := o.Client.BatchOperate(p, reads)
	sp.End(IO, m)

	m = sp.Start()
	defer func() { sp.End(IntoObject, m) }()
	rows := make([]Row, len(keys))
	var failed failures
	for i, r := range reads {
		switch b := r.BatchRec(); b.ResultCode {
		case types.OK:
			rows[i] = Row{state: Found, rec: b.Record}
		case types.KEY_NOT_FOUND_ERROR:
		case types.NO_RESPONSE: // its node failed as a whole
			rows[i].state = Failed
			failed.add(&NodeError{Node: nodeOf(o.Client, p, keys[i]), Code: codeOf(aerr), Err: asError(aerr)})
		default:
			rows[i].state = Failed
			failed.add(&NodeError{Node: nodeOf(o.Client, p, keys[i]), Code: b.ResultCode, Err: asError(b.Err)})
		}
	}
	return rows, failed.err()
}

// codeOf is the outermost result code.
func codeOf(err as.Error) types.ResultCode {
	if all := chain(asError(err)); len(all) > 0 {
		return all[0].ResultCode
	}
	return types.NO_RESPONSE
}

// asError is nil for a nil interface of the client's.
func asError(err as.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// isNetwork says whether another attempt may help.
func isNetwork(err error) bool {
	var aerr as.Error
	return errors.As(err, &aerr) && aerr.Matches(types.NETWORK_ERROR, types.TIMEOUT)
}
