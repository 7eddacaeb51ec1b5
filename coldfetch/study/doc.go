// Package study offers the coldfetch experiments to the runner: rigs, factors,
// outcomes and rules. The service imports none of it.
//
// There are three kinds of rig. In a bubble, users, proxy, service, minio-go and
// the fake store run in virtual time, and a build costs what the study published.
// On the emulated rig and the real one the service is a process of its own, within
// the arm's limits, and its driver another.
//
// With a number of operations in its plan, a trial lets each of its users make the
// same number of requests, so that at least so many are made.
package study
