package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"latlab.example/common/metrics"
)

// The stages of a shop's request, in the order of their names below.
const (
	lookup metrics.Stage = iota
	render
)

var shop = metrics.NewStageSet("shop", "lookup", "render")

// Timing one's own service: two lines a stage and one for the table.
func Example() {
	rec := metrics.NewRecorder(shop, metrics.WithSwitch(true)) // or leave it to LATLAB_STAGES
	for range 3 {
		m := rec.Start()
		time.Sleep(time.Millisecond) // find the item
		rec.End(lookup, m)

		m = rec.Start()
		_ = fmt.Sprintf("page %d", m) // make the page
		rec.End(render, m)
	}
	// rec.Snapshot().WriteText(os.Stdout) writes it as a table.
	for _, s := range rec.Snapshot().Stages {
		fmt.Println(s.Name, s.Dist.Count(), s.Dist.Max() > 0)
	}
	// Output:
	// lookup 3 true
	// render 3 true
}

func ExampleSnapshot_WriteText() {
	rec := metrics.NewRecorder(shop, metrics.WithSwitch(true))
	for i := range 100 {
		rec.Observe(lookup, time.Duration(i+1)*time.Millisecond)
		rec.Observe(render, 200*time.Microsecond)
	}
	rec.Snapshot().WriteText(os.Stdout)
	// Output:
	//     shop  count    mean      p50      p99    max
	//   lookup    100  50.5ms  49.94ms  98.83ms  100ms
	//   render    100   200us    200us    200us  200us
}

// A scope records a part of a program only, even when that part panics.
func ExampleRecorder_Scope() {
	rec := metrics.NewRecorder(shop, metrics.WithSwitch(false))
	func() {
		defer rec.Scope(true).Close()
		fmt.Println("inside:", rec.On())
		func() {
			defer rec.Scope(false).Close()
			fmt.Println("nested:", rec.On())
		}()
	}()
	fmt.Println("after:", rec.On())
	// Output:
	// inside: true
	// nested: false
	// after: false
}

// A model adds its stages in virtual time. Here the page is made while the look-up
// still runs, on a track of its own, and nobody knows what happens in the end.
func ExampleRequest_Add() {
	rec := metrics.NewRecorder(shop, metrics.WithSwitch(true))
	q := rec.Request()
	q.Add(0, lookup, 0, 600)
	q.Add(q.Track(), render, 400, 900)
	t := q.FinishAt(0, 1000)
	if err := t.Check(); err != nil {
		fmt.Println(err)
	}
	t.Critical().WriteText(os.Stdout)
	// Output:
	//           shop   ns/op  percent
	//         lookup   400.0     40.0
	//         render   500.0     50.0
	//   unattributed   100.0     10.0
	//          total  1000.0    100.0
}

// Check says what is unsound, where, and what to do.
func ExampleTimeline_Check() {
	t := metrics.Timeline{Set: shop, From: 0, To: 10, Intervals: []metrics.Interval{
		{Stage: lookup, From: 0, To: 6},
		{Stage: render, From: 5, To: 9},
	}}
	fmt.Println(t.Check())
	// Output:
	// metrics: shop/lookup on track 0, 0..6 ns and shop/render on track 0, 5..9 ns: intervals overlap on one track; end one before the other starts, or give it a track of its own
}

// Distributions of several processes merge without loss.
func ExampleDist_Merge() {
	a, b := metrics.NewHistogram(), metrics.NewHistogram()
	a.Record(100)
	b.Record(300)
	d := a.Snapshot()
	d.Merge(b.Snapshot())
	text, _ := json.Marshal(d)
	fmt.Println(d.Count(), d.Mean(), string(text))
	// Output: 2 200 {"count":2,"sum_ns":400,"min_ns":100,"max_ns":300,"buckets":[[100,1],[300,1]]}
}

// chosen is an arm of an experiment; the lab has its own.
type chosen map[string]string

func (c chosen) Level(name string) (string, bool) {
	label, ok := c[name]
	return label, ok
}

func ExampleToggle() {
	latency := metrics.NewToggle("latency", 0, 50*time.Microsecond, time.Millisecond).
		Simulates("the network", 50*time.Microsecond, time.Millisecond)
	for i := range latency.Len() {
		fmt.Printf("%s=%s %q\n", latency.Name(), latency.Label(i), latency.SimulatedBy(i))
	}
	fmt.Println(latency.Of(chosen{"latency": "1ms"}), latency.Of(chosen{}))
	_, err := latency.Parse("2ms")
	fmt.Println(err)
	// Output:
	// latency=0s ""
	// latency=50us "the network"
	// latency=1ms "the network"
	// 1ms 0s
	// metrics: toggle latency: no such level "2ms"; the levels are 0s, 50us, 1ms
}

func ExampleToggle_Resolve() {
	workers := metrics.NewToggle("pool-workers", 1, 4, 16)
	os.Setenv("LATLAB_POOL_WORKERS", "4")
	defer os.Unsetenv("LATLAB_POOL_WORKERS")
	option := 8

	fmt.Println(workers.Resolve(nil, nil))
	fmt.Println(workers.Resolve(nil, &option))
	fmt.Println(workers.Resolve(chosen{"pool-workers": "16"}, &option))
	// Output:
	// 4 <nil>
	// 8 <nil>
	// 16 <nil>
}
