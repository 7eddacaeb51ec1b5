package metrics

import (
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"
)

// costArm is something whose cost BenchmarkCost compares. It runs its loop n
// times; the loop stands in the arm itself, so that calls inline as they do in a
// user's code.
type costArm struct {
	name       string
	goroutines int
	run        func(n int)
}

var hits int // keeps a branch alive

func costArms() []costArm {
	set := NewStageSet("cost", "work")
	off, on := NewRecorder(set, WithSwitch(false)), NewRecorder(set, WithSwitch(true))
	var (
		h     Histogram
		apart [2]Histogram
		turn  atomic.Int32
	)
	record := func(h *Histogram, n int) {
		for i := range n {
			h.Record(50_000 + int64(i)&0xffff)
		}
	}
	return []costArm{
		{"empty loop", 1, func(n int) {
			for range n {
			}
		}},
		{"off: On", 1, func(n int) {
			for range n {
				if off.On() {
					hits++
				}
			}
		}},
		{"off: Start, End", 1, func(n int) {
			for range n {
				off.End(0, off.Start())
			}
		}},
		{"off: Start, deferred End", 1, func(n int) {
			for range n {
				deferred(off)
			}
		}},
		{"off: request, 1 stage", 1, func(n int) {
			for range n {
				request(off)
			}
		}},
		{"two clock reads", 1, func(n int) {
			for range n {
				a := time.Since(epoch)
				hits += int(time.Since(epoch) - a)
			}
		}},
		{"on: Start, End", 1, func(n int) {
			for range n {
				on.End(0, on.Start())
			}
		}},
		{"on: Start, deferred End", 1, func(n int) {
			for range n {
				deferred(on)
			}
		}},
		{"on: request, 1 stage", 1, func(n int) {
			for range n {
				request(on)
			}
		}},
		{"record, alone", 1, func(n int) { record(&h, n) }},
		{"record, 2 in parallel", 2, func(n int) { record(&h, n) }},
		// The control: nothing is shared, so what this costs above alone is the host's.
		{"record, 2 in parallel, a histogram each", 2, func(n int) { record(&apart[turn.Add(1)&1], n) }},
	}
}

func deferred(r *Recorder) {
	defer r.End(0, r.Start())
}

func request(r *Recorder) {
	q := r.Request()
	q.End(0, 0, q.Start())
	q.Finish()
}

// chunks is how often the goroutines of a round wait for each other.
const chunks = 10

// perCall runs n calls on each goroutine of the arm, all at once, and returns
// elapsed * goroutines / calls in nanoseconds: with a core for each goroutine, what
// one costs on its core. The goroutines meet before each chunk. So if the host runs
// them one after the other, the round looks dear, and never free of contention.
// n is a multiple of chunks.
func (a costArm) perCall(n int) float64 {
	var (
		met   atomic.Int64
		wg    sync.WaitGroup
		spans = make([][2]time.Duration, a.goroutines)
		began = time.Now()
	)
	meet := func(nth int) {
		for met.Add(1); met.Load() < int64(nth*len(spans)); {
		}
	}
	for g := range spans {
		wg.Go(func() {
			meet(1)
			spans[g][0] = time.Since(began)
			for c := range chunks {
				meet(c + 2)
				a.run(n / chunks)
			}
			spans[g][1] = time.Since(began)
		})
	}
	wg.Wait()
	first, last := spans[0][0], spans[0][1]
	for _, s := range spans {
		first, last = min(first, s[0]), max(last, s[1])
	}
	// There were n * goroutines calls, so the goroutines cancel out.
	return float64(last-first) / float64(n)
}

// BenchmarkCost prints what recording costs, off and on. The arms take turns, and
// each figure is the least of all rounds: what disturbs a round only adds to it.
// On a busy host two goroutines seldom run at once, so there are more rounds, up
// to a limit, until those of the control do.
//
//	go test -bench BenchmarkCost -run '^$' ./metrics
func BenchmarkCost(b *testing.B) {
	const (
		rounds, limit = 100, 500
		each          = 500 * time.Microsecond
	)
	arms := costArms()
	calls, ns := make([]int, len(arms)), map[string]float64{}
	for i, a := range arms {
		ns[a.name] = math.Inf(1)
		a.goroutines = 1
		calls[i] = chunks * max(int(float64(each)/chunks/a.perCall(10_000)), 1)
	}
	atOnce := func() bool { return ns["record, 2 in parallel, a histogram each"] < 1.1*ns["record, alone"] }
	for b.Loop() {
		for n := 0; n < rounds || n < limit && !atOnce(); n++ {
			for i, a := range arms {
				ns[a.name] = min(ns[a.name], a.perCall(calls[i]))
			}
		}
	}
	if !atOnce() {
		b.Log("this host never ran two goroutines at once: the figures in parallel say nothing, try again when it is quiet")
	}
	b.ReportMetric(0, "ns/op") // the time of the rounds says nothing

	// Not b.Output, which cuts off after ten lines.
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\n\tns a call on its core\tallocations\t\n")
	for _, a := range arms {
		fmt.Fprintf(t, "%s\t%.2f\t%.0f\t\n", a.name, ns[a.name], testing.AllocsPerRun(100, func() { a.run(1) }))
	}
	t.Flush()
	loop, clock := ns["empty loop"], ns["two clock reads"]
	fmt.Fprint(t, "\n\tfound\tat most\t\n")
	for _, d := range []struct {
		name, unit string
		found, bar float64
	}{
		{"ns of On when off, above the loop", "off-check-ns", ns["off: On"] - loop, 1},
		{"ns of a pair when off, above the loop", "off-pair-ns", ns["off: Start, End"] - loop, 2.5},
		{"ns of a pair when on, above two clock reads", "on-pair-ns", ns["on: Start, End"] - clock, 10},
		{"a record in parallel / alone", "parallel/alone", ns["record, 2 in parallel"] / ns["record, alone"], 1},
		{
			"a record in parallel / with a histogram each", "parallel/apart",
			ns["record, 2 in parallel"] / ns["record, 2 in parallel, a histogram each"], 1,
		},
	} {
		fmt.Fprintf(t, "%s\t%.2f\t%.1f\t\n", d.name, d.found, d.bar)
		b.ReportMetric(d.found, d.unit)
	}
	fmt.Fprintln(t)
	t.Flush()
}
