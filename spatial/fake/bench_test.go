package fake_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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
