// Package study offers the spatial experiments to the runner: rigs, factors,
// outcomes and rules. The service imports none of it.
package study
