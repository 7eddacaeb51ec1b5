//go:build race

package sim_test

// shorter is by how much runs are cut short here, where the race detector makes
// an event cost some fifty times as much. Their intervals are too wide to say
// much then; the runs without it do.
const shorter = 16
