// Package bubble runs real concurrent code in virtual time, from tests, from
// benchmarks and from a shipped command.
//
// [Run] calls a function in a testing/synctest bubble. What it brings along
// stands where the machine stands:
//
//  1. [Net] is a network in memory, for net/http and for any client that can
//     be told how to dial.
//  2. [CPU] makes work cost virtual time. Without it, work costs nothing.
//  3. emu.Sleep is the waiter for fakes, as the clock is virtual.
//
// # Rules in a bubble
//
//   - The clock starts at 2000-01-01 00:00 UTC. It stands still while any
//     goroutine of the bubble can run, and jumps to the next timer when none
//     can. So computing takes no time at all.
//   - A loop that waits for the clock without blocking never ends.
//   - Only channels, timers and WaitGroups made in the bubble let the clock
//     go on, and sync.Cond. A goroutine that waits for a file, a socket or a
//     channel from outside holds the clock still.
//   - A goroutine that waits for a sync.Mutex holds the clock still, too. So a
//     mutex held across a sleep, with somebody waiting for it, hangs for ever.
//     A channel of capacity one is a lock that may be held across a sleep.
//   - Every goroutine started in the bubble must end: close servers, idle
//     connections and pools before returning.
//   - A panic on a goroutine other than the function's own ends the process,
//     as it does outside.
//   - Make clients, pools and channels inside, for one bubble each. Don't
//     share http.DefaultTransport, nor a package variable that keeps channels.
//   - testing.B's Loop belongs outside, as it looks at the clock.
//
// In a rig made by lab.Bubble call Run in each trial, and open the code under
// test inside it.
//
// # The same figures each time
//
// Goroutines that become ready at one instant run in any order, also in
// parallel; the Go runtime fires timers of one instant in random order on
// purpose; select picks a ready case at random; maps are walked in random
// order. Virtual time hides none of this. Figures are the same each time if
// whatever happens at one instant may happen in any order:
//
//   - Give each user a random stream of its own, from the seed and the user's
//     number, not one stream that all draw from.
//   - Spread starts and thinking times by seeded jitter of nanosecond grain,
//     so that two users seldom meet at one instant. Round figures (each user
//     starts at 0 and thinks 1 s) make them meet always.
//   - Draw a fake's latency by key and use, as emu.Latency does, not by order
//     of arrival.
//   - Queue for a limited resource at [CPU], where arrivals at one instant are
//     equal. In a queue of one after another, order decides who waits.
//   - Let results be sums, counts and sorted values, not the order of a log.
//
// The parts of this package keep to it. At one instant a finished [CPU] job
// counts as finished before its context ends, and a deadline of a connection
// counts as passed before data arrive, whichever goroutine runs first.
//
// # How it works, and what may break it
//
// testing/synctest wants a *testing.T. Run gives it a zero one, which Go 1.26
// accepts: it uses nothing but its lock and its flags of failure. So neither
// testing.Init nor testing.MainStart is called. No flag is registered,
// os.Args, standard output and GOMAXPROCS are left alone. (But a command built
// with the race detector calls testing.Init with a flag set of its own; see
// race.go.) A Go release that wants more of it will fail
// TestGoReleaseStillAllowsBubbles, and Run with [ErrBroken] or with a crash
// in package testing.
package bubble
