//go:build !race

package model

import (
	"context"
	"fmt"
	"os"

	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
)

// What the study says of cores, loop and ladder, and what the model gives.
func ExampleRelations() {
	all, err := relations()
	if err != nil {
		fmt.Println(err)
		return
	}
	relation.Write(os.Stdout, all)
	// Output:
	// one-core-loses: inconclusive
	//   says       on one core instead of two, throughput at 100 users falls by 29 % (cold.ladder.100.two.rps, cold.ladder.100.one.rps)
	//   published  7.3 to 5.2/s
	//   modelled   alone on the host 1.64 to 1.65/s; with a neighbour that wants 30 % of a core 1.61 to 1.16/s, -28 %
	//   because    a loop uses one core, and a second one is idle unless somebody else needs the first. It takes a neighbour, or another mix of hits and misses in the two runs
	// p95-stays: fails
	//   says       p95 hardly moves where throughput falls (cold.ladder.100.two.p95, cold.ladder.100.one.p95, cold.ladder.100.two.rps, cold.ladder.100.one.rps)
	//   published  p95 +5 %, throughput -29 %
	//   modelled   the same neighbour, ten users: p95 8.3 to 11.5 s, +39 %; throughput -28 %
	//   because    users who wait for their answers and don't think have a mean of N / X: 13.7 and 19.2 s in the published runs. What makes all of it slower makes its tail slower, too, unless the two runs had other tails
	// throughput-grows: inconclusive
	//   says       throughput grows along the ladder (cold.ladder.1.two.rps, cold.ladder.10.two.rps, cold.ladder.100.two.rps)
	//   published  1.8, 3.7, 7.3/s with 1, 10, 100 users
	//   modelled   1.67, 1.65, 1.67/s; if the handler gives the loop back between look-up and build, and builds are shared: 1.68, 2.08, 7.35/s
	//   because    one user settles the mix: two of three documents are built. A server that is full at one user can do more for a hundred only if their requests share builds. That gives both ends of the ladder, and not its middle
	// tail: fails
	//   says       p95 is three times the mean (cold.ladder.10.two.p95, cold.ladder.10.two.rps)
	//   published  8.0 s, where 10 users at 3.7/s have a mean of 2.7 s
	//   modelled   8.1 and 6.0 s on the loop; 9.7 and 5.9 s off it; 6.9 and 4.8 s with shared builds
	//   because    in rounds all wait alike. Such a tail needs a run in two parts: a cold cache first and hits later, say
	// health-waits: holds
	//   says       the health endpoint does nothing and waits for the loop (cold.health.server, cold.health.proxy.p95)
	//   published  0.3 ms by its own clock, p95 60 s as the proxy saw it
	//   modelled   100 users: 0.4 ms, and p95 60 s, with 7460 requests given up at the proxy's timeout; 10 users: p95 7.8 s
	//   because    a round has a build for two of three users. 60 s is where the proxy gives up: how long it would have been isn't known
	// health-slower-than-documents: inconclusive
	//   says       health waits longer than the documents on the same loop (cold.health.proxy.p95, cold.ladder.100.one.p95)
	//   published  60 against 43.7 s
	//   modelled   ten users: 7.8 against 8.1 s; if each health request takes three turns, for a connection of its own: 19.9 against 8.0 s
	//   because    on one loop each waits for one round. Health is slower only if it needs more rounds than a document
	// lag: holds
	//   says       one turn of the loop lasts for tens of seconds (cold.looplag.max, cold.looplag.events, cold.looplag.total)
	//   published  28.8 s at most, 35 events, 70 s in all
	//   modelled   100 users: 83 s at most; with shared builds 11 s; ten users 9 s
	//   because    28.8 s are 36 builds: as many in one round as a third of a hundred users need, or half of the misses
	// listing-waits: inconclusive
	//   says       the listing's halves take seconds, since each waits for the loop (cold.list.manifest, cold.list.corpus)
	//   published  4.3 and 5.2 s
	//   modelled   8 users: 4.6 and 4.2 s; 100 users: 74 and 73 s; 5 ms each of its own
	//   because    each half waits for a round, and the study doesn't say of how many users. Eight make rounds of that length: it isn't the run of the health endpoint's 60 s
	// off-the-loop: holds
	//   says       a handler off the loop lets health answer (cold.health.proxy.p95)
	//   published  planned, not measured
	//   modelled   ten users: p95 of health 7835 to 77 ms, throughput +3 %; 100 users: 77 ms
	//   because    the lock passes every 5 ms. Documents gain nothing: one of them computes at a time, as before
	// unbounded-work: holds
	//   says       without a loop, health is slow as well if work on one core is unbounded (cold.health.server)
	//   published  not in the study
	//   modelled   30 users of goroutines: p95 of health 305 ms on one core, 148 ms on two; one build at a time: 29.3 ms, at +49 % of throughput
	//   because    a goroutine that becomes ready waits for a slice of 10 ms of each that computes. A bound on builds costs no throughput: who waited for it may find his document built
	// herd: holds
	//   says       a loop that blocks is an accidental single-flight (cold.pull.large.size)
	//   published  not in the study
	//   modelled   50 callers of one cold document: on the loop 1 GET and 1 build, p95 2.1 s; goroutines 50 and 50, 42.8 s; sharing pull and build 1 and 1, 4.2 s
	//   because    nobody looks while the first one pulls and builds. Who takes the handler off the loop must share
	// next-fixes: holds
	//   says       off the loop, a larger cache, a profile of the build (cold.stage.miss.build, cold.stage.hit.json)
	//   published  planned, without figures
	//   modelled   ten users, mean 6.02 s: off the loop 5.86 s, all six documents kept 0.21 s, a build of a tenth 1.00 s
	//   because    the first fix in the study's order is for health alone; documents gain from the cache and the build
}

// What the model takes for granted.
func ExampleStudy() {
	Study().WriteText(os.Stdout)
	// Output:
	// parameter        value      range                  source                                                                                      what it is
	// build            802ms      400ms..1.6s            published: cold.stage.miss.build                                                            median CPU of a build
	// build-spread     1.25       1..3                   published: cold.ladder.1.two.p95 against a miss of 862 ms                                   95th percentile over median of a build: log-normal
	// json             20ms       5ms..40ms              published: cold.stage.hit.json                                                              CPU of an answer's text
	// miss-rest        40ms       0s..60ms               published: cold.stage.miss.build / cold.stage.miss.build_share less build, json and locate  CPU of a miss that no stage has
	// hit-rest         2.2ms      0s..5ms                published: cold.stage.hit.json / cold.stage.hit.json_share less json and locate             CPU of a hit that no stage has
	// lean-build       80ms       40ms..400ms            assumed: a tenth, as this case's own two builds                                             median CPU of a build after a profile of it
	// gzip             3ms        1ms..10ms              assumed: 140 KB                                                                             CPU of compressing an answer, which is then a fifth
	// locate           300us      50us..1ms              published: cold.pull.hit                                                                    CPU of a look at a file that is there
	// health           300us      50us..1ms              published: cold.health.server                                                               CPU of the health endpoint
	// listing          5ms        1ms..20ms              assumed: a handful of names                                                                 CPU of each of the listing's two halves
	// pull-first       2.43ms     1ms..5ms               calibrated: cold.pull.small.*, cold.pull.large.*                                            a pull without its bytes, store on loopback, file made durable
	// pull-rate        879000000  200000000..2000000000  calibrated: cold.pull.small.*, cold.pull.large.*                                            bytes a second of such a pull
	// lan-first        2.9ms      1.5ms..5ms             assumed: half a millisecond more than loopback                                              the same from a store in the next rack
	// lan-rate         400000000  100000000..1000000000  assumed: a connection of 4 Gbit/s                                                           bytes a second from there
	// wan-first        32ms       10ms..100ms            assumed: a store in another city                                                            the same from far away
	// wan-rate         50000000   10000000..125000000    assumed: one connection's share                                                             bytes a second from there
	// turns            1          1..2                   assumed: the handler awaits nothing between look-up and build                               1: a handler has one turn of the loop, 2: one to look up and one to build or answer, so that requests in between see the same cache
	// health-turns     1          1..3                   assumed: connections are kept alive                                                         turns of the loop that a health request needs; a connection of its own takes one more
	// threads          6          1..40                  assumed: Python's default is cores + 4                                                      threads that take handlers off the loop
	// switch-interval  5ms        1ms..20ms              published: CPython's default                                                                how long a thread waits for the interpreter's lock before it asks
	// hand-over        50us       5us..1ms               assumed: a thread wakes up                                                                  nobody works while the lock goes to a thread that waited
	// proxy            200us      50us..2ms              assumed: a proxy in front                                                                   its CPU a request, on the service's cores
	// transfer         1ms        0s..100ms              published: cold.proxy.transfer.p95                                                          time that an answer takes from the proxy to its user
	// proxy-timeout    1m0s       30s..5m0s              assumed: a common proxy's default                                                           how long the proxy waits for the service, which goes on with what was given up
	// think            25ms       0s..1s                 assumed: none is published                                                                  mean time that a user waits between two documents
	// health-rate      100ms      20ms..1s               assumed: ten a second                                                                       mean time between health requests, whatever became of those before
	// list-rate        1s         200ms..10s             assumed: one a second                                                                       mean time between listings
	// neighbour-cycle  10ms       1ms..100ms             assumed: a busy stack of many small requests                                                time in which a neighbour computes once for its share
	// goroutine-slice  10ms       1ms..20ms              assumed: Go's scheduler lets a goroutine run so long before others                          CPU that a goroutine gets in its turn; off the loop and on it, threads share cores alike
}

// Which assumption does "throughput grows four-fold along the ladder" rest on, once
// the handler gives the loop back and builds are shared?
func Example_tornado() {
	grows := func(t param.Table) (float64, error) {
		one, err := Run(context.Background(), study(1).sharing(), t, 1, relationWindow, nil)
		if err != nil {
			return 0, err
		}
		hundred, err := Run(context.Background(), study(100).sharing(), t, 1, relationWindow, nil)
		return hundred.PerSec() / one.PerSec(), err
	}
	t, err := Study().Set(Turns, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	base, bars, err := param.Tornado(t, grows)
	if err != nil {
		fmt.Println(err)
		return
	}
	param.WriteTornado(os.Stdout, base, bars[:5])
	// Output:
	// the outcome is 4.374
	// parameter  from   to    outcome at from  at to  source
	// think      0s     1s    4.235            10.97  assumed
	// turns      1      2     0.998            4.374  set
	// build      400ms  1.6s  3.698            5.037  published
	// miss-rest  0s     60ms  5.251            4.095  published
	// json       5ms    40ms  4.783            3.934  published
}
