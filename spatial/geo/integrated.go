package geo

import "math"

// integrated is the geodesic's length from its defining integrals: it solves for
// the azimuth at the first point under which the geodesic passes the second's
// longitude. Formulas: C. Karney, Algorithms for geodesics, J. Geodesy 87 (2013),
// equations 7 and 8 and section 4. It takes some
// 50 us, for any two points.
func integrated(p, q *Point) float64 {
	sin1, cos1 := p.reduced()
	sin2, cos2 := q.reduced()
	lon := between(p.Lon, q.Lon)
	// Karney's order: the first point is the farther one from the equator, and
	// south of it. Then the longitude rises with the azimuth where it is needed.
	if math.Abs(sin1) < math.Abs(sin2) || cos1 > cos2 {
		sin1, cos1, sin2, cos2 = sin2, cos2, sin1, cos1
	}
	if sin1 > 0 {
		sin1, sin2 = -sin1, -sin2
	}
	if sin1 == 0 { // both on the equator
		if lon <= (1-flattening)*math.Pi {
			return equatorial * lon
		}
		sin1 = math.Copysign(0, -1)
	}
	// Counted from east, an azimuth near the equator keeps all its digits.
	lo, hi := -math.Pi/2, math.Pi/2
	for {
		mid := (lo + hi) / 2
		passed, meters := geodesic(mid, sin1, cos1, sin2, cos2)
		switch {
		case mid == lo || mid == hi || passed == lon:
			return meters
		case passed > lon:
			lo = mid
		default:
			hi = mid
		}
	}
}

// geodesic leaves the first latitude at an azimuth, an angle from east to the
// left. It gives the difference of longitude at which it reaches the second on
// its way north, and its length until there.
func geodesic(azimuth, sin1, cos1, sin2, cos2 float64) (lon, meters float64) {
	cosA1, sinA1 := math.Sincos(azimuth)
	sinA0 := sinA1 * cos1
	cosA0 := math.Hypot(cosA1, sinA1*sin1)
	// cosA2 * cos2, which is not negative
	more := (sin1 - sin2) * (sin1 + sin2) // cos2 squared - cos1 squared
	if cos1 < -sin1 {
		more = (cos2 - cos1) * (cos2 + cos1) // the small ones lose no digits
	}
	north := math.Sqrt(math.Max(0, cosA1*cosA1*cos1*cos1+more))
	from, to := math.Atan2(sin1, cosA1*cos1), math.Atan2(sin2, north)
	omega := math.Atan2(sinA0*sin2, north) - math.Atan2(sinA0*sin1, cosA1*cos1)
	const second = (equatorial*equatorial - polar*polar) / (polar * polar)
	k2 := second * cosA0 * cosA0
	mid, half := (from+to)/2, (to-from)/2
	var length, shift float64
	for i, x := range legendreAt {
		for _, at := range [2]float64{mid - half*x, mid + half*x} {
			s := math.Sin(at)
			root := math.Sqrt(1 + k2*s*s)
			length += legendreWeight[i] * root
			shift += legendreWeight[i] * (2 - flattening) / (1 + (1-flattening)*root)
		}
	}
	return omega - flattening*sinA0*shift*half, polar * length * half
}

// Gauss-Legendre quadrature with 16 nodes, the positive half of them. The
// integrands are 1 plus a ripple of less than half a percent over at most half a
// turn, so what is left out is below a nanometre.
var (
	legendreAt = [8]float64{
		0.0950125098376374, 0.2816035507792589, 0.4580167776572274, 0.6178762444026438,
		0.7554044083550030, 0.8656312023878318, 0.9445750230732326, 0.9894009349916499,
	}
	legendreWeight = [8]float64{
		0.1894506104550685, 0.1826034150449236, 0.1691565193950025, 0.1495959888165767,
		0.1246289712555339, 0.0951585116824928, 0.0622535239386479, 0.0271524594117541,
	}
)
