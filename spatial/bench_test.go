package spatial_test

import (
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/spatial/study"
)

// BenchmarkModelledPoolSize runs the sweep of the pool's size, each with a hold
// that is no CPU and one that is.
func BenchmarkModelledPoolSize(b *testing.B) {
	labtest.Bench(b, study.PoolSize, lab.Modelled, lab.Selection{
		Set: map[string][]string{"hold": {"sleep", "burn"}}, Cross: []string{"pool", "hold"},
	})
}

// BenchmarkModelledRowLog runs the row log's levels on each sink.
func BenchmarkModelledRowLog(b *testing.B) {
	labtest.Bench(b, study.RowLog, lab.Modelled, lab.Selection{Cross: []string{"rowlog", "sink"}})
}

// BenchmarkModelledNestedAcquire runs one and two connections a request.
func BenchmarkModelledNestedAcquire(b *testing.B) {
	labtest.Bench(b, study.Nested, lab.Modelled, lab.Selection{})
}

// BenchmarkModelledNPlusOne runs the ways to read media.
func BenchmarkModelledNPlusOne(b *testing.B) {
	labtest.Bench(b, study.NPlusOne, lab.Modelled, lab.Selection{})
}
