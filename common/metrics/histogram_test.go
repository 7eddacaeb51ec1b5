package metrics

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestHistogramExact(t *testing.T) {
	for _, tt := range []struct {
		name     string
		values   []int64
		sum      int64
		min, max int64
	}{
		{"empty", nil, 0, 0, 0},
		{"zero", []int64{0}, 0, 0, 0},
		{"negative counts as zero", []int64{-5, 7}, 7, 0, 7},
		{"small", []int64{3, 1, 2}, 6, 1, 3},
		{"seconds", []int64{4e9, 5e9, 5e9, 6e12}, 4e9 + 1e10 + 6e12, 4e9, 6e12},
		{"above the range", []int64{1, 1<<47 + 12345, 1 << 60}, 1 + 1<<47 + 12345 + 1<<60, 1, 1 << 60},
		{"largest", []int64{math.MaxInt64}, math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := NewHistogram()
			for _, v := range tt.values {
				h.Record(v)
			}
			d := h.Snapshot()
			if d.Count() != uint64(len(tt.values)) || d.Sum() != tt.sum || d.Min() != tt.min || d.Max() != tt.max {
				t.Errorf("count %d, sum %d, min %d, max %d; want %d, %d, %d, %d",
					d.Count(), d.Sum(), d.Min(), d.Max(), len(tt.values), tt.sum, tt.min, tt.max)
			}
			if d.Quantile(0) != tt.min || d.Quantile(1) != tt.max {
				t.Errorf("quantiles 0 and 1 are %d and %d, want %d and %d", d.Quantile(0), d.Quantile(1), tt.min, tt.max)
			}
		})
	}
}

// The bar of the design: a quantile is at most 0.4 % off.
func TestQuantileError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name string
		draw func() float64
	}{
		{"uniform", func() float64 { return 1e7 * rng.Float64() }},
		{"exponential", func() float64 { return 5e4 * rng.ExpFloat64() }},
		{"lognormal", func() float64 { return 1e5 * math.Exp(1.5*rng.NormFloat64()) }},
		{"bimodal", func() float64 {
			if rng.IntN(10) == 0 {
				return 2e7 + 1e6*rng.NormFloat64()
			}
			return 8e4 + 4e3*rng.NormFloat64()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := NewHistogram()
			values := make([]int64, 200_000)
			for i := range values {
				values[i] = max(int64(tt.draw()), 0)
				h.Record(values[i])
			}
			slices.Sort(values)
			d := h.Snapshot()
			worst, at := 0.0, 0.0
			for q := 0.0001; q < 1; q += 0.0001 {
				want := values[int(math.Ceil(q*float64(len(values))))-1]
				if e := math.Abs(float64(d.Quantile(q)-want)) / float64(max(want, 1)); e > worst {
					worst, at = e, q
				}
			}
			t.Logf("largest error %.3f %% at quantile %.4f", 100*worst, at)
			if worst > 0.004 {
				t.Errorf("quantile %.4f is %.3f %% off, want at most 0.4 %%", at, 100*worst)
			}
		})
	}
}

// Every snapshot must agree with itself and lose nothing that was recorded before
// it, while words are drained and goroutines move between Ps.
func TestHistogramConcurrent(t *testing.T) {
	const (
		goroutines = 8
		each       = 200_000 // enough for one bucket to be drained
		value      = 1000_777
	)
	h := NewHistogram()
	var before atomic.Uint64 // records that have returned
	var wg, watch sync.WaitGroup
	done := make(chan struct{})
	watch.Go(func() {
		var last uint64
		for {
			floor := before.Load()
			d := h.Snapshot()
			if d.Count() < floor || d.Count() < last {
				t.Errorf("%d records after %d were recorded and %d seen", d.Count(), floor, last)
			}
			if d.Sum() != int64(d.Count())*value {
				t.Errorf("%d records sum to %d, want %d", d.Count(), d.Sum(), int64(d.Count())*value)
			}
			if d.Count() > 0 && (d.Min() != value || d.Max() != value) {
				t.Errorf("min %d, max %d, want %d", d.Min(), d.Max(), value)
			}
			last = d.Count()
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				h.Record(value)
				before.Add(1)
				if i%10_000 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	close(done)
	watch.Wait()
	d := h.Snapshot()
	if d.Count() != goroutines*each || d.Sum() != goroutines*each*value {
		t.Errorf("count %d, sum %d; want %d, %d", d.Count(), d.Sum(), goroutines*each, goroutines*each*value)
	}
}

// A word that fills up is drained; its shard must really get that far here.
func TestHistogramDrain(t *testing.T) {
	h := NewHistogram()
	const n = 3 << (63 - countShift)
	var sum int64
	for i := range int64(n) {
		v := int64(1<<20) + i&1023 // one bucket: it is 2^13 wide
		sum += v
		h.Record(v)
	}
	drained := uint64(0)
	for i := range h.shards {
		if s := h.shards[i].Load(); s != nil {
			for _, d := range s.drained {
				drained += d.count
			}
		}
	}
	if drained == 0 {
		t.Error("no word was drained")
	}
	if d := h.Snapshot(); d.Count() != n || d.Sum() != sum {
		t.Errorf("count %d, sum %d; want %d, %d", d.Count(), d.Sum(), n, sum)
	}
}

// What a word holds in sum can fill up before its count does.
func TestHistogramDrainBySum(t *testing.T) {
	h := NewHistogram()
	const v, n = packedBelow - 1, 1 << 20 // exceeds its lower bound by 2^24-1
	for range n {
		h.Record(v)
	}
	if d := h.Snapshot(); d.Count() != n || d.Sum() != n*v {
		t.Errorf("count %d, sum %d; want %d, %d", d.Count(), d.Sum(), n, n*v)
	}
}

func TestHistogramReset(t *testing.T) {
	h := NewHistogram()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					h.Record(4321)
				}
			}
		})
	}
	for range 200 {
		h.Reset()
		if d := h.Snapshot(); d.Sum() != int64(d.Count())*4321 {
			t.Errorf("%d records sum to %d: one was kept in part", d.Count(), d.Sum())
		}
		runtime.Gosched()
	}
	close(stop)
	wg.Wait()
	h.Reset()
	if d := h.Snapshot(); d.Count() != 0 || d.Sum() != 0 || d.Min() != 0 || d.Max() != 0 {
		t.Errorf("after Reset: %+v", d)
	}
}

// More Ps than shards, and more than there were when the histogram was made.
func TestHistogramMorePs(t *testing.T) {
	h := NewHistogram()
	h.Record(1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * maxShards))
	const goroutines, each = 4 * maxShards, 100
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				h.Record(1)
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if got := h.Snapshot().Count(); got != goroutines*each+1 {
		t.Errorf("%d records, want %d", got, goroutines*each+1)
	}
}
