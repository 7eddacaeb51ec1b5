package prom_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"latlab.example/common/metrics"
	"latlab.example/common/metrics/prom"
)

const (
	read metrics.Stage = iota
	write
)

// filled returns a recorder with 1000 reads of 1 us to 1 ms and three writes: of
// nothing, of 3 ms and of 20 s, above the last classic bound.
func filled(name string) *metrics.Recorder {
	r := metrics.NewRecorder(metrics.NewStageSet(name, "read", "write"), metrics.WithSwitch(true))
	for i := range 1000 {
		r.Observe(read, time.Duration(i+1)*time.Microsecond)
	}
	r.Observe(write, 0)
	r.Observe(write, 3*time.Millisecond)
	r.Observe(write, 20*time.Second)
	return r
}

func scrape(t *testing.T, h http.Handler, accept string) map[string]*dto.Histogram {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	dec := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
	got := map[string]*dto.Histogram{}
	for {
		var f dto.MetricFamily
		if err := dec.Decode(&f); errors.Is(err, io.EOF) {
			return got
		} else if err != nil {
			t.Fatal(err)
		}
		if f.GetName() != prom.Name {
			t.Errorf("unexpected metric %s", f.GetName())
		}
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			got[labels["set"]+"/"+labels["stage"]] = m.Histogram
		}
	}
}

const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

func TestScrape(t *testing.T) {
	h := prom.Handler(filled("store"))
	for _, format := range []string{"text/plain;version=0.0.4", protobuf} {
		t.Run(format[:10], func(t *testing.T) {
			got := scrape(t, h, format)
			if len(got) != 2 {
				t.Fatalf("%d histograms, want 2: %v", len(got), got)
			}
			for _, tt := range []struct {
				key     string
				count   uint64
				sum     float64
				at      float64 // a classic bound
				atBound uint64  // records up to there
			}{
				{"store/read", 1000, 0.5005, 0.00025, 250},
				{"store/read", 1000, 0.5005, 0.001, 1000},
				{"store/write", 3, 20.003, 1e-6, 1},
				{"store/write", 3, 20.003, 10, 2},
			} {
				m := got[tt.key]
				if m.GetSampleCount() != tt.count || math.Abs(m.GetSampleSum()-tt.sum) > 1e-9 {
					t.Errorf("%s: count %d, sum %v; want %d, %v", tt.key, m.GetSampleCount(), m.GetSampleSum(), tt.count, tt.sum)
				}
				n, ok := classicAt(m, tt.at)
				// One record in 250 lies within 0.4 % of the bound.
				if diff := math.Abs(float64(n) - float64(tt.atBound)); !ok || diff > 0.004*float64(tt.atBound)+1e-9 {
					t.Errorf("%s: %d records up to %v s, want %d", tt.key, n, tt.at, tt.atBound)
				}
			}
		})
	}
}

func classicAt(h *dto.Histogram, bound float64) (uint64, bool) {
	for _, b := range h.Bucket {
		if b.GetUpperBound() == bound {
			return b.GetCumulativeCount(), true
		}
	}
	return 0, false
}

func TestNative(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prom.NewCollector(filled("store")))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	scraped := scrape(t, prom.Handler(filled("store")), protobuf)
	for _, m := range families[0].Metric {
		h := m.Histogram
		if h.GetSchema() != 5 || len(h.Bucket) == 0 {
			t.Fatalf("schema %d and %d classic buckets: want native (5) and classic at once", h.GetSchema(), len(h.Bucket))
		}
		uppers, counts := native(h)
		total := h.GetZeroCount()
		for _, n := range counts {
			total += n
		}
		if total != h.GetSampleCount() {
			t.Errorf("native buckets hold %d records, want %d", total, h.GetSampleCount())
		}
		over := scraped["store/"+m.Label[1].GetValue()]
		if len(over.PositiveSpan) != len(h.PositiveSpan) || len(h.PositiveSpan) == 0 {
			t.Errorf("%d spans over HTTP, %d gathered", len(over.PositiveSpan), len(h.PositiveSpan))
		}
		if m.Label[1].GetValue() != "read" {
			if h.GetZeroCount() != 1 {
				t.Errorf("write: %d zeros, want 1", h.GetZeroCount())
			}
			continue
		}
		// The reads are 1, 2, ... 1000 us: the value of rank k is k us.
		var rank uint64
		for i, n := range counts {
			rank += n
			if n == 0 || rank < 200 {
				continue
			}
			// The bucket's upper bound is that of the record of this rank, save for the
			// 0.4 % and the distance of a microsecond between the records.
			if want := float64(rank) * 1e-6; uppers[i] < want*(1-0.004) || uppers[i] > want*(math.Exp2(1./32)+0.004+0.005) {
				t.Errorf("%d records up to %v s, the last of which is %v s", rank, uppers[i], want)
			}
		}
	}
}

// native returns the upper bounds in seconds and the counts of native buckets.
func native(h *dto.Histogram) (uppers []float64, counts []uint64) {
	var (
		index int
		n     int64
		delta int
	)
	for _, s := range h.PositiveSpan {
		index += int(s.GetOffset())
		for range s.GetLength() {
			n += h.PositiveDelta[delta]
			delta++
			uppers = append(uppers, math.Exp2(float64(index)/32))
			counts = append(counts, uint64(n))
			index++
		}
	}
	return uppers, counts
}

func TestSetsOfOneName(t *testing.T) {
	got := scrape(t, prom.Handler(filled("a"), filled("a"), filled("b")), protobuf)
	for key, want := range map[string]uint64{"a/read": 2000, "a/write": 6, "b/read": 1000, "b/write": 3} {
		if n := got[key].GetSampleCount(); n != want {
			t.Errorf("%s: %d records, want %d", key, n, want)
		}
	}

	other := metrics.NewRecorder(metrics.NewStageSet("a", "seek"))
	w := httptest.NewRecorder()
	prom.Handler(filled("a"), other).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), metrics.ErrSet.Error()) {
		t.Errorf("two sets of one name: %d %s", w.Code, w.Body)
	}
}

func TestEmpty(t *testing.T) {
	r := metrics.NewRecorder(metrics.NewStageSet("idle", "wait"))
	if got := scrape(t, prom.Handler(r), protobuf); got["idle/wait"] == nil || got["idle/wait"].GetSampleCount() != 0 {
		t.Errorf("a stage without records: %v, want an empty histogram", got)
	}
}

func ExampleHandler() {
	rec := metrics.NewRecorder(metrics.NewStageSet("store", "read"), metrics.WithSwitch(true))
	rec.Observe(0, 3*time.Millisecond)

	server := httptest.NewServer(prom.Handler(rec)) // or mux.Handle("/metrics", prom.Handler(rec))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	h := families[prom.Name].Metric[0].Histogram
	fmt.Println(h.GetSampleCount(), h.GetSampleSum())
	// Output: 1 0.003
}
