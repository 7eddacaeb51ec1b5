package load_test

import (
	"context"
	"testing"
	"time"

	"latlab.example/common/load"
)

// What a request costs beside the request itself: clock, lock, histograms, series.
func BenchmarkOverhead(b *testing.B) {
	nothing := func(context.Context, load.Request) error { return nil }
	for _, users := range []int{1, 2} {
		b.Run(map[int]string{1: "users=1", 2: "users=2"}[users], func(b *testing.B) {
			rep, err := load.Closed{Users: load.Hold(float64(users), time.Hour), PerUser: b.N}.Run(b.Context(), nothing)
			if err != nil {
				b.Fatal(err)
			}
			if rep.Success != uint64(users*b.N) {
				b.Fatalf("%d requests, want %d", rep.Success, users*b.N)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(rep.Success), "ns/request")
		})
	}
}
