package peers

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	victoria "github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"latlab.example/common/metrics"
)

// peer is a histogram in its usual set-up for latencies.
type peer struct {
	name  string
	run   func(n int)   // records value(0) to value(n-1)
	count func() uint64 // how many records it holds, to see that it really records
}

// value spreads records over 50 to 115 us, in nanoseconds.
func value(i int) int64 { return 50_000 + int64(i)&0xffff }

// bounds are the classic buckets in seconds; every library that takes bounds gets
// these.
var bounds = []float64{1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 0.1, 1}

// peers returns the bare loop, then ours, then the others.
func peers() []peer {
	return []peer{bare(), latlab(), hdr(), promClassic(), promNative(), victoriaMetrics(), openTelemetry()}
}

// bare is the loop alone; it shares nothing, so it is the control of what the host
// does to two goroutines.
func bare() peer {
	var sum, made atomic.Int64
	return peer{"no record", func(n int) {
		s := int64(0)
		for i := range n {
			s += value(i)
		}
		sum.Add(s)
		made.Add(int64(n))
	}, func() uint64 { return uint64(made.Load()) }}
}

func latlab() peer {
	h := metrics.NewHistogram()
	return peer{"latlab", func(n int) {
		for i := range n {
			h.Record(value(i))
		}
	}, func() uint64 { return h.Snapshot().Count() }}
}

func hdr() peer {
	var (
		mu sync.Mutex // the library leaves locking to its user
		h  = hdrhistogram.New(1, int64(time.Hour), 2)
	)
	return peer{"HdrHistogram, 2 digits, mutex", func(n int) {
		for i := range n {
			mu.Lock()
			_ = h.RecordValue(value(i)) // fails above an hour only
			mu.Unlock()
		}
	}, func() uint64 { return uint64(h.TotalCount()) }}
}

func promClassic() peer {
	return prom("Prometheus, classic", prometheus.HistogramOpts{Name: "classic", Buckets: bounds})
}

func promNative() peer {
	return prom("Prometheus, native, factor 1.1", prometheus.HistogramOpts{Name: "native", NativeHistogramBucketFactor: 1.1})
}

func prom(name string, o prometheus.HistogramOpts) peer {
	h := prometheus.NewHistogram(o)
	return peer{name, func(n int) {
		for i := range n {
			h.Observe(float64(value(i)) / 1e9)
		}
	}, func() uint64 {
		var m dto.Metric
		if h.Write(&m) != nil {
			return 0
		}
		return m.Histogram.GetSampleCount()
	}}
}

func victoriaMetrics() peer {
	h := victoria.NewSet().NewHistogram("record_seconds")
	return peer{"VictoriaMetrics", func(n int) {
		for i := range n {
			h.Update(float64(value(i)) / 1e9)
		}
	}, func() uint64 {
		total := uint64(0)
		h.VisitNonZeroBuckets(func(_ string, n uint64) { total += n })
		return total
	}}
}

func openTelemetry() peer {
	ctx := context.Background()
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	h, err := provider.Meter("peers").Float64Histogram("record", metric.WithExplicitBucketBoundaries(bounds...))
	if err != nil {
		panic(err)
	}
	// Made once, as the library advises for hot paths.
	ready := metric.WithAttributeSet(attribute.NewSet(attribute.String("stage", "work")))
	options := []metric.RecordOption{ready}
	return peer{"OpenTelemetry, explicit, attributes ready", func(n int) {
		for i := range n {
			h.Record(ctx, float64(value(i))/1e9, options...)
		}
	}, func() uint64 {
		var got metricdata.ResourceMetrics
		if reader.Collect(ctx, &got) != nil {
			return 0
		}
		d, ok := got.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64])
		if !ok {
			return 0
		}
		return d.DataPoints[0].Count
	}}
}

func TestPeersRecord(t *testing.T) {
	for _, p := range peers() {
		p.perCall(1, 1000)
		p.perCall(2, 1000)
		if got := p.count(); got != 3000 {
			t.Errorf("%s holds %d records, want 3000", p.name, got)
		}
	}
}

// chunks is how often the goroutines of a round wait for each other.
const chunks = 10

// perCall lets the goroutines make n records each, all at once, and returns
// elapsed * goroutines / records in nanoseconds: with a core for each goroutine, what
// one costs on its core. The goroutines meet before each chunk. So if the host runs
// them one after the other, the round looks dear, and never free of contention.
// n is a multiple of chunks.
func (p peer) perCall(goroutines, n int) float64 {
	var (
		met   atomic.Int64
		wg    sync.WaitGroup
		spans = make([][2]time.Duration, goroutines)
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
				p.run(n / chunks)
			}
			spans[g][1] = time.Since(began)
		})
	}
	wg.Wait()
	first, last := spans[0][0], spans[0][1]
	for _, s := range spans {
		first, last = min(first, s[0]), max(last, s[1])
	}
	// There were n * goroutines records, so the goroutines cancel out.
	return float64(last-first) / float64(n)
}

// BenchmarkPeers prints a table of all peers: nanoseconds a record on its core,
// alone and with two goroutines in parallel. The peers take turns, and each figure
// is the least of all rounds: what disturbs a round only adds to it. On a busy host
// two goroutines seldom run at once, so there are more rounds, up to a limit, until
// those of the bare loop do.
func BenchmarkPeers(b *testing.B) {
	const (
		rounds, limit = 100, 500
		each          = 500 * time.Microsecond
	)
	all := peers()
	calls, ns := make([]int, len(all)), make([][2]float64, len(all)) // ns alone and in parallel
	for i, p := range all {
		ns[i] = [2]float64{math.Inf(1), math.Inf(1)}
		calls[i] = chunks * max(int(float64(each)/chunks/p.perCall(1, 10_000)), 1)
	}
	atOnce := func() bool { return ns[0][1] < 1.1*ns[0][0] }
	for b.Loop() {
		for n := 0; n < rounds || n < limit && !atOnce(); n++ {
			for i, p := range all {
				for g := range ns[i] {
					ns[i][g] = min(ns[i][g], p.perCall(g+1, calls[i]))
				}
			}
		}
	}
	if !atOnce() {
		b.Log("this host never ran two goroutines at once: the figures in parallel say nothing, try again when it is quiet")
	}
	b.ReportMetric(0, "ns/op") // the time of the rounds says nothing

	us := ns[1]
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nns a record on its core\talone\t/ %[1]s\t2 in parallel\t/ %[1]s\t\n", all[1].name)
	for i, p := range all {
		fmt.Fprintf(t, "%s\t%.1f\t%.2f\t%.1f\t%.2f\t\n", p.name, ns[i][0], ns[i][0]/us[0], ns[i][1], ns[i][1]/us[1])
	}
	fmt.Fprintln(t)
	t.Flush()
}
