package aerospike

// Order is how the keys of a single read follow each other.
type Order string

// The orders.
const (
	Grouped Order = "grouped" // set by set: a request names a set once
	Mixed   Order = "mixed"   // the sets take turns, so that a request names one for every key
)

// turns calls f with the place of each key, set by set, and its place when the
// sets take turns.
func turns(q Query, f func(grouped, mixed int)) {
	starts, longest := make([]int, len(q)), 0
	n := 0
	for i, s := range q {
		starts[i] = n
		n += len(s.Keys)
		longest = max(longest, len(s.Keys))
	}
	mixed := 0
	for turn := range longest {
		for i, s := range q {
			if turn < len(s.Keys) {
				f(starts[i]+turn, mixed)
				mixed++
			}
		}
	}
}

// mix has the sets take turns.
func mix[T any](q Query, grouped []T) []T {
	out := make([]T, len(grouped))
	turns(q, func(g, m int) { out[m] = grouped[g] })
	return out
}

// unmix undoes mix.
func unmix[T any](q Query, mixed []T) []T {
	out := make([]T, len(mixed))
	turns(q, func(g, m int) { out[g] = mixed[m] })
	return out
}
