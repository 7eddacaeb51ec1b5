package sim_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"latlab.example/common/sim"
)

var (
	fifth = sim.Quantile{Percent: 50, Value: 5 * ms}
	tail  = sim.Quantile{Percent: 99.5, Value: 40 * ms}
	all   = sim.Quantile{Percent: 100, Value: 200 * ms}
)

// quantile functions of the distributions, in seconds.
func exponentialQuantile(mean float64) func(q float64) float64 {
	return func(q float64) float64 { return -mean * math.Log1p(-q) }
}

func logNormalQuantile(median, p95 float64) func(q float64) float64 {
	sigma := math.Log(p95/median) / 1.6448536269514727
	return func(q float64) float64 { return median * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*q-1)) }
}

func TestDist(t *testing.T) {
	const n = 200_000
	for _, tt := range []struct {
		dist     sim.Dist
		text     string
		mean, sd float64 // seconds
		quantile func(q float64) float64
	}{
		{sim.Constant(3 * ms), "3ms", 0.003, 0, func(float64) float64 { return 0.003 }},
		{sim.Exponential(7 * ms), "exp(7ms)", 0.007, 0.007, exponentialQuantile(0.007)},
		{sim.Exponential(time.Hour), "exp(1h0m0s)", 3600, 3600, exponentialQuantile(3600)},
		{sim.LogNormal(20*ms, 60*ms), "lognormal(p50=20ms,p95=60ms)", 0.024997, 0.018752, logNormalQuantile(0.02, 0.06)},
		{sim.LogNormal(ms, ms), "lognormal(p50=1ms,p95=1ms)", 0.001, 0, func(float64) float64 { return 0.001 }},
		{
			sim.Empirical(sim.Quantile{Percent: 0, Value: ms}, fifth, tail, all), "quantiles(p0=1ms,p50=5ms,p99.5=40ms,p100=200ms)",
			0.5*0.003 + 0.495*0.0225 + 0.005*0.12, 0.0164, func(q float64) float64 {
				switch {
				case q < 0.5:
					return 0.001 + 0.004*q/0.5
				case q < 0.995:
					return 0.005 + 0.035*(q-0.5)/0.495
				}
				return 0.04 + 0.16*(q-0.995)/0.005
			},
		},
		{
			sim.Mixture(sim.Part{Weight: 3, Dist: sim.Constant(ms)}, sim.Part{Weight: 0, Dist: sim.Constant(time.Hour)}, sim.Part{Weight: 1, Dist: sim.Constant(5 * ms)}),
			"mix(3*1ms,0*1h0m0s,1*5ms)", 0.002, 0.00173, func(q float64) float64 {
				if q < 0.75 {
					return 0.001
				}
				return 0.005
			},
		},
	} {
		t.Run(tt.text, func(t *testing.T) {
			if tt.dist.String() != tt.text {
				t.Errorf("it says %s", tt.dist)
			}
			if got := tt.dist.Mean().Seconds(); math.Abs(got-tt.mean) > 1e-4*tt.mean {
				t.Errorf("mean %v, want %v", got, tt.mean)
			}
			r := sim.New(3).Rand(tt.text)
			draws := make([]float64, n)
			sum := 0.0
			for i := range draws {
				draws[i] = tt.dist.Draw(r).Seconds()
				sum += draws[i]
			}
			if off := math.Abs(sum/n - tt.mean); off > 4*tt.sd/math.Sqrt(n)+1e-4*tt.mean {
				t.Errorf("mean of %d draws %v, want %v", n, sum/n, tt.mean)
			}
			// Kolmogorov and Smirnov's distance, taken where theory has its quantiles.
			slices.Sort(draws)
			for _, q := range []float64{0.001, 0.01, 0.1, 0.25, 0.4, 0.6, 0.74, 0.76, 0.9, 0.99, 0.999, 0.9999} {
				want := tt.quantile(q)
				below, _ := slices.BinarySearch(draws, want*(1-1e-6))
				upTo, _ := slices.BinarySearch(draws, want*(1+1e-6))
				slack := 4 * math.Sqrt(q*(1-q)/n)
				if lo, hi := float64(below)/n, float64(upTo)/n; q < lo-slack || q > hi+slack {
					t.Errorf("%v s is quantile %v to %v, want %v +- %v", want, lo, hi, q, slack)
				}
			}
		})
	}
}

func TestDistRefuses(t *testing.T) {
	for want, make := range map[string]func() sim.Dist{
		"constant of -1ms":             func() sim.Dist { return sim.Constant(-ms) },
		"exponential of mean -1ms":     func() sim.Dist { return sim.Exponential(-ms) },
		"log-normal of median 0s":      func() sim.Dist { return sim.LogNormal(0, ms) },
		"the percentile no less":       func() sim.Dist { return sim.LogNormal(2*ms, ms) },
		"quantiles quantiles(): the":   func() sim.Dist { return sim.Empirical() },
		"the last must be of 100 %":    func() sim.Dist { return sim.Empirical(fifth) },
		"percents must rise":           func() sim.Dist { return sim.Empirical(tail, fifth, all) },
		"percent is from 0 to 100":     func() sim.Dist { return sim.Empirical(sim.Quantile{Percent: math.NaN()}) },
		"whose weights sum to 0":       func() sim.Dist { return sim.Mixture() },
		"mixture with a weight of -1 ": func() sim.Dist { return sim.Mixture(sim.Part{Weight: -1, Dist: sim.Constant(0)}) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if r, _ := recover().(string); !strings.Contains(r, want) {
					t.Errorf("panic %q, want one with %q", r, want)
				}
			}()
			make()
			t.Error("no panic")
		})
	}
}

func TestRand(t *testing.T) {
	s := sim.New(5)
	a, b, c := s.Rand("a"), s.Rand("a"), s.Rand("c")
	if x, y, z := a.Uint64(), b.Uint64(), c.Uint64(); x != y || x == z {
		t.Errorf("%x, %x, %x: want the first two equal and no more", x, y, z)
	}
	const n = 100_000
	var seen [3]int
	hits := 0
	for range n {
		seen[a.IntN(3)]++
		if a.Chance(1, 4) {
			hits++
		}
	}
	for i, k := range seen {
		if math.Abs(float64(k)-n/3) > 4*math.Sqrt(n*2/9) {
			t.Errorf("%d came up %d times of %d", i, k, n)
		}
	}
	if math.Abs(float64(hits)-n/4) > 4*math.Sqrt(n*3/16) {
		t.Errorf("a chance of 1 in 4 hit %d times of %d", hits, n)
	}
}
