package aerospike

import (
	"errors"
	"fmt"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"
)

// Errors that callers tell apart. They come wrapped with what and where.
var (
	// ErrPartial occurs when some rows couldn't be read. The result is whole all
	// the same: such rows are Failed, the others are right. Each node that failed
	// is a [NodeError] within.
	ErrPartial = errors.New("not all rows could be read")
	// ErrOptions occurs when Options can't make a pipeline.
	ErrOptions = errors.New("no such pipeline")
	// ErrColumn occurs when a record's bin isn't of its column's kind.
	ErrColumn = errors.New("not of the column's kind")
	// ErrClosed occurs when an Executor is used after Close.
	ErrClosed = errors.New("the executor is closed")
)

// NodeError says which node failed, with which result code.
type NodeError struct {
	Node string           // its name; "no node" if the client had none for the key
	Code types.ResultCode // the client's own codes are negative
	Err  error            // what the client said; may be nil
}

const noNode = "no node"

// Error names node, code and the code's meaning.
func (e *NodeError) Error() string {
	text := fmt.Sprintf("aerospike: node %s: result code %d (%s)", e.Node, e.Code, types.ResultCodeToString(e.Code))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap is what the client said.
func (e *NodeError) Unwrap() error { return e.Err }

// failures collects the first error of each node.
type failures []*NodeError

func (f *failures) add(e *NodeError) {
	for _, was := range *f {
		if was.Node == e.Node {
			return
		}
	}
	*f = append(*f, e)
}

// err is nil without failures.
func (f failures) err() error {
	if len(f) == 0 {
		return nil
	}
	errs := []error{ErrPartial}
	for _, e := range f {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// has says whether the node failed.
func (f failures) has(node string) bool {
	for _, e := range f {
		if e.Node == node {
			return true
		}
	}
	return false
}

// nodeError is the client's error with the node it names.
func nodeError(node *as.Node, err as.Error) *NodeError {
	e := &NodeError{Node: noNode, Code: types.COMMON_ERROR, Err: err}
	for _, ae := range chain(err) {
		if node == nil {
			node = ae.Node
		}
		if e.Code == types.COMMON_ERROR {
			e.Code = ae.ResultCode
		}
	}
	if node != nil {
		e.Node = node.GetName()
	}
	return e
}

// chain is the client's errors within err, the outermost first. (The client's
// As method copies errors and loses the rest of the chain.)
func chain(err error) (all []*as.AerospikeError) {
	for ; err != nil; err = errors.Unwrap(err) {
		if ae, ok := err.(*as.AerospikeError); ok { //nolint:errorlint // see above
			all = append(all, ae)
		}
	}
	return all
}
