// Command peers compares the open loop of package load with vegeta: the same rate
// against the same local HTTP server, by the same HTTP client, one after the other
// in rounds. It is a module of its own, outside the workspace, so that nobody who
// uses load downloads vegeta. Run it in its folder, on a system with getrusage
// (Linux, macOS, BSD):
//
//	GOWORK=off go run .
//
// The server is a process of its own, so CPU is that of the generator alone. Ratios
// are to vegeta in the same round, since a host that isn't quiet changes more from
// round to round than the generators differ: take many short rounds.
//
// An example, from a virtual machine with two shared cores:
//
//	1000/s for 2s, 20 rounds: medians; ratios to vegeta in the same round, with quartiles
//
//	          lag us  rate/s              ratio  p50 us              ratio  CPU ms              ratio
//	vegeta  not told   999.5  1.000 (1.00-1.00)   129.2  1.000 (1.00-1.00)   255.2  1.000 (1.00-1.00)
//	  load       503    1000  1.000 (1.00-1.00)   126.5  0.959 (0.87-1.07)   267.1  1.002 (0.95-1.08)
//
// p50 and p99 count from when a request really started, for both: vegeta knows no
// other. The lag, from when it was due to when it started, is the timer of Go,
// which is up to a millisecond late; package load reports it and adds it to
// the response time.
package main
