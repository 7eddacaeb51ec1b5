// Package study offers the aerospike experiments to the runner: rigs, factors,
// outcomes and rules. The pipeline imports none of it.
package study
