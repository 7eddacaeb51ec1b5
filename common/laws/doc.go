// Package laws holds relations that throughput, response time and the number of
// requests obey whatever the system is, and the queueing models that have an
// exact answer.
//
//  1. The operational laws ([InFlight], [Response], [Utilisation] and their
//     like) need no assumption on distributions: they hold for every run that
//     is long against one request. They take and give an [Interval], so what was
//     rounded or estimated stays so.
//  2. [MMC] is an open station with random arrivals; [Closed] is a network with
//     a fixed number of users who think between requests; [Repairman] is the
//     closed form of its simplest case.
//  3. [FitUSL] fits the Universal Scalability Law to measured points.
//  4. [Audit] holds published figures against the laws and says what must be
//     true, what can't be, and what would need an odd assumption.
//
// Times are in seconds and rates per second, as float64, unless a name says
// otherwise. All functions are pure and may be used by any number of goroutines.
// An argument that can't be gives an error that wraps [ErrArgument].
//
// Sources, by the names used in the comments:
//
//   - Little 1961: "A proof for the queuing formula L = lambda W".
//   - Lazowska 1984: Lazowska, Zahorjan, Graham, Sevcik, "Quantitative System
//     Performance", chapters 3 (laws), 5 (bounds), 6 and 8 (closed networks).
//   - Buzen 1973: "Computational algorithms for closed queueing networks with
//     exponential servers".
//   - Reiser and Lavenberg 1980: "Mean-value analysis of closed multichain
//     queuing networks".
//   - Kleinrock 1975: "Queueing Systems", volume 1, section 3.
//   - Gunther 2007: "Guerrilla Capacity Planning", chapters 4 to 6.
package laws

import "errors"

// ErrArgument is wrapped by the error of a function whose argument can't be,
// such as a negative time.
var ErrArgument = errors.New("argument out of range")
