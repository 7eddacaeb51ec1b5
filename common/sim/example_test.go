package sim_test

import (
	"context"
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
