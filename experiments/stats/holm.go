package stats

import (
	"math"
	"slices"
)

// Holm corrects p-values for there being several of them: the i-th smallest of
// n is multiplied by n-i+1, never falls below the one before, and is at most 1
// (Holm 1979). A NaN stays NaN and doesn't count. The order is kept.
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if p[a] < p[b] {
			return -1
		}
		return 1
	})
	last := 0.0
	for rank, i := range order {
		last = max(last, min(1, p[i]*float64(len(order)-rank)))
		out[i] = last
	}
	return out
}
