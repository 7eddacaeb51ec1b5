package fake_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
)

// rate is how many searches a second a server gives ten clients without thought:
// places at random, as the study's load has them.
func rate(b *testing.B, pool *pgxpool.Pool, set *data.Set, seed uint64, length time.Duration) float64 {
	var wg sync.WaitGroup
	counts := make([]int, 10)
	began := time.Now()
	for i := range counts {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for time.Since(began) < length {
				l := set.Locations[data.Fixed-1]
				switch k := r.IntN(10); {
				case k < 3:
					l = set.Locations[r.IntN(len(set.Locations))]
				case k < 5:
					l = set.Locations[set.Guides[r.IntN(len(set.Guides))].LocationID-1]
				}
				if _, err := search(context.Background(), pool, l.Lon, l.Lat, []float64{5000, 10000, 20000, 50000}[r.IntN(4)]); err != nil {
					b.Error(err)
					return
				}
				counts[i]++
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / time.Since(began).Seconds()
}

// BenchmarkMeasuredRate compares the fake, without costs, with PostGIS: the same
// searches in turns. The fake has to serve at least three times as many, so that
// it never is what limits a run by accident. What it measures of the fake is the
// CPU of client and fake together; nothing in it is modelled.
func BenchmarkMeasuredRate(b *testing.B) {
	dsn, holds := postgis(b)
	set := must(data.New(holds))
	ours := must(pgxpool.New(b.Context(), start(b, fake.Config{Data: set}).DSN()+"&pool_max_conns=10"))
	defer ours.Close()
	cfg := must(pgxpool.ParseConfig(dsn))
	cfg.MaxConns = 10
	real := must(pgxpool.NewWithConfig(b.Context(), cfg))
	defer real.Close()
	const turn = 500 * time.Millisecond
	for _, pool := range []*pgxpool.Pool{ours, real} { // plans and pages
		rate(b, pool, set, 0, turn)
	}
	var fakes, reals float64
	n := 0.0
	for b.Loop() {
		n++
		reals += rate(b, real, set, uint64(n), turn)
		fakes += rate(b, ours, set, uint64(n), turn)
	}
	b.ReportMetric(fakes/n, "fake/s")
	b.ReportMetric(reals/n, "postgis/s")
	b.ReportMetric(fakes/reals, "ratio")
}

// BenchmarkMeasuredCosts compares what PostGIS takes for a statement, warm and
// alone, with what the fake charges for it by Typical: ratio is the fake's over
// PostGIS's shortest time, as others on the host only make it longer. That and
// ns/op are with the round trip and the client.
func BenchmarkMeasuredCosts(b *testing.B) {
	dsn, holds := postgis(b)
	s := start(b, fake.Config{Data: must(data.New(holds)), Cost: fake.Typical(), CPU: noCPU{}})
	ours, real := must(pgx.Connect(b.Context(), s.DSN())), must(pgx.Connect(b.Context(), dsn))
	defer ours.Close(context.Background())
	defer real.Close(context.Background())
	circle := func(lon, lat, radius float64) []any { return []any{lon, lat, radius, 100} }
	for _, test := range []struct {
		name, sql string
		args      []any
	}{
		{"search=city/km=5", spatial.SearchRadius, circle(126.978, 37.5665, 5000)},
		{"search=city/km=50", spatial.SearchRadius, circle(126.978, 37.5665, 50000)},
		{"search=town/km=5", spatial.SearchRadius, circle(-21.9426, 64.1466, 5000)},
		{"search=nowhere/km=50", spatial.SearchRadius, circle(-30, -40, 50000)},
		{"sorted=city/km=5", spatial.SearchSorted, circle(126.978, 37.5665, 5000)},
		{"sorted=town/km=50", spatial.SearchSorted, circle(-21.9426, 64.1466, 50000)},
		{"cast=city/km=5", spatial.SearchCast, circle(126.978, 37.5665, 5000)},
		{"media", spatial.MediaOf, []any{7}},
		{"burn=100000", spatial.Burn, []any{100_000}},
	} {
		b.Run(test.name, func(b *testing.B) {
			for range 6 { // past the plans for one execution each
				for _, c := range []*pgx.Conn{ours, real} {
					if _, err := c.Exec(b.Context(), test.sql, test.args...); err != nil {
						b.Fatal(err)
					}
				}
			}
			before := s.Use().CPU
			if _, err := ours.Exec(b.Context(), test.sql, test.args...); err != nil {
				b.Fatal(err)
			}
			charged := s.Use().CPU - before
			least := time.Duration(math.MaxInt64)
			for b.Loop() {
				began := time.Now()
				if _, err := real.Exec(b.Context(), test.sql, test.args...); err != nil {
					b.Fatal(err)
				}
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(charged), "fake-ns/op")
			b.ReportMetric(float64(least), "least-ns/op")
			b.ReportMetric(float64(charged)/float64(least), "ratio")
		})
	}
}

// noCPU does all work in no time, as only what it is asked for counts.
type noCPU struct{}

func (noCPU) Use(context.Context, time.Duration) error { return nil }
