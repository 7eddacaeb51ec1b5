package laws

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func sample(u USL, noise float64, loads ...float64) []ScalePoint {
	rng := rand.New(rand.NewPCG(1, 2))
	var points []ScalePoint
	for _, n := range loads {
		points = append(points, ScalePoint{n, u.Throughput(n) * (1 + noise*rng.NormFloat64())})
	}
	return points
}

func TestFitUSLFindsItsParameters(t *testing.T) {
	for _, want := range []USL{
		{Lambda: 1000, Sigma: 0.05, Kappa: 0.001},
		{Lambda: 0.3, Sigma: 0.9, Kappa: 0},
		{Lambda: 1e6, Sigma: 0, Kappa: 0},
		{Lambda: 995.6, Sigma: 0.0267, Kappa: 0.000769},
		{Lambda: 50, Sigma: 0, Kappa: 0.02},
	} {
		fit, err := FitUSL(sample(want, 0, 1, 2, 4, 8, 12, 16, 24, 32, 48))
		if err != nil {
			t.Fatal(err)
		}
		near(t, "lambda", fit.Lambda, want.Lambda, 1e-6)
		if math.Abs(fit.Sigma-want.Sigma) > 1e-7 || math.Abs(fit.Kappa-want.Kappa) > 1e-8 {
			t.Errorf("%+v: got %+v", want, fit)
		}
		if fit.R2 < 1-1e-12 || fit.Worst > 1e-7 || fit.Free != 6 {
			t.Errorf("%+v: a perfect fit has goodness %+v", want, fit)
		}
	}
}

// No parameters nearby are better, in the sum of squares of throughput.
func TestFitUSLIsLeast(t *testing.T) {
	for _, u := range []USL{{1000, 0.05, 0.001}, {100, 0, 0}, {100, 0, 0.01}} {
		points := sample(u, 0.05, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
		fit, err := FitUSL(points)
		if err != nil {
			t.Fatal(err)
		}
		if fit.Sigma < 0 || fit.Kappa < 0 {
			t.Errorf("negative parameters: %+v", fit)
		}
		squares := func(u USL) (sum float64) {
			for _, p := range points {
				sum += math.Pow(p.PerSec-u.Throughput(p.Load), 2)
			}
			return sum
		}
		least := squares(fit.USL)
		for _, d := range []float64{-1e-3, 1e-3} {
			for _, v := range []USL{
				{fit.Lambda * (1 + d), fit.Sigma, fit.Kappa},
				{fit.Lambda, max(0, fit.Sigma+d), fit.Kappa},
				{fit.Lambda, fit.Sigma, max(0, fit.Kappa+d/100)},
			} {
				if squares(v) < least*(1-1e-9) {
					t.Errorf("%+v has a sum of squares of %v, the fit %+v of %v", v, squares(v), fit, least)
				}
			}
		}
	}
}

func TestUSLPeak(t *testing.T) {
	for _, c := range []struct {
		u    USL
		want float64
	}{{USL{1, 0.19, 0.0001}, 90}, {USL{1, 0, 0}, math.Inf(1)}, {USL{1, 1.2, 0}, 1}, {USL{1, 0.5, 10}, 1}} {
		if got := c.u.Peak(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %v, want %v", c.u, got, c.want)
		}
	}
}

func TestFitUSLRefuses(t *testing.T) {
	for name, points := range map[string][]ScalePoint{
		"none":          nil,
		"two loads":     {{1, 1}, {2, 2}, {2, 2.1}, {1, 1.1}},
		"no throughput": {{1, 1}, {2, 0}, {3, 1}},
		"load below 1":  {{0.5, 1}, {2, 1}, {3, 1}},
		"not a number":  {{1, 1}, {2, math.NaN()}, {3, 1}},
	} {
		if _, err := FitUSL(points); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
