//go:build race || js

package sim_test

// shorter is by how much runs are cut short here, where an event costs ten to
// fifty times as much. Their intervals are too wide to say much then; the other
// runs do.
const shorter = 16
