package geo

import "math"

// The WGS84 ellipsoid, in meters.
const (
	equatorial = 6378137.0
	flattening = 1 / 298.257223563
	polar      = equatorial * (1 - flattening)
	// Radius is the mean radius (2a+b)/3, with which PostGIS makes a sphere of it.
	Radius = (2*equatorial + polar) / 3
	// Farthest is more than any distance on WGS84, in meters.
	Farthest = 20_003_932.0
)

// How much longer or shorter a way on the ellipsoid can be than the way through
// the same latitudes and longitudes on the sphere: the extremes of the radii of
// curvature, M at the equator and at the poles, over Radius. A bound on the
// scale of each step bounds whole ways, and so the shortest ones.
const (
	shrinks = 0.99441
	grows   = 1.00450
)

const degree = math.Pi / 180

// Point is a place on the ellipsoid. Make it with At.
type Point struct {
	Lon, Lat float64 // degrees: -180 to 180, -90 to 90
	x, y, z  float64 // of the normal, a unit vector: z is the sine of the latitude
}

// At is the point at a longitude and a latitude in degrees. What lies outside
// of -180 to 180 and -90 to 90 is brought there by Normal.
func At(lon, lat float64) Point {
	lon, lat = Normal(lon, lat)
	sin, cos := math.Sincos(lat * degree)
	if math.Abs(lat) == 90 {
		cos = 0
	}
	sinLon, cosLon := math.Sincos(lon * degree)
	return Point{Lon: lon, Lat: lat, x: cos * cosLon, y: cos * sinLon, z: sin}
}

// Normal brings a longitude and a latitude in degrees to -180 to 180 and -90 to
// 90, as PostGIS coerces them for geography: the latitude is reflected at a pole,
// but the longitude stays on its side. What is there already stays as it is.
func Normal(lon, lat float64) (float64, float64) {
	if math.Abs(lon) <= 180 && math.Abs(lat) <= 90 {
		return lon, lat
	}
	if lon = math.Remainder(lon, 360); lon == -180 {
		lon = 180
	}
	lat = math.Remainder(lat, 360)
	if lat > 90 {
		lat = 180 - lat
	} else if lat < -90 {
		lat = -180 - lat
	}
	return lon, lat
}

// Sphere is the distance in meters on a sphere of Radius.
func Sphere(p, q Point) float64 {
	// |p x q| and p.q: exact for near and for far points alike.
	cx, cy, cz := p.y*q.z-p.z*q.y, p.z*q.x-p.x*q.z, p.x*q.y-p.y*q.x
	return Radius * math.Atan2(math.Sqrt(cx*cx+cy*cy+cz*cz), p.x*q.x+p.y*q.y+p.z*q.z)
}

// chord2 is the square of the straight distance on the unit sphere.
func chord2(p, q *Point) float64 {
	dx, dy, dz := p.x-q.x, p.y-q.y, p.z-q.z
	return dx*dx + dy*dy + dz*dz
}

// chord2Of is chord2 for points so many meters apart on the sphere.
func chord2Of(meters float64) float64 {
	half := math.Sin(min(math.Max(meters, 0)/Radius, math.Pi) / 2)
	return 4 * half * half
}

// reduced gives sine and cosine of the point's latitude on the auxiliary sphere.
func (p *Point) reduced() (sin, cos float64) {
	sin, cos = (1-flattening)*p.z, math.Sqrt(p.x*p.x+p.y*p.y)
	h := math.Sqrt(sin*sin + cos*cos)
	return sin / h, cos / h
}

// facing is chord2 from which on two points nearly face each other: they are
// more than 178 degrees apart.
const facing = 4 * 0.99969541 // sin(89 degrees) squared

// Spheroid is the length in meters of the shortest way on the WGS84 ellipsoid.
func Spheroid(p, q Point) float64 { return spheroid(&p, &q) }

func spheroid(p, q *Point) float64 {
	d2 := chord2(p, q)
	if d2 == 0 {
		return 0
	}
	if d2 < facing {
		if s, ok := vincenty(p, q); ok {
			return s
		}
	}
	return integrated(p, q)
}

// vincenty is Vincenty's inverse formula. It is not ok if the iteration didn't
// settle.
func vincenty(p, q *Point) (meters float64, ok bool) {
	sinU1, cosU1 := p.reduced()
	sinU2, cosU2 := q.reduced()
	lon := between(p.Lon, q.Lon)
	sin12, cos12 := sinU1*sinU2, cosU1*cosU2
	lambda := lon
	for range 20 {
		sinL, cosL := math.Sincos(lambda)
		a, b := cosU2*sinL, cosU1*sinU2-sinU1*cosU2*cosL
		sin2 := a*a + b*b
		if sin2 == 0 {
			return 0, true
		}
		sinS, cosS := math.Sqrt(sin2), sin12+cos12*cosL
		sigma := math.Atan2(sinS, cosS)
		sinA := cos12 * sinL / sinS
		cosA2 := 1 - sinA*sinA
		cosM := 0.0 // both on the equator
		if cosA2 > 1e-15 {
			cosM = cosS - 2*sin12/cosA2
		}
		c := flattening / 16 * cosA2 * (4 + flattening*(4-3*cosA2))
		next := lon + (1-c)*flattening*sinA*(sigma+c*sinS*(cosM+c*cosS*(2*cosM*cosM-1)))
		if math.Abs(next-lambda) > 1e-13 {
			lambda = next
			continue
		}
		u2 := cosA2 * (equatorial*equatorial - polar*polar) / (polar * polar)
		ca := 1 + u2/16384*(4096+u2*(-768+u2*(320-175*u2)))
		cb := u2 / 1024 * (256 + u2*(-128+u2*(74-47*u2)))
		m2 := cosM * cosM
		delta := cb * sinS * (cosM + cb/4*(cosS*(2*m2-1)-cb/6*cosM*(4*sin2-3)*(4*m2-3)))
		return polar * ca * (sigma - delta), true
	}
	return 0, false
}

// between is the difference of two longitudes, 0 to pi.
func between(a, b float64) float64 {
	d := math.Abs(a - b)
	if d > 180 {
		d = 360 - d
	}
	return d * degree
}
