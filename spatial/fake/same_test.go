package fake_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/geo"
)

// A question is a random search.
type question struct {
	sql      string
	lon, lat float64
	radius   float64
	limit    int64
}

func (q question) String() string {
	name := map[string]string{spatial.SearchRadius: "radius", spatial.SearchSorted: "sorted", spatial.SearchNearest: "nearest"}[q.sql]
	return fmt.Sprintf("%s of %v %v, %v m, %d rows", name, q.lon, q.lat, q.radius, q.limit)
}

// ask draws the i-th question: places with and without guides, the whole globe,
// poles, the antimeridian; radii of the study, none, far, and exactly up to a
// place.
func ask(set *data.Set, i int) question {
	r := rand.New(rand.NewPCG(11, uint64(i)))
	place := func() spatial.Location { return set.Locations[r.IntN(len(set.Locations))] }
	q := question{sql: spatial.SearchRadius, limit: 100}
	switch r.IntN(10) {
	case 0:
		q.lon, q.lat = set.Locations[0].Lon, set.Locations[0].Lat
	case 1:
		q.lon, q.lat = r.Float64()*360-180, r.Float64()*180-90
	case 2:
		q.lon, q.lat = r.Float64()*360-180, 90-math.Pow(10, -r.Float64()*6)
		if r.IntN(2) == 0 {
			q.lat = 90
		}
		if r.IntN(2) == 0 {
			q.lat = -q.lat
		}
	case 3:
		q.lon, q.lat = 180-math.Pow(10, -r.Float64()*6), place().Lat
		if r.IntN(2) == 0 {
			q.lon = -q.lon
		}
	case 4:
		l := set.Locations[r.IntN(30)] // where the data has its traps
		q.lon, q.lat = l.Lon, l.Lat
	case 5:
		l := set.Locations[set.Guides[r.IntN(len(set.Guides))].LocationID-1]
		q.lon, q.lat = l.Lon, l.Lat
	default:
		l := place()
		q.lon, q.lat = l.Lon, l.Lat
	}
	q.radius = []float64{5000, 10000, 20000, 50000}[r.IntN(4)]
	switch r.IntN(12) {
	case 0:
		q.radius = 0
	case 1:
		q.radius = math.Pow(10, r.Float64()*7.3)
	case 2, 3: // exactly up to a place that isn't far
		centre := geo.At(q.lon, q.lat)
		var hits []float64
		set.Index.Nearest(centre, func(i int, _ float64) bool {
			hits = append(hits, geo.Spheroid(centre, set.Index.Point(i)))
			return len(hits) < 90
		})
		q.radius = hits[r.IntN(len(hits))]
	}
	switch r.IntN(6) {
	case 0:
		q.sql = spatial.SearchNearest
	case 1:
		q.sql, q.radius = spatial.SearchSorted, math.Min(q.radius, 3000)
	case 2:
		q.limit = 1 + r.Int64N(300)
	}
	return q
}

// answer runs a question: meters by id, and the ids in order.
func answer(t *testing.T, c *pgx.Conn, q question) (meters map[int64]float64, order []int64) {
	t.Helper()
	rows, err := c.Query(context.Background(), q.sql, q.lon, q.lat, q.radius, q.limit)
	if err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	meters = map[int64]float64{}
	var p spatial.Place
	_, err = pgx.ForEachRow(rows, []any{&p.ID, &p.Name, &p.Lon, &p.Lat, &p.Meters}, func() error {
		meters[p.ID] = p.Meters
		order = append(order, p.ID)
		return nil
	})
	if err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	return meters, order
}

// edge is how close to the radius two correct programs may disagree: their
// distances differ in the last digits. A row that is farther from the radius
// must be in both answers or in neither.
const edge = 1e-6

// differ says how two answers differ beyond what is explained: rows that lie
// exactly at the radius; the order of rows at one distance on opposite sides, and
// which of them comes last where the limit cuts.
func differ(set *data.Set, q question, a, b map[int64]float64, order []int64) (why string, atEdge int) {
	centre := geo.At(q.lon, q.lat)
	key := func(id int64) float64 {
		if q.sql == spatial.SearchSorted {
			return geo.Spheroid(centre, set.Index.Point(int(id)-1))
		}
		return geo.Sphere(centre, set.Index.Point(int(id)-1))
	}
	cut := math.Inf(1)
	if int64(len(order)) == q.limit {
		cut = key(order[len(order)-1])
	}
	for _, side := range []struct{ has, hasNot map[int64]float64 }{{a, b}, {b, a}} {
		for id := range maps.Keys(side.has) {
			d := geo.Spheroid(centre, set.Index.Point(int(id)-1))
			other, ok := side.hasNot[id]
			switch {
			case !ok && math.Abs(key(id)-cut) <= edge:
			case !ok && math.Abs(d-q.radius) > edge:
				return fmt.Sprintf("%d at %.9f m is in one answer only", id, d), atEdge
			case !ok:
				atEdge++
			case math.Abs(other-side.has[id]) > 1e-3:
				return fmt.Sprintf("%d lies at %.9f or %.9f m", id, side.has[id], other), atEdge
			}
		}
	}
	last := 0.0
	for _, id := range order {
		d := key(id)
		if d < last-edge {
			return fmt.Sprintf("%d at %.9f m comes after one at %.9f m", id, d, last), atEdge
		}
		last = d
	}
	return "", atEdge
}

// brute answers a question by looking at every place.
func brute(set *data.Set, q question) map[int64]float64 {
	centre := geo.At(q.lon, q.lat)
	type row struct {
		id             int64
		sphere, meters float64
		in             bool
	}
	var all []row
	for i := range set.Locations {
		p := set.Index.Point(i)
		m := geo.Spheroid(centre, p)
		all = append(all, row{int64(i) + 1, math.RoundToEven(geo.Sphere(centre, p)*1e8) / 1e8, math.RoundToEven(m*1e8) / 1e8, m <= q.radius})
	}
	key := func(r row) float64 { return r.sphere }
	if q.sql == spatial.SearchSorted {
		key = func(r row) float64 { return r.meters }
	}
	found := map[int64]float64{}
	// Selection, as slow and as plain as can be.
	taken := make([]bool, len(all))
	for n, looked := int64(0), int64(0); n < q.limit; {
		best := -1
		for i, r := range all {
			if taken[i] || q.sql != spatial.SearchNearest && !r.in {
				continue
			}
			if best < 0 || key(r) < key(all[best]) || key(r) == key(all[best]) && r.id < all[best].id {
				best = i
			}
		}
		if best < 0 || q.sql == spatial.SearchNearest && looked >= q.limit {
			break
		}
		taken[best] = true
		looked++
		if q.sql != spatial.SearchNearest || all[best].meters <= q.radius {
			found[all[best].id] = all[best].meters
			n++
		}
	}
	return found
}

// The fake against looking at every place, and against PostGIS.
func TestThousandQuestions(t *testing.T) {
	connect := func(t *testing.T, dsn string) *pgx.Conn {
		c, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	n := 1000
	if testing.Short() {
		n = 200
	}
	t.Run("brute force", func(t *testing.T) {
		set := must(data.New(data.Config{Seed: 3, Locations: 600, Guides: 60}))
		c := connect(t, start(t, fake.Config{Data: set}).DSN())
		for i := range n {
			q := ask(set, i)
			got, order := answer(t, c, q)
			want := brute(set, q)
			if why, atEdge := differ(set, q, got, want, order); why != "" || atEdge > 0 {
				t.Errorf("question %d: %v: %s, %d rows at the edge differ", i, q, why, atEdge)
			}
		}
	})
	t.Run("postgis", func(t *testing.T) {
		dsn, holds := postgis(t)
		set := must(data.New(holds))
		ours, real := connect(t, start(t, fake.Config{Data: set}).DSN()), connect(t, dsn)
		rows, edges, far := 0, 0, 0.0
		for i := range n {
			q := ask(set, i)
			got, order := answer(t, ours, q)
			want, theirs := answer(t, real, q)
			why, atEdge := differ(set, q, got, want, order)
			if why == "" {
				why, _ = differ(set, q, want, got, theirs)
			}
			if why != "" {
				t.Errorf("question %d: %v: %s", i, q, why)
			}
			edges += atEdge
			for id, m := range got {
				if w, ok := want[id]; ok {
					far = max(far, math.Abs(m-w))
				}
				rows++
			}
		}
		t.Logf("%d questions, %d rows, largest difference %.2g m; %d rows at the very edge of a circle were in one answer only", n, rows, far, edges)
	})
}
