package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"latlab.example/common/metrics"
	"latlab.example/common/sim"
)

// The stages of a search, in the order of their names below.
const (
	acquire metrics.Stage = iota
	query
	encode
)

var search = metrics.NewStageSet("search", "acquire", "query", "encode")

// A service as in many a load test: 150 users who think, a pool of 10
// connections, 2 cores for the queries and the encoding of their answers.
func Example() {
	s := sim.New(1)
	conns := s.Pool("conns", 10)
	cores := s.SharedCPU("cores", 2)
	requests := s.Flow(search)

	think := sim.Exponential(1500 * time.Millisecond)
	queryCost := sim.LogNormal(15*time.Millisecond, 40*time.Millisecond)
	encodeCost := sim.Constant(2 * time.Millisecond)

	s.Users(150, think, func(p *sim.Proc) {
		r := requests.Begin()
		conns.Acquire(p)
		r.Lap(acquire)
		cores.Use(p, p.Draw(queryCost))
		r.Lap(query)
		conns.Release(p)
		cores.Use(p, p.Draw(encodeCost))
		r.Lap(encode)
		r.Done()
	})

	if err := s.Run(context.Background(), 30*time.Second, 10*time.Minute); err != nil {
		fmt.Println(err)
		return
	}
	got := requests.Result()
	fmt.Printf("mean %.1f ms, p95 %.1f ms, %.1f requests/s\n\n",
		got.Response.Mean()/1e6, float64(got.Response.Quantile(0.95))/1e6, got.PerSec())
	got.Path.WriteText(os.Stdout)
	fmt.Println()
	sim.WriteUsage(os.Stdout, s.Usages())
	// Output:
	// mean 99.5 ms, p95 250.1 ms, 94.0 requests/s
	//
	//         search       ns/op  percent
	//        acquire  20124476.6     20.2
	//          query  71067245.9     71.4
	//         encode   8301717.1      8.3
	//   unattributed         0.0      0.0
	//          total  99493439.5    100.0
	//
	//     resource  servers    done      wait      hold  waiting  inside  utilisation
	//   pool conns       10   56413  20.151ms   71.06ms    1.895   6.682        0.668
	//    cpu cores        2  112826        0s  39.681ms    0.000   7.463        0.935
}

// Two requests that each hold a connection and want a second one. The users who
// come later wait with them, and the run says who waits for whom.
func ExampleStuckError() {
	s := sim.New(1)
	conns := s.Pool("conns", 2)
	s.Users(3, sim.Constant(time.Millisecond), func(p *sim.Proc) {
		conns.Acquire(p)
		p.Sleep(2 * time.Millisecond)
		conns.Acquire(p) // for the audit log
		conns.Release(p)
		conns.Release(p)
	})
	err := s.Run(context.Background(), 0, time.Minute)
	fmt.Println(errors.Is(err, sim.ErrDeadlock))
	fmt.Println(err)
	// Output:
	// true
	// sim: deadlock at 3ms: nothing can happen any more, and 3 processes wait
	//   user#1 waits for pool conns (2 of 2 taken), held by user#1, user#2, since 3ms
	//   user#2 waits for pool conns (2 of 2 taken), held by user#1, user#2, since 3ms
	//   user#3 waits for pool conns (2 of 2 taken), held by user#1, user#2, since 1ms
}

// An interpreter lock. A health check needs a moment of it, while a document is
// built for 802 ms: by code that looks each millisecond whether it was asked to
// give the lock up, or by a library that doesn't.
func ExampleLock() {
	for _, library := range []bool{false, true} {
		s := sim.New(1)
		cores := s.SharedCPU("cores", 2)
		gil := s.Lock("gil").Switch(5*time.Millisecond, 0)
		s.Go("build", func(p *sim.Proc) {
			gil.Acquire(p)
			if library {
				cores.Use(p, 802*time.Millisecond)
			} else {
				gil.Work(p, cores, 802*time.Millisecond, time.Millisecond)
			}
			gil.Release(p)
		})
		s.Go("health", func(p *sim.Proc) {
			p.Sleep(100 * time.Millisecond)
			began := p.Now()
			gil.Acquire(p)
			gil.Work(p, cores, 300*time.Microsecond, time.Millisecond)
			gil.Release(p)
			fmt.Printf("library %v: health took %v\n", library, p.Now()-began)
		})
		if err := s.Run(context.Background(), 0, time.Second); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// library false: health took 6.3ms
	// library true: health took 702.3ms
}
