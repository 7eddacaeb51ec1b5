package aerospike

import (
	"fmt"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/wire"
)

// RowState says what a row is.
type RowState uint8

// The states of a row. The zero Row is Missing.
const (
	Missing RowState = iota // there is no such record
	Found
	Failed // it couldn't be read; the read's error says why

	pending // nothing came yet; never in a result
)

// Row is a handle to one record. Its methods may be called by several goroutines.
type Row struct {
	state RowState
	count uint16     // of bins
	rec   *as.Record // of the official client, or nil
	bins  []byte     // as they came, where rec is nil; points into its read's reply
}

// ops are the bins as they came.
func (r *Row) ops() wire.Ops { return wire.Ops{Count: int(r.count), Data: r.bins} }

// State says whether the record was found.
func (r Row) State() RowState { return r.state }

// Map is the record's bins with the values that the official client gives: int,
// float64, string, []byte, bool, []any, map[any]any. It is nil unless the row is
// Found. With the official reader it is the client's own map; a lazy row decodes
// at each call.
func (r Row) Map() (map[string]any, error) {
	if r.state != Found {
		return nil, nil
	}
	if r.rec != nil {
		return r.rec.Bins, nil
	}
	m := make(map[string]any, r.count)
	bins := r.ops()
	for o, ok := bins.Next(); ok; o, ok = bins.Next() {
		v, err := o.Type.Value(o.Value)
		if err != nil {
			return nil, fmt.Errorf("aerospike: bin %s: %w", o.Name, err)
		}
		m[string(o.Name)] = clientValue(v)
	}
	return m, nil
}

// clientValue makes integers int, as the client does.
func clientValue(v any) any {
	switch v := v.(type) {
	case int64:
		return int(v)
	case []any:
		for i := range v {
			v[i] = clientValue(v[i])
		}
	case map[any]any:
		m := make(map[any]any, len(v))
		for k, x := range v {
			m[clientValue(k)] = clientValue(x)
		}
		return m
	}
	return v
}
