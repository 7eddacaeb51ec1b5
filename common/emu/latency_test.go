package emu

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/quick"
	"time"
)

func must(t testing.TB, text string) Latency {
	t.Helper()
	l, err := ParseLatency(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The draws are part of what a seed replays: they may not change between
// versions or machines.
func TestDrawsAreFixed(t *testing.T) {
	for text, want := range map[string][]time.Duration{
		"50us":                                   {50000, 50000, 50000, 50000},
		"exp(50us,cap=1ms)":                      {114157, 379, 32887, 109961},
		"quantiles(p50=40us,p99=200us,p100=1ms)": {40000, 394968, 45881, 40000},
	} {
		s := NewSampler(must(t, text), 7)
		for i, w := range want {
			if got := s.Next(Key("slot")); got != w {
				t.Errorf("%s: draw %d is %d, want %d", text, i, got, w)
			}
		}
	}
}

func TestNegLn(t *testing.T) {
	near := func(u uint64) bool {
		u = max(u, 1)
		got := float64(negLn(u)) / (1 << lnBits)
		want := 64*math.Ln2 - math.Log(float64(u))
		return math.Abs(got-want) < 1e-10
	}
	for _, u := range []uint64{1, 2, 3, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64} {
		if !near(u) {
			t.Errorf("-ln(%d / 2^64) is %g", u, float64(negLn(u))/(1<<lnBits))
		}
	}
	if err := quick.Check(near, nil); err != nil {
		t.Error(err)
	}
}

// draws are n draws, sorted: of one key, or the first draws of n keys.
func draws(l Latency, n int, oneKey bool) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		if oneKey {
			all[i] = l.Draw(42, uint64(i))
		} else {
			all[i] = l.Draw(uint64(i), 0)
		}
	}
	slices.Sort(all)
	return all
}

func TestDistributions(t *testing.T) {
	const n = 200_000
	const us = time.Microsecond
	exp := func(d, mean time.Duration) float64 { return 1 - math.Exp(-float64(d)/float64(mean)) }
	for _, tt := range []struct {
		text   string
		mean   time.Duration
		shares map[time.Duration]float64 // of draws up to a value
	}{
		{"50us", 50 * us, map[time.Duration]float64{50*us - 1: 0, 50 * us: 1}},
		{"exp(50us,cap=10ms)", 50 * us, map[time.Duration]float64{10 * us: exp(10, 50), 50 * us: exp(50, 50), 200 * us: exp(200, 50)}},
		{"exp(50us,cap=100us)", time.Duration(exp(100, 50) * float64(50*us)), map[time.Duration]float64{50 * us: exp(50, 50), 100*us - 1: exp(100, 50), 100 * us: 1}},
		{
			"quantiles(p50=40us,p90=200us,p100=1ms)", (5*40 + 4*120 + 1*600) * us / 10,
			map[time.Duration]float64{40*us - 1: 0, 40 * us: .5, 80 * us: .6, 200 * us: .9, 600 * us: .95, 1000 * us: 1},
		},
		{"quantiles(p0=0s,p100=100us)", 50 * us, map[time.Duration]float64{10 * us: .1, 50 * us: .5, 100 * us: 1}},
	} {
		for _, oneKey := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/oneKey=%v", tt.text, oneKey), func(t *testing.T) {
				all := draws(must(t, tt.text), n, oneKey)
				var sum time.Duration
				for _, d := range all {
					sum += d
				}
				if mean := sum / n; math.Abs(float64(mean)/float64(tt.mean)-1) > 0.02 {
					t.Errorf("mean %v, want %v", mean, tt.mean)
				}
				for value, want := range tt.shares {
					upTo, _ := slices.BinarySearch(all, value+1)
					if got := float64(upTo) / n; math.Abs(got-want) > 0.005 { // four standard deviations
						t.Errorf("%.4f of draws are up to %v, want %.4f", got, value, want)
					}
				}
			})
		}
	}
}

func TestExponentialStaysInRange(t *testing.T) {
	for _, limit := range []time.Duration{1, time.Microsecond, math.MaxInt64} {
		for _, mean := range []time.Duration{1, time.Microsecond, math.MaxInt64} {
			l, err := CappedExponential(mean, limit)
			if err != nil {
				continue // a cap below the mean
			}
			if all := draws(l, 1000, true); all[0] < 0 || all[999] > limit {
				t.Errorf("%s draws from %v to %v", l, all[0], all[999])
			}
		}
	}
}

// Whatever the order of goroutines, a key gets the same draws.
func TestSamplerIgnoresOrder(t *testing.T) {
	l := must(t, "exp(50us,cap=1ms)")
	const keys, uses = 8, 200
	var want, got [keys][]time.Duration
	inOrder := NewSampler(l, 3)
	for k := range want {
		for range uses {
			want[k] = append(want[k], inOrder.Next(uint64(k)))
		}
	}
	mixed := NewSampler(l, 3)
	var all sync.WaitGroup
	for k := range got {
		all.Go(func() {
			for range uses {
				got[k] = append(got[k], mixed.Next(uint64(k)))
			}
		})
	}
	all.Wait()
	for k := range want {
		if !slices.Equal(want[k], got[k]) {
			t.Errorf("key %d: draws depend on the order", k)
		}
	}
	if other := NewSampler(l, 4); other.Next(0) == want[0][0] && other.Next(0) == want[0][1] {
		t.Error("another seed gives the same draws")
	}
	if slices.Equal(want[0], want[1]) {
		t.Error("two keys have the same draws")
	}
}

func TestLatencyErrors(t *testing.T) {
	_, expErr := CappedExponential(0, 1)
	_, capErr := CappedExponential(2, 1)
	_, emptyErr := Empirical()
	_, nanErr := Empirical(Quantile{math.NaN(), 1})
	_, beyondErr := Empirical(Quantile{101, 1})
	_, tailErr := Empirical(Quantile{50, 1})
	_, orderErr := Empirical(Quantile{50, 1}, Quantile{40, 2}, Quantile{100, 3})
	_, fallErr := Empirical(Quantile{50, 2}, Quantile{100, 1})
	_, negativeErr := Empirical(Quantile{100, -1})
	for name, err := range map[string]error{
		"mean 0": expErr, "cap below mean": capErr, "no quantiles": emptyErr, "not a number": nanErr,
		"beyond 100": beyondErr, "no p100": tailErr, "percents fall": orderErr, "values fall": fallErr, "negative": negativeErr,
	} {
		if !errors.Is(err, ErrLatency) {
			t.Errorf("%s: error %v, want %v", name, err, ErrLatency)
		}
	}
	if got := Constant(-1).Draw(0, 0); got != 0 {
		t.Errorf("a negative constant is %v", got)
	}
}

func TestParseLatency(t *testing.T) {
	for text, want := range map[string]string{
		"50us":                 "50us",
		" 50µs ":               "50us",
		"0":                    "0s",
		"90s":                  "1m30s",
		"exp(50us,cap=1ms)":    "exp(50us,cap=1ms)",
		"exp ( 50us , cap=1s)": "exp(50us,cap=1s)",
		"quantiles(p50=40us, p99.9=1.5ms, p100=2ms)": "quantiles(p50=40us,p99.9=1.5ms,p100=2ms)",
		"quantiles(p00.500000=1ns,p100.0=1ns)":       "quantiles(p0.5=1ns,p100=1ns)",
	} {
		l, err := ParseLatency(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if l.String() != want {
			t.Errorf("%q reads as %s, want %s", text, l, want)
		}
	}
}

func TestParseLatencyErrors(t *testing.T) {
	for text, offset := range map[string]int{
		"": 0, "fast": 0, "-1us": 0, "5us 6us": 4, "5us)": 3,
		"normal(1us)": 0, "exp(": 4, "exp(1us": 7, "exp(1us,": 8, "exp(1us,max=1ms)": 8, "exp(1us,cap)": 8,
		"exp(1us,cap=x)": 12, "exp(1us,cap=1ms": 15, "exp(1us,cap=1ms)x": 16,
		"quantiles()": 10, "quantiles(50=1us)": 10, "quantiles(px=1us)": 10, "quantiles(p101=1us)": 10,
		"quantiles(p100)": 10, "quantiles(p100=)": 15, "quantiles(p100=1us": 18, "quantiles(p1e2=1us)": 10,
		"quantiles(p.5=1us)": 10, "quantiles(p5.=1us)": 10, "quantiles(p0.1234567=1us)": 10,
	} {
		_, err := ParseLatency(text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: error %v, want a SyntaxError", text, err)
		} else if syntax.Offset != offset || syntax.Text != text {
			t.Errorf("%q: %v, want offset %d", text, err, offset)
		}
	}
	for _, text := range []string{"exp(0s,cap=1ms)", "exp(2ms,cap=1ms)", "quantiles(p50=1us)"} {
		if _, err := ParseLatency(text); !errors.Is(err, ErrLatency) {
			t.Errorf("%q: error %v, want %v", text, err, ErrLatency)
		}
	}
}

func FuzzLatency(f *testing.F) {
	for _, text := range []string{"50us", "exp(50us,cap=1ms)", "quantiles(p50=40us,p99=200us,p100=1ms)", "quantiles(p0=1ns,p0.000001=2ns,p100=2562047h)", "exp(1ns,cap=1h1m1.000000001s)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLatency(text)
		if err != nil {
			return
		}
		again, err := ParseLatency(l.String())
		if err != nil || again.String() != l.String() {
			t.Fatalf("%q prints as %s, which reads as %v, %v", text, l, again, err)
		}
		for n := range uint64(20) {
			if a, b := l.Draw(1, n), again.Draw(1, n); a != b || a < 0 {
				t.Fatalf("%s: draw %d is %v, then %v", l, n, a, b)
			}
		}
	})
}

func ExampleParseLatency() {
	l, err := ParseLatency("quantiles(p50 = 40µs, p99 = 200µs, p100 = 1ms)")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l)
	_, err = ParseLatency("exp(50us)")
	fmt.Println(err)
	// Output:
	// quantiles(p50=40us,p99=200us,p100=1ms)
	// emu: "exp(50us)" at offset 8: expected ','
}

// Keys keep their draws, however their uses are interleaved.
func ExampleSampler() {
	l, err := CappedExponential(50*time.Microsecond, time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := NewSampler(l, 1), NewSampler(l, 1)
	a.Next(Key("other"))
	fmt.Println(a.Next(Key("slot 9")) == b.Next(Key("slot 9")))
	// Output: true
}

func BenchmarkDraw(b *testing.B) {
	for _, text := range []string{"50us", "exp(50us,cap=1ms)", "quantiles(p50=40us,p99=200us,p100=1ms)"} {
		b.Run("latency="+text, func(b *testing.B) {
			l := must(b, text)
			var n uint64
			for b.Loop() {
				n += uint64(l.Draw(1, n))
			}
		})
	}
}
