package aerospike

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"slices"
)

// Checksum is the FNV-1a hash of an answer: sets, positions, states and values,
// the bins of a record by name. It doesn't depend on mode, reader or form, if
// the columns' specs cover every bin. Rows that can't be decoded are an error.
func (r Result) Checksum() (uint64, error) {
	h := fnv.New64a()
	for i := range r.Sets {
		s := &r.Sets[i]
		fmt.Fprintf(h, "set %q %d\n", s.Name, s.Len())
		for j := range s.Len() {
			sum(h, uint8(s.State(j)))
			bins, err := s.bins(j)
			if err != nil {
				return 0, err
			}
			for _, name := range sortedKeys(bins) {
				sum(h, name)
				sum(h, bins[name])
			}
		}
	}
	return h.Sum64(), nil
}

// bins are a row's as its form has them.
func (s *Set) bins(row int) (map[string]any, error) {
	switch {
	case s.Maps != nil:
		return s.Maps[row], nil
	case s.Columns == nil:
		return s.Rows[row].Map()
	}
	m := map[string]any{}
	for _, c := range s.Columns.Cols {
		if !c.Valid[row] {
			continue
		}
		switch c.Kind {
		case Ints:
			m[c.Bin] = int(c.Ints[row])
		case Floats:
			m[c.Bin] = c.Floats[row]
		case Texts:
			m[c.Bin] = c.Texts[row]
		}
	}
	return m, nil
}

// sum writes a value so that different ones are written differently.
func sum(h hash.Hash64, v any) {
	var b [8]byte
	switch v := v.(type) {
	case int:
		binary.BigEndian.PutUint64(b[:], uint64(v))
		fmt.Fprintf(h, "i%s", b[:])
	case float64:
		binary.BigEndian.PutUint64(b[:], math.Float64bits(v))
		fmt.Fprintf(h, "f%s", b[:])
	case []any:
		fmt.Fprintf(h, "l%d", len(v))
		for _, x := range v {
			sum(h, x)
		}
	case map[any]any:
		fmt.Fprintf(h, "m%d", len(v))
		named := map[string]any{}
		for k := range v {
			named[fmt.Sprintf("%T %v", k, k)] = k
		}
		for _, name := range sortedKeys(named) {
			sum(h, name)
			sum(h, v[named[name]])
		}
	default:
		fmt.Fprintf(h, "%T%q", v, fmt.Sprint(v))
	}
}

func sortedKeys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
