//go:build !race

package model

import (
	"context"
	"fmt"
	"os"

	"latlab.example/common/lab/relation"
	"latlab.example/common/sim/param"
)

// What the study says of its row log and its pool, and what the model gives.
func ExampleRelations() {
	all, err := relations()
	if err != nil {
		fmt.Println(err)
		return
	}
	relation.Write(os.Stdout, all)
	// Output:
	// row-log-costs: holds
	//   says       a log line a row makes requests nine times slower and takes two fifths of the throughput (spatial.log.avg, spatial.nolog.avg, spatial.log.rps, spatial.nolog.rps)
	//   published  1393 against 152 ms, 24.40 against 42.56/s
	//   modelled   1396 ms, p95 1690, 100.0 % slow, 25.1/s; without lines 11 ms, p95 31, 0.0 % slow, 47.4/s
	//   because    the mean is fitted, by one sink that takes lines one by one in 0.4 ms each. A file takes them in 3 us, and then nothing happens
	// sink-or-cpu: inconclusive
	//   says       the lines take CPU and block on output (spatial.log.avg, spatial.log.rps)
	//   published  both are named, neither was measured
	//   modelled   a sink 1396 ms, p95 1690, 100.0 % slow, 25.1/s; instead of it 0.7 ms of CPU a line 1453 ms, p95 1757, 100.0 % slow, 24.6/s
	//   because    any resource that takes some 41 ms a request gives the same means: they can't tell which it was
	// a-fifth-is-slow: inconclusive
	//   says       with a line a row a fifth of the requests is slow (spatial.log.slow_pct, spatial.log.p95, spatial.log.avg)
	//   published  20.32 % slow, p95 6361 ms, mean 1393 ms, 24.40/s
	//   modelled   a sink, steady: 1396 ms, p95 1690, 100.0 % slow, 25.1/s; a sink, ramp: 1944 ms, p95 4203, 77.5 % slow, 21.7/s; spinning on one host, ramp, 0.1 ms of CPU a line and no sink: 1450 ms, p95 9831, 18.4 % slow, 25.7/s (10 to 40 % slow with 10 of 10 seeds)
	//   because    a queue for a sink makes nearly all slow. A fifth needs two states in one run: here an overload that keeps itself up once the ramp has tipped it, since those who wait take the cores from those who work
	// pool-step: inconclusive
	//   says       fifteen connections instead of ten make requests fifteen times as fast (spatial.nolog.avg, spatial.pool15.avg, spatial.nolog.rps, spatial.pool15.rps)
	//   published  152 to 10 ms, 42.56 to 46.27/s
	//   modelled   11.0 to 11.0 ms; with half as much work again, ramp: 21.0 to 21.0 ms; and spinning on one host: 643 to 21.0 ms, 35.0 to 48.2/s, a step with 6 of 10 seeds; spinning on another host: 19.0 ms
	//   because    requests of 10 ms keep half a connection busy, so nobody waits for one of ten. A step needs requests that spin while they wait, on the cores that they wait for, and work in a narrow range: less never tips, more tips at fifteen as well. HikariCP's callers sleep
	// spin-burns: inconclusive
	//   says       threads that fight for ten connections burn CPU (spatial.pool10.cpu_peak, spatial.pool15.cpu_peak)
	//   published  peak 79 %, with fifteen 33 %
	//   modelled   mean 24 % with ten and 24 % with fifteen; spinning, with half as much work again 46 % and 36 %
	//   because    the same assumptions as for the step; who sleeps burns nothing
	// pool-cliff: holds
	//   says       a pool that is a third too small is a cliff (spatial.nolog.avg, spatial.pool15.avg)
	//   published  15 times
	//   modelled   210 users, connections held 100 ms without CPU: 838 ms with ten, 154 ms with fifteen, 5.4 times
	//   because    between the knees at P (Z + S) / S, for a hold that is ten times the published request. Fifteen times needs Z/S about 40
	// larger-pool-hurts: inconclusive
	//   says       the author expected a larger pool to hurt, by context switches (spatial.pool10.cpu_peak)
	//   published  CPU near 80 %; no figures
	//   modelled   150 users who think 0.5 s: 237 to 238 ms with 10 and 100 connections; if a job beyond the cores costs 2 %: 385 to 1939 ms, 170 to 62/s
	//   because    it rests on what a switch costs. Without a cost the pool only decides where requests wait
	// creep: inconclusive
	//   says       response time crept up during the run with ten connections (spatial.nolog.avg)
	//   published  no figures
	//   modelled   the same load, come up and come down: 114 and 114 ms; two connections a request 114 and 5000 ms; given up at 0.5 s and asked again up to three times 114 and 500 ms; spinning 13 and 6681 ms
	//   because    a queue alone forgets. Each of the three feedbacks makes an overload stay, and the study names none but spinning
	// half-the-users: inconclusive
	//   says       150 users made the load (spatial.vus, spatial.pool15.rps, spatial.pool15.avg)
	//   published  46.27/s of 10 ms
	//   modelled   73 users all the time 47.4/s; 150 who come and go evenly 48.4/s; 150 all the time 97.5/s
	//   because    with the think time on which the rows agree, 1.5 to 1.6 s, it was half of them in the mean: a ramp. With 150 all the time they would think 3.2 s in one row and 4.8 s in another
	// gauge-reads-zero: holds
	//   says       the gauge of the pool reads zero between requests, since users think (spatial.pool15.usage_peak)
	//   published  20 % at its peak
	//   modelled   66 % of the samples find no connection in use, and 3.1 % of the pool's time is used
	//   because    half a connection in the mean is none for more than half of the time
}

// What the model takes for granted.
func ExampleStudy() {
	Study().WriteText(os.Stdout)
	// Output:
	// parameter    value   range       source                                                                                                 what it is
	// service      7.28ms  3ms..40ms   published: spatial.pool15.avg, spatial.pool15.p95                                                      median of a request's work where nothing waits; with its spread the mean is 10 ms
	// spread       3.71    1..8        published: spatial.pool15.avg, spatial.pool15.p95                                                      95th percentile over median of that work: log-normal
	// cpu-share    1       0..1        assumed: places and index fit into memory                                                              share of the statement's work that is CPU; the rest waits for storage and holds no core
	// encode       0.1     0..0.5      assumed: a hundred rows to JSON                                                                        share of a request's work that the service does after the connection went back
	// round-trip   200us   0s..2ms     assumed: one host, or one rack                                                                         on the way to the database and back, a statement
	// guides       500us   100us..5ms  assumed: two look-ups by key                                                                           CPU of the database for guides and media, where a request asks for them
	// cores        2       1..8        assumed: 46.27/s of 10 ms keep 0.46 cores busy; at a peak of 33 % that is two cores rather than eight  cores of the database
	// one-host     1       0..1        assumed: one figure of CPU was published                                                               1: the service works on the database's cores, 0: on as many of its own
	// rows         100     20..500     published: spatial.rows_per_query                                                                      rows of an answer
	// line         395us   0s..800us   calibrated: spatial.log.avg                                                                            time of the one serial log sink a line
	// line-cpu     3us     1us..50us   assumed: what a line to a file costs                                                                   CPU of the service a line
	// block-lines  0       0..1        assumed: appenders lock a line at a time                                                               1: a request's lines stay together in the sink, 0: they alternate with others'
	// inflation    0       0..0.1      assumed: none: what switching costs was not published                                                  how much more work a statement is for each job beyond the cores when it begins
	// spin-slice   1ms     200us..4ms  assumed: a scheduler's                                                                                 CPU that a spinning request burns between two looks at the pool
	// patience     30s     2s..1m0s    assumed: HikariCP's default                                                                            how long a request waits for a connection before it fails
	// retries      0       0..3        assumed: none: the study says nothing of any                                                           how often a request that failed is made again at once, while the database goes on with what was given up
}

// How much work tips a pool of ten whose waiters spin, and how much one of
// fifteen? Between the two is all the room that the study's step has.
func Example_flips() {
	for _, pool := range []int{10, 15} {
		flips, err := param.Flips(Study(), Service, 6*millisecond, 16*millisecond, func(t param.Table) (string, error) {
			f, err := Run(context.Background(), spinning(ramped(study(pool))), t, 1, rampWindow, nil)
			if f.Mean() > 200 {
				return "tips", err
			}
			return "doesn't", err
		})
		fmt.Println(pool, "connections:", flips, err)
	}
	// Output:
	// 10 connections: [service: doesn't up to 9.90625ms, tips from 9.984375ms (the model has 7.28ms, published)] <nil>
	// 15 connections: [service: doesn't up to 11.9375ms, tips from 12.015625ms (the model has 7.28ms, published)] <nil>
}

// Which assumption does the step of the pool rest on?
func Example_tornado() {
	step := func(t param.Table) (float64, error) {
		t, err := t.Set(Service, heavier)
		if err != nil {
			return 0, err
		}
		ten, err := Run(context.Background(), spinning(ramped(study(10))), t, 1, rampWindow, nil)
		if err != nil {
			return 0, err
		}
		fifteen, err := Run(context.Background(), spinning(ramped(study(15))), t, 1, rampWindow, nil)
		return ten.Mean() / fifteen.Mean(), err
	}
	base, bars, err := param.Tornado(Study(), step)
	if err != nil {
		fmt.Println(err)
		return
	}
	param.WriteTornado(os.Stdout, base, bars[:6])
	// Output:
	// the outcome is 30.57
	// parameter  from  to    outcome at from  at to   source
	// encode     0     0.5   33.49            0.9938  assumed
	// one-host   0     1     0.9985           30.57   assumed
	// cpu-share  0     1     1                30.57   assumed
	// inflation  0     0.1   30.57            1.059   assumed
	// patience   2s    1m0s  13.43            32.81   assumed
	// retries    0     3     30.57            32.64   assumed
}
