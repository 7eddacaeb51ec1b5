package laws

import (
	"fmt"
	"math"
)

// USL is the Universal Scalability Law (Gunther 2007, chapter 4 to 6): at a load
// of n users, threads or nodes, throughput is
//
//	X(n) = Lambda n / (1 + Sigma (n-1) + Kappa n (n-1))
type USL struct {
	Lambda float64 `json:"lambda_per_sec"` // throughput of one, a second
	Sigma  float64 `json:"sigma"`          // contention: the share that goes one by one
	Kappa  float64 `json:"kappa"`          // coherency: the cost of a pair that must agree
}

// Throughput is X(n), a second.
func (u USL) Throughput(n float64) float64 {
	return u.Lambda * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// Peak is the load of the largest throughput, sqrt((1 - Sigma) / Kappa) and at
// least 1; infinite when throughput never falls.
func (u USL) Peak() float64 {
	switch {
	case u.Sigma >= 1:
		return 1
	case u.Kappa == 0:
		return math.Inf(1)
	}
	return max(1, math.Sqrt((1-u.Sigma)/u.Kappa))
}

// ScalePoint is a measured throughput, a second, at a load.
type ScalePoint struct{ Load, PerSec float64 }

// USLFit is a fitted law and how well it fits.
type USLFit struct {
	USL
	// R2 is the share of the variance of throughput that the law explains; 1 is
	// a perfect fit. With three parameters few points are always "explained".
	R2 float64 `json:"r2"`
	// Worst is the largest difference of a point from the law, as a share of the
	// point.
	Worst float64 `json:"worst"`
	// Free is the number of points beyond the three parameters. With 0 the fit
	// proves nothing.
	Free int `json:"free"`
}

// FitUSL fits the law by least squares on throughput, with Sigma and Kappa not
// negative. It needs three different loads of at least 1 and throughputs above
// 0; else the error wraps [ErrArgument].
//
// With a = 1/Lambda, b = Sigma/Lambda, c = Kappa/Lambda the law is linear in
// n/X = a + b (n-1) + c n (n-1), which gives the first guess. Gauss-Newton steps
// with halving then lower the sum of squares in X itself; each solves a least
// squares problem with b and c not negative by trying each set of zeros.
func FitUSL(points []ScalePoint) (USLFit, error) {
	loads := map[float64]bool{}
	for _, p := range points {
		if !(p.Load >= 1) || !(p.PerSec > 0) || math.IsInf(p.Load, 0) || math.IsInf(p.PerSec, 0) {
			return USLFit{}, fmt.Errorf("laws: fit of scalability: point %v/s at load %v: %w: a load is 1 or more, a throughput above 0", p.PerSec, p.Load, ErrArgument)
		}
		loads[p.Load] = true
	}
	if len(loads) < 3 {
		return USLFit{}, fmt.Errorf("laws: fit of scalability to %d different loads: %w: three parameters need three", len(loads), ErrArgument)
	}

	rows := make([][3]float64, len(points))
	want := make([]float64, len(points))
	for i, p := range points {
		// The weight X/n makes errors relative.
		w := p.PerSec / p.Load
		rows[i] = scale3(basis(p.Load), w)
		want[i] = 1
	}
	theta := nonNegative(rows, want)
	best := squares(points, theta)
	for range 100 {
		for i, p := range points {
			// To first order, X changes by -X^2/n for each unit of n/X.
			x := at(theta, p.Load)
			w := x * x / p.Load
			rows[i] = scale3(basis(p.Load), w)
			want[i] = w*p.Load/x - (p.PerSec - x)
		}
		next := nonNegative(rows, want)
		improved := false
		for step := 1.0; step > 1e-9 && !improved; step /= 2 {
			var try [3]float64
			for k := range try {
				try[k] = theta[k] + step*(next[k]-theta[k])
			}
			if s := squares(points, try); s < best {
				improved = best-s > 1e-15*best
				theta, best = try, s
				break
			}
		}
		if !improved {
			break
		}
	}
	fit := USLFit{
		USL:  USL{Lambda: 1 / theta[0], Sigma: theta[1] / theta[0], Kappa: theta[2] / theta[0]},
		Free: len(points) - 3,
	}
	fit.judge(points)
	return fit, nil
}

func (f *USLFit) judge(points []ScalePoint) {
	mean := 0.0
	for _, p := range points {
		mean += p.PerSec / float64(len(points))
	}
	var left, all float64
	for _, p := range points {
		d := p.PerSec - f.Throughput(p.Load)
		left += d * d
		all += (p.PerSec - mean) * (p.PerSec - mean)
		f.Worst = max(f.Worst, math.Abs(d)/p.PerSec)
	}
	f.R2 = 1
	if left > 0 {
		f.R2 = 1 - left/all
	}
}

func basis(n float64) [3]float64 { return [3]float64{1, n - 1, n * (n - 1)} }

func scale3(v [3]float64, w float64) [3]float64 { return [3]float64{v[0] * w, v[1] * w, v[2] * w} }

// at is the throughput under theta = (a, b, c).
func at(theta [3]float64, n float64) float64 {
	b := basis(n)
	return n / (theta[0]*b[0] + theta[1]*b[1] + theta[2]*b[2])
}

// squares is the sum of squared errors of throughput; infinite if a is not
// positive.
func squares(points []ScalePoint, theta [3]float64) float64 {
	if !(theta[0] > 0) {
		return math.Inf(1)
	}
	sum := 0.0
	for _, p := range points {
		d := p.PerSec - at(theta, p.Load)
		sum += d * d
	}
	return sum
}

// nonNegative is the theta with a > 0, b >= 0, c >= 0 that brings rows x theta
// nearest to want. Three parameters have so few sets of zeros that each is tried.
func nonNegative(rows [][3]float64, want []float64) (theta [3]float64) {
	best := math.Inf(1)
	for set := range 4 { // bit 0: b is free, bit 1: c is free
		free := []int{0}
		for k := range 2 {
			if set>>k&1 == 1 {
				free = append(free, k+1)
			}
		}
		try, ok := leastSquares(rows, want, free)
		if !ok || try[0] <= 0 || try[1] < 0 || try[2] < 0 {
			continue
		}
		sum := 0.0
		for i, r := range rows {
			d := want[i] - (r[0]*try[0] + r[1]*try[1] + r[2]*try[2])
			sum += d * d
		}
		if sum < best {
			best, theta = sum, try
		}
	}
	return theta
}

// leastSquares solves for the free parameters; the others are 0. It makes the
// columns orthogonal one after the other (modified Gram-Schmidt), which keeps the
// digits that normal equations would lose. ok is false if columns depend on each
// other.
func leastSquares(rows [][3]float64, want []float64, free []int) (theta [3]float64, ok bool) {
	var (
		q     [3][]float64
		r     [3][3]float64
		right [3]float64
		rest  = append([]float64(nil), want...)
	)
	for i, k := range free {
		col := make([]float64, len(rows))
		for n := range rows {
			col[n] = rows[n][k]
		}
		before := norm(col)
		for j := range i {
			r[j][i] = dot(q[j], col)
			subtract(col, q[j], r[j][i])
		}
		r[i][i] = norm(col)
		if r[i][i] <= 1e-13*before {
			return theta, false
		}
		for n := range col {
			col[n] /= r[i][i]
		}
		q[i] = col
		right[i] = dot(col, rest)
		subtract(rest, col, right[i])
	}
	for i := len(free) - 1; i >= 0; i-- {
		v := right[i]
		for j := i + 1; j < len(free); j++ {
			v -= r[i][j] * theta[free[j]]
		}
		theta[free[i]] = v / r[i][i]
	}
	return theta, true
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }

func subtract(a, b []float64, times float64) {
	for i := range a {
		a[i] -= times * b[i]
	}
}
