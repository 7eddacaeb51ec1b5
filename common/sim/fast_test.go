//go:build !race && !js

package sim_test

// shorter is 1 but with the race detector and in WebAssembly.
const shorter = 1
