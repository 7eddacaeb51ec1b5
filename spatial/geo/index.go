package geo

import (
	"math"

	"github.com/tidwall/rtree"
)

// Index finds points by place. It is made once and then only read.
type Index struct {
	points []Point
	tree   rtree.RTreeG[int32]
}

// NewIndex makes an index of n points; at gives the i-th in degrees.
func NewIndex(n int, at func(i int) (lon, lat float64)) *Index {
	x := &Index{points: make([]Point, n)}
	for i := range x.points {
		p := At(at(i))
		x.points[i] = p
		place := [2]float64{p.Lon, p.Lat}
		x.tree.Insert(place, place, int32(i))
	}
	return x
}

// Len is the number of points.
func (x *Index) Len() int { return len(x.points) }

// Point is the i-th point.
func (x *Index) Point(i int) Point { return x.points[i] }

// near says what is certain about a distance on the ellipsoid without computing
// it: chord2 up to in means that it is within the radius, beyond out that it
// isn't.
type near struct{ in, out float64 }

func nearOf(radius float64) near {
	n := near{in: chord2Of(radius / grows), out: chord2Of(radius / shrinks)}
	if radius/shrinks >= math.Pi*Radius {
		n.out = math.Inf(1)
	}
	// What rounding does to chord2 of far points.
	n.in -= 1e-14
	n.out += 1e-14
	return n
}

// Within yields every point at most radius meters on the ellipsoid from the
// centre, and how far it is, in no particular order. A radius below zero has none.
func (x *Index) Within(centre Point, radius float64, yield func(i int, meters float64) bool) {
	n := nearOf(radius)
	x.around(centre, radius, func(i int32) bool {
		p := &x.points[i]
		if chord2(&centre, p) > n.out {
			return true
		}
		if d := spheroid(&centre, p); d <= radius {
			return yield(int(i), d)
		}
		return true
	})
}

// Count is the number of points that Within yields. It measures only those near
// the radius, and so takes a twentieth of the time.
func (x *Index) Count(centre Point, radius float64) (count int) {
	n := nearOf(radius)
	x.around(centre, radius, func(i int32) bool {
		p := &x.points[i]
		switch d2 := chord2(&centre, p); {
		case d2 > n.out:
		case d2 <= n.in && radius >= 0, spheroid(&centre, p) <= radius:
			count++
		}
		return true
	})
	return count
}

// around yields every point that may be within the radius, each once.
func (x *Index) around(centre Point, radius float64, yield func(i int32) bool) {
	if !(radius >= 0) {
		return
	}
	for _, b := range boxes(centre, radius) {
		more := true
		x.tree.Search([2]float64{b.West, b.South}, [2]float64{b.East, b.North}, func(_, _ [2]float64, i int32) bool {
			more = yield(i)
			return more
		})
		if !more {
			return
		}
	}
}

// Box is a rectangle of longitude and latitude in degrees, its edges included.
type Box struct{ West, South, East, North float64 }

// In yields the points in a box, which doesn't pass the antimeridian.
func (x *Index) In(b Box, yield func(i int) bool) {
	x.tree.Search([2]float64{b.West, b.South}, [2]float64{b.East, b.North}, func(_, _ [2]float64, i int32) bool {
		return yield(int(i))
	})
}

// boxes are one or two disjoint boxes that hold every point within the radius.
// A box that passes the antimeridian is split; one with a pole in it goes all
// the way around.
func boxes(centre Point, radius float64) []Box {
	// An angle on the sphere, with a little more for rounding.
	angle := radius/(shrinks*Radius) + 1e-9
	south, north := centre.Lat-angle/degree, centre.Lat+angle/degree
	if south <= -90 || north >= 90 {
		return []Box{{-180, math.Max(south, -90), 180, math.Min(north, 90)}}
	}
	// The circle's farthest longitude is where a meridian touches it.
	half := 180.0
	if s := math.Sin(angle) / math.Cos(centre.Lat*degree); s < 1 {
		half = math.Asin(s)/degree + 1e-9
	}
	west, east := centre.Lon-half, centre.Lon+half
	switch {
	case half >= 180:
		return []Box{{-180, south, 180, north}}
	case west <= -180: // a point at 180 is at -180, too
		return []Box{{-180, south, east, north}, {west + 360, south, 180, north}}
	case east >= 180:
		return []Box{{west, south, 180, north}, {-180, south, east - 360, north}}
	}
	return []Box{{west, south, east, north}}
}

// Nearest yields all points in the order of their distance on the sphere, which
// comes with them in meters. Points at one distance come in no particular order.
func (x *Index) Nearest(centre Point, yield func(i int, meters float64) bool) {
	x.tree.Nearby(
		func(lo, hi [2]float64, i int32, item bool) float64 {
			if item {
				return Sphere(centre, x.points[i])
			}
			return toBox(&centre, Box{lo[0], lo[1], hi[0], hi[1]})
		},
		func(_, _ [2]float64, i int32, meters float64) bool { return yield(int(i), meters) },
	)
}

// toBox is at most the distance on the sphere to any point in the box.
func toBox(p *Point, b Box) float64 {
	cosLat := math.Sqrt(p.x*p.x + p.y*p.y)
	var far float64 // longitude to the nearer of the box's sides, 0 if it is inside
	if p.Lon < b.West || p.Lon > b.East {
		far = math.Min(between(p.Lon, b.West), between(p.Lon, b.East))
	}
	// On a meridian so far away, cos(distance) = a sin(lat) + c cos(lat), which is
	// highest at lat = atan2(a, c) and falls to both sides.
	a, c := p.z, cosLat*math.Cos(far)
	best := math.Atan2(a, c)
	south, north := b.South*degree, b.North*degree
	cos := math.Hypot(a, c)
	if best < south || best > north {
		sinS, cosS := math.Sincos(south)
		sinN, cosN := math.Sincos(north)
		cos = math.Max(a*sinS+c*cosS, a*sinN+c*cosN)
	}
	// An arc cosine is off by the root of the rounding where the distance is small;
	// give way by as much.
	cos = math.Min(cos+1e-15, 1)
	return Radius * math.Acos(cos)
}

// Reach is the farthest on the sphere that a point within a radius on the
// ellipsoid can be, in meters.
func Reach(radius float64) float64 { return radius/shrinks + 1e-6 }

// Least is the shortest that a distance on the ellipsoid can be if it is so long
// on the sphere, in meters.
func Least(sphere float64) float64 { return sphere*shrinks - 1e-6 }
