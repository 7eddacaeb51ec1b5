package geo_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"

	"latlab.example/spatial/geo"
)

// Distances that PostGIS 3.3.2 gives, ST_Distance of geography, in meters.
func TestSpheroidAgainstPostGIS(t *testing.T) {
	for _, c := range postgis {
		got := geo.Spheroid(geo.At(c[0], c[1]), geo.At(c[2], c[3]))
		if math.Abs(got-c[4]) > 1e-4 {
			t.Errorf("from %v %v to %v %v: %.8f, want %.8f", c[0], c[1], c[2], c[3], got, c[4])
		}
	}
}

// anywhere draws points of all kinds: anywhere, poles, antimeridian, round
// degrees, and near or opposite to the other.
func anywhere(r *rand.Rand, other geo.Point) geo.Point {
	lon, lat := r.Float64()*360-180, math.Asin(2*r.Float64()-1)*180/math.Pi
	switch r.IntN(10) {
	case 0:
		lat = 90 - 180*float64(r.IntN(2))
	case 1:
		lon = 180 - 360*float64(r.IntN(2))
	case 2:
		lon, lat = math.Round(lon/30)*30, math.Round(lat/30)*30
	case 3, 4:
		near := math.Pow(10, -r.Float64()*7)
		lon, lat = other.Lon+near*(r.Float64()-0.5), other.Lat+near*(r.Float64()-0.5)
	case 5, 6:
		near := math.Pow(10, -r.Float64()*7)
		lon, lat = other.Lon+180+near*(r.Float64()-0.5), -other.Lat+near*(r.Float64()-0.5)
	}
	return geo.At(lon, lat)
}

// Vincenty's formulas against the integrals, and the bounds that the index
// relies on.
func TestSpheroidProperties(t *testing.T) {
	f := func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 1))
		p := anywhere(r, geo.Point{})
		q := anywhere(r, p)
		d, back, exact, sphere := geo.Spheroid(p, q), geo.Spheroid(q, p), geo.Integrated(p, q), geo.Sphere(p, q)
		ok := math.Abs(d-exact) < 1e-4 && math.Abs(d-back) < 1e-6 && d >= 0 && d <= geo.Farthest &&
			d >= geo.Shrinks*sphere-1e-6 && d <= geo.Grows*sphere+1e-6
		if !ok {
			t.Logf("%+v %+v: %v, back %v, by integrals %v, on the sphere %v", p, q, d, back, exact, sphere)
		}
		return ok
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func TestNormal(t *testing.T) {
	for _, c := range [][4]float64{
		{10, 20, 10, 20},
		{180, 0, 180, 0},
		{-180, 0, -180, 0},
		{190, 0, -170, 0},
		{-190, 0, 170, 0},
		{0, 95, 0, 85},
		{10, -95, 10, -85},
		{10, 275, 10, -85},
		{190, 95, -170, 85},
		{550, 185, -170, -5},
		{540, 0, 180, 0},
		{350, 10, -10, 10},
		{0, 90, 0, 90},
	} {
		if lon, lat := geo.Normal(c[0], c[1]); math.Abs(lon-c[2]) > 1e-9 || math.Abs(lat-c[3]) > 1e-9 {
			t.Errorf("Normal(%v, %v) = %v, %v, want %v, %v", c[0], c[1], lon, lat, c[2], c[3])
		}
	}
}

type hit struct {
	i      int
	meters float64
}

// The index against looking at every point.
func TestIndexAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	points := make([]geo.Point, 800)
	for i := range points {
		points[i] = anywhere(r, points[r.IntN(i+1)])
	}
	x := geo.NewIndex(len(points), func(i int) (float64, float64) { return points[i].Lon, points[i].Lat })
	if x.Len() != len(points) || x.Point(7) != points[7] {
		t.Fatal("the index holds other points")
	}
	f := func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 2))
		centre := anywhere(r, points[r.IntN(len(points))])
		radius := math.Pow(10, r.Float64()*7.4)
		switch r.IntN(8) {
		case 0:
			radius = 0
		case 1:
			radius = geo.Spheroid(centre, points[r.IntN(len(points))]) // a point exactly at the edge
		case 2:
			radius = -1
		}
		var want, got []hit
		for i, p := range points {
			if d := geo.Spheroid(centre, p); d <= radius {
				want = append(want, hit{i, d})
			}
		}
		x.Within(centre, radius, func(i int, m float64) bool {
			got = append(got, hit{i, m})
			return true
		})
		slices.SortFunc(got, func(a, b hit) int { return a.i - b.i })
		if !slices.Equal(got, want) || x.Count(centre, radius) != len(want) {
			t.Logf("centre %+v radius %v: %d hits (counted %d), want %d", centre, radius, len(got), x.Count(centre, radius), len(want))
			return false
		}
		last, seen := 0.0, map[int]bool{}
		x.Nearest(centre, func(i int, m float64) bool {
			if m < last || m != geo.Sphere(centre, points[i]) || seen[i] {
				t.Logf("nearest to %+v: %d at %v after %v", centre, i, m, last)
				last = -1
				return false
			}
			last, seen[i] = m, true
			return true
		})
		return last >= 0 && len(seen) == len(points)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func TestIndexStopsWhenTold(t *testing.T) {
	x := geo.NewIndex(50, func(i int) (float64, float64) { return 180 - float64(i%2)*360, float64(i) / 100 })
	for name, walk := range map[string]func(func(int) bool){
		"within":  func(f func(int) bool) { x.Within(geo.At(180, 0), 1e6, func(i int, _ float64) bool { return f(i) }) },
		"nearest": func(f func(int) bool) { x.Nearest(geo.At(180, 0), func(i int, _ float64) bool { return f(i) }) },
		"in":      func(f func(int) bool) { x.In(geo.Box{West: -180, South: 0, East: 180, North: 1}, f) },
	} {
		n := 0
		walk(func(int) bool { n++; return n < 3 })
		if n != 3 {
			t.Errorf("%s: %d points, want 3", name, n)
		}
	}
}

func BenchmarkSpheroid(b *testing.B) {
	p, q := geo.At(126.978, 37.5665), geo.At(127.1, 37.4)
	for b.Loop() {
		geo.Spheroid(p, q)
	}
}
