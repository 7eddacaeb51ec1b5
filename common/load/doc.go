// Package load makes requests as users do, or as a public does, and reports what
// came of them without coordinated omission.
//
//  1. A [Closed] loop has virtual users who wait for an answer and think before
//     the next request. An [Open] loop has [Arrivals] that come when they are due
//     ([Even] or [Poisson]). Both follow a [Schedule]: ramps, stages, jumps.
//  2. Run calls a [Func] for each [Request], in wall-clock time or, unchanged, in
//     the virtual time of a testing/synctest bubble.
//  3. Response time counts from when a request was due, service time from when it
//     started. In a closed loop the two are one; in an open loop their difference
//     is the lag of the generator, which is reported too.
//  4. The [Window] cuts warm-up and edges, by the time of completion.
//  5. The [Report] has histograms, errors by [Kind], arrivals dropped at a bound,
//     each second on its own, and both sides of Little's law, which have to agree
//     to the nanosecond.
//
// # What a closed loop omits
//
// When a server stalls for two seconds, one user in a closed loop waits, once.
// The hundreds who would have come in these two seconds aren't asked, and the
// 99th percentile looks as if nothing had happened. The example of [Open] prints
// both. Neither is wrong: they answer different questions. Use a closed loop for
// a fixed number of users who wait, an open one for traffic from outside.
//
// # The generator
//
// Arrivals less than a millisecond apart can't be slept for one by one, since a
// timer of Go is up to a millisecond late. The generator sleeps until the next is
// due and then releases all that are. A request is so half a millisecond late in
// the mean, and since response time counts from when it was due, this is seen and
// not hidden; service times are as if released in time. [emu.Spin] as the waiter
// removes the lag but takes a core: on two cores with real sockets it made requests
// ten times slower, so it is for hosts with cores to spare. The module in peers
// compares both with vegeta on the same server.
//
// A request costs 0.1 to 0.2 us beside itself (BenchmarkOverhead, two shared cores).
// All of a run's requests share one lock, so some millions a second are the most.
// Memory doesn't grow with requests, only with the seconds of a run, by about 2 KB
// each.
//
// # Concurrency
//
// [Closed] and [Open] are plain values; any number of runs may go on at once. A
// [Report] is a plain value. A run leaves no goroutine behind.
package load
