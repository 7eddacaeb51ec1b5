// Package prom shows the stages of recorders to Prometheus, as the histogram
// latlab_stage_seconds with the labels set and stage.
//
//  1. Make the recorders as usual; see package metrics.
//  2. Mount [Handler] under /metrics, or register [NewCollector] with a registry
//     of one's own.
//  3. At each scrape the collector takes a snapshot of each recorder. Between
//     scrapes it costs nothing, so recording is as cheap as without it.
//
// Each histogram has classic and native buckets at once. The text format carries
// the classic ones only; a server that scrapes native histograms asks for
// protobuf by itself.
//
// # What re-bucketing costs
//
// Counts and sums stay exact. A recorder's bucket is moved as a whole into the
// bucket that its middle falls into, which is at most 0.4 % off. So near the bound
// of a Prometheus bucket, values within 0.4 % of it may be counted on its other
// side. A quantile that Prometheus estimates has that error on top of the width
// of its own buckets: the native ones grow by 2^(1/32), hence at most 1.1 % off;
// the classic ones grow by 2 to 2.5, so expect tens of percent. For exact figures
// read the recorder's own snapshot.
//
// It is a package apart so that a program without Prometheus stays small.
package prom

import (
	"math"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"latlab.example/common/metrics"
)

// Name is the name of the histogram; its values are in seconds.
const Name = "latlab_stage_seconds"

// schema makes native buckets that grow by 2^(1/32), or 2.2 %.
const schema = 5

// bounds are the upper bounds of the classic buckets in seconds: 1 us to 10 s.
var bounds = []float64{
	1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
	1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
}

var desc = prometheus.NewDesc(Name, "Time that the stages of operations took, in seconds.", []string{"set", "stage"}, nil)

// Collector collects from recorders at each scrape. It may be used by any number
// of goroutines.
type Collector struct {
	recs    []*metrics.Recorder
	created time.Time
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector of the recorders. Those whose stage sets are
// called the same are added up, as the labels can't tell them apart. If such sets
// have different stages, a scrape fails with an error that wraps
// [metrics.ErrSet].
func NewCollector(recs ...*metrics.Recorder) *Collector {
	return &Collector{recs: append([]*metrics.Recorder(nil), recs...), created: time.Now()}
}

// Handler serves the recorders' histograms, and nothing else, from a registry of
// its own. A scrape that fails answers 500 with the error.
func Handler(recs ...*metrics.Recorder) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewCollector(recs...))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) { ch <- desc }

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	var (
		order []string
		sets  = map[string]*metrics.Snapshot{}
	)
	for _, r := range c.recs {
		s := r.Snapshot()
		have, ok := sets[s.Set]
		if !ok {
			sets[s.Set] = &s
			order = append(order, s.Set)
		} else if err := have.Merge(s); err != nil {
			ch <- prometheus.NewInvalidMetric(desc, err)
			return
		}
	}
	for _, name := range order {
		for _, st := range sets[name].Stages {
			ch <- c.metric(name, st)
		}
	}
}

func (c *Collector) metric(set string, st metrics.StageDist) prometheus.Metric {
	var (
		classic = make(map[float64]uint64, len(bounds))
		native  = map[int]int64{}
		zeros   uint64
		below   uint64 // classic buckets are cumulative
		next    int
	)
	for b, n := range st.Dist.Buckets() {
		mid := float64(b.Mid()) / 1e9
		for ; next < len(bounds) && bounds[next] < mid; next++ {
			classic[bounds[next]] = below
		}
		below += n
		if mid == 0 {
			zeros += n
		} else {
			native[int(math.Ceil(math.Log2(mid)*(1<<schema)))] += int64(n)
		}
	}
	for ; next < len(bounds); next++ {
		classic[bounds[next]] = below
	}
	count, sum := st.Dist.Count(), float64(st.Dist.Sum())/1e9
	h, err := prometheus.NewConstHistogram(desc, count, sum, classic, set, st.Name)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	nh, err := prometheus.NewConstNativeHistogram(desc, count, sum, native, nil, zeros, schema,
		prometheus.DefNativeHistogramZeroThreshold, c.created, set, st.Name)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return both{Metric: nh, classic: h}
}

// both is a native histogram with the buckets of a classic one. The library makes
// constant histograms of one kind or the other only.
type both struct {
	prometheus.Metric
	classic prometheus.Metric
}

// Write implements [prometheus.Metric].
func (b both) Write(out *dto.Metric) error {
	if err := b.Metric.Write(out); err != nil {
		return err
	}
	var c dto.Metric
	if err := b.classic.Write(&c); err != nil {
		return err
	}
	out.Histogram.Bucket = c.Histogram.Bucket
	return nil
}
