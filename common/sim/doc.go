// Package sim runs models in virtual time: systems of processes that wait for
// resources, as a discrete-event simulation.
//
//  1. [New] makes a simulation from a seed.
//  2. Resources are made on it: [Sim.SharedCPU] and [Sim.QueuedCPU], [Sim.Lock],
//     [Sim.Pool], [Sim.Workers], [Sim.Loop], [Sim.Device], [Sim.Link].
//  3. Processes are plain sequential Go. [Sim.Users] is a closed loop,
//     [Sim.Arrivals] an open one, [Sim.Go] one process; a [Group] is waited for, a
//     [Signal] is a result that several wait for.
//  4. A [Flow] measures requests: their stages go to package metrics, with the
//     nanoseconds of the virtual clock.
//  5. [Sim.Run] runs a warm-up, forgets what was measured, and runs the window.
//  6. [Flow.Result] says how long requests took and where their time went;
//     [Sim.Usages] says what the resources did.
//
// The package example is a whole model.
//
// # The same figures everywhere
//
// A seed gives the same bytes in each run, on amd64, arm64 and WebAssembly,
// whatever GOMAXPROCS is and with the race detector. Time is in whole
// nanoseconds. Distributions draw from integer tables ([Dist]); sums are of
// integers, and a float64 is only made of two of them, at the end. Events of one
// instant happen in the order in which they were scheduled. Nothing looks at
// the wall clock.
//
// A process draws from a stream of its own, and so does each resource. So two
// runs of one seed that differ in one resource have the same users with the same
// thoughts: a fair comparison takes far fewer runs.
//
// A model keeps this up if it walks no maps, starts no goroutines and accumulates
// no floats.
//
// # What is checked
//
//   - Little's law, to the nanosecond, at every resource and flow of every run:
//     the area under the number of those there is the sum of the times that they
//     were there. It guards the counts of this package ([ErrInvariant]).
//   - Every request's timeline ([metrics.Timeline.Check]).
//   - Processes that wait for each other, and runs that don't end: who waits for
//     what, and who holds it ([StuckError]).
//
// The tests hold the resources against closed forms, with 20 seeds each: M/M/c,
// M/D/1 and M/G/1, with queued and with shared cores, the machine repairman, and
// a closed network.
//
// # Costs
//
// Processes are coroutines of package iter. An event costs less than two bare
// resumes of one (115 against 62 ns on a virtual machine with two shared cores) and
// no allocation; BenchmarkEvent measures both in one run. A process whose own event
// is the next one isn't switched at all. A request of a [Flow] allocates its
// timeline; the example's costs 1 to 2 us in all (BenchmarkRequest).
package sim
