//go:build !race

package sim_test

// shorter is 1 without the race detector.
const shorter = 1
