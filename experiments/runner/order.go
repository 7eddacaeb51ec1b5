package runner

import "math/rand/v2"

// warmUp is the block number of the trials that aren't counted.
const warmUp = -1

// plan is one block: the order of its rows and each row's trial seed, by row.
// It follows from the run's seed, the block's number and the number of rows.
// Two trials never share a seed on purpose, so that the control differs from
// its twin by as much as chance makes it.
func plan(seed uint64, block, rows int) (order []int, seeds []uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(block)))
	order = r.Perm(rows)
	for range rows {
		seeds = append(seeds, r.Uint64())
	}
	return order, seeds
}
