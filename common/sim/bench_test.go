package sim_test

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"latlab.example/common/sim"
)

// BenchmarkEvent compares an event, of 150 processes that sleep in turn, with the
// least that a process can cost in Go: a resume of one bare coroutine of iter.Pull
// that is alone, and of 150 in turn. They take turns within the run, and the
// median of each is reported.
func BenchmarkEvent(b *testing.B) {
	const procs, events = 150, 150 * 1000
	alone, stopAlone := coroutines(1)
	turns, stopTurns := coroutines(procs)
	defer stopAlone()
	defer stopTurns()
	var bare, bareTurns, event []float64
	for b.Loop() {
		bare = append(bare, nsEach(events, func() { resume(alone, events) }))
		bareTurns = append(bareTurns, nsEach(events, func() { resume(turns, events) }))
		event = append(event, nsEach(events, func() { sleepInTurn(b, procs, events/procs) }))
	}
	one := median(event)
	b.ReportMetric(median(bare), "ns/resume")
	b.ReportMetric(median(bareTurns), "ns/resume-of-150")
	b.ReportMetric(one, "ns/event")
	b.ReportMetric(one/median(bare), "resumes/event")
	b.ReportMetric(one/median(bareTurns), "resumes-of-150/event")
	b.ReportMetric(0, "ns/op") // a round of all three says nothing
}

// BenchmarkRequest runs the package example's model: four waits and three stages a
// request, of 150 users.
func BenchmarkRequest(b *testing.B) {
	b.ReportAllocs()
	requests, events := uint64(0), uint64(0)
	for b.Loop() {
		s, f := searchModel(1)
		if err := s.Run(context.Background(), 0, time.Minute); err != nil {
			b.Fatal(err)
		}
		requests += f.Result().Response.Count()
		events += s.Events()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(requests), "ns/request")
	b.ReportMetric(float64(b.Elapsed())/float64(events), "ns/event")
}

// searchModel is the model of the package example.
func searchModel(seed uint64) (*sim.Sim, *sim.Flow) {
	s := sim.New(seed)
	conns, cores, f := s.Pool("conns", 10), s.SharedCPU("cores", 2), s.Flow(search)
	think, cost := sim.Exponential(1500*time.Millisecond), sim.LogNormal(15*time.Millisecond, 40*time.Millisecond)
	s.Users(150, think, func(p *sim.Proc) {
		r := f.Begin()
		conns.Acquire(p)
		r.Lap(acquire)
		cores.Use(p, p.Draw(cost))
		r.Lap(query)
		conns.Release(p)
		cores.Use(p, 2*time.Millisecond)
		r.Lap(encode)
		r.Done()
	})
	return s, f
}

func coroutines(n int) (next []func() (struct{}, bool), stop func()) {
	var stops []func()
	for range n {
		f, g := iter.Pull(func(yield func(struct{}) bool) {
			for yield(struct{}{}) {
			}
		})
		next, stops = append(next, f), append(stops, g)
	}
	return next, func() {
		for _, f := range stops {
			f()
		}
	}
}

func resume(next []func() (struct{}, bool), n int) {
	for range n / len(next) {
		for _, f := range next {
			f()
		}
	}
}

func sleepInTurn(tb testing.TB, procs, times int) {
	s := sim.New(1)
	for i := range procs {
		s.Go("sleeper", func(p *sim.Proc) {
			p.Sleep(time.Duration(i))
			for range times {
				p.Sleep(time.Microsecond)
			}
		})
	}
	if err := s.Run(context.Background(), 0, time.Hour); err != nil {
		tb.Fatal(err)
	}
}

func nsEach(n int, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start)) / float64(n)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// mallocs is how many objects were ever allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
