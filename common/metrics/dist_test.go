package metrics

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/quick"
)

// values are durations of all magnitudes, for testing/quick.
func values(seed uint64, n int) []int64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	v := make([]int64, n)
	for i := range v {
		v[i] = rng.Int64() >> rng.IntN(63)
	}
	return v
}

func distOf(values ...int64) Dist {
	h := NewHistogram()
	for _, v := range values {
		h.Record(v)
	}
	return h.Snapshot()
}

// However the records are split and in whatever order the parts are merged, the
// result is that of one histogram.
func TestMergeAnySplitAnyOrder(t *testing.T) {
	f := func(seed uint64, n uint8, parts uint8) bool {
		vs := values(seed, int(n))
		rng := rand.New(rand.NewPCG(seed, 1))
		split := make([][]int64, int(parts)%7+1)
		for _, v := range vs {
			i := rng.IntN(len(split))
			split[i] = append(split[i], v)
		}
		rng.Shuffle(len(split), func(i, j int) { split[i], split[j] = split[j], split[i] })
		var got Dist
		for _, part := range split {
			got.Merge(distOf(part...))
		}
		return reflect.DeepEqual(got, distOf(vs...))
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 50}); err != nil {
		t.Error(err)
	}
}

func TestMergeLeavesCopies(t *testing.T) {
	a := distOf(1, 2, 3)
	b, want := a, distOf(1, 2, 3)
	b.Merge(distOf(2, 4))
	if !reflect.DeepEqual(a, want) {
		t.Errorf("merging into a copy changed the original: %+v", a)
	}
	if b.Count() != 5 {
		t.Errorf("%d records, want 5", b.Count())
	}
}

func TestQuantilesMonotone(t *testing.T) {
	f := func(seed uint64, n uint8, p, q float64) bool {
		d := distOf(values(seed, int(n)+1)...)
		p, q = math.Abs(math.Mod(p, 1.1)), math.Abs(math.Mod(q, 1.1))
		lo, hi := d.Quantile(min(p, q)), d.Quantile(max(p, q))
		return d.Min() <= lo && lo <= hi && hi <= d.Max()
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 100}); err != nil {
		t.Error(err)
	}
}

func TestQuantileEdges(t *testing.T) {
	d := distOf(10, 20, 30, 40)
	for _, tt := range []struct {
		q    float64
		want int64
	}{
		{math.NaN(), 10}, {-1, 10}, {0, 10}, {0.25, 10}, {0.26, 20}, {0.5, 20}, {0.75, 30}, {0.99, 40}, {1, 40}, {math.Inf(1), 40},
	} {
		if got := d.Quantile(tt.q); got != tt.want {
			t.Errorf("Quantile(%v) = %d, want %d", tt.q, got, tt.want)
		}
	}
	if got := (Dist{}).Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %d", got)
	}
	if got := d.Mean(); got != 25 {
		t.Errorf("mean %v, want 25", got)
	}
	if got := (Dist{}).Mean(); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
	if d := distOf(1, 1<<47, 1<<50); d.Quantile(0.5) != 1<<50 {
		t.Errorf("a quantile above the range is %d, want the largest value", d.Quantile(0.5))
	}
}

func TestBucketsYield(t *testing.T) {
	type row struct {
		b Bucket
		n uint64
	}
	var got []row
	for b, n := range distOf(5, 5, 300, 1<<47+9, math.MaxInt64).Buckets() {
		got = append(got, row{b, n})
	}
	want := []row{{Bucket{5, 6}, 2}, {Bucket{300, 302}, 1}, {Bucket{1 << 47, math.MaxInt64}, 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for range distOf(1, 2).Buckets() {
		break // an early end must not panic
	}
}

func TestDistJSON(t *testing.T) {
	f := func(seed uint64, n uint8) bool {
		d := distOf(values(seed, int(n))...)
		text, err := json.Marshal(d)
		var back Dist
		return err == nil && json.Unmarshal(text, &back) == nil && reflect.DeepEqual(back, d)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 50}); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(distOf(5, 300, 301))
	if want := `{"count":3,"sum_ns":606,"min_ns":5,"max_ns":301,"buckets":[[5,1],[300,2]]}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
}

func TestDistJSONRefused(t *testing.T) {
	for _, text := range []string{
		`{"count":1,"sum_ns":301,"min_ns":301,"max_ns":301,"buckets":[[301,1]]}`,
		`{"count":0,"sum_ns":0,"min_ns":0,"max_ns":0,"buckets":[[5,0]]}`,
		`{"count":2,"sum_ns":6,"min_ns":5,"max_ns":1,"buckets":[[5,1],[1,1]]}`,
		`{"count":2,"sum_ns":5,"min_ns":5,"max_ns":5,"buckets":[[5,1]]}`,
		`{"count":0,"sum_ns":5,"min_ns":0,"max_ns":0,"buckets":[]}`,
		`{"count":1,"sum_ns":5,"min_ns":4,"max_ns":5,"buckets":[[5,1]]}`,
		`{"count":1,"sum_ns":5,"min_ns":5,"max_ns":6,"buckets":[[5,1]]}`,
		`{"count":2,"sum_ns":10,"min_ns":5,"max_ns":5,"buckets":[[5,18446744073709551615],[6,3]]}`,
	} {
		d := distOf(1)
		if err := json.Unmarshal([]byte(text), &d); !errors.Is(err, ErrDist) || !reflect.DeepEqual(d, distOf(1)) {
			t.Errorf("%s: error %v, value %+v", text, err, d)
		}
	}
	var d Dist
	if err := json.Unmarshal([]byte(`{"count":-1}`), &d); err == nil {
		t.Error("a negative count is accepted")
	}
}

// Whatever is accepted is a distribution that works and is written as it was read.
func FuzzDistJSON(f *testing.F) {
	f.Add([]byte(`{"count":3,"sum_ns":606,"min_ns":5,"max_ns":301,"buckets":[[5,1],[300,2]]}`))
	f.Add([]byte(`{"count":1,"sum_ns":140737488355328,"min_ns":140737488355328,"max_ns":140737488355328,"buckets":[[140737488355328,1]]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d, back Dist
		if json.Unmarshal(text, &d) != nil {
			return
		}
		if m := d.Quantile(0.5); m < d.Min() || m > d.Max() {
			t.Errorf("median %d outside %d..%d", m, d.Min(), d.Max())
		}
		again, err := json.Marshal(d)
		if err != nil || json.Unmarshal(again, &back) != nil || !reflect.DeepEqual(d, back) {
			t.Errorf("%s is written as %s (%v)", text, again, err)
		}
	})
}
