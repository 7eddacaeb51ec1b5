package rawblock_test

import (
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock/study"
)

// BenchmarkMeasuredPutMany runs the four strategies on a real file. Its make
// target builds engine io_uring in; a plain build shows those rows as skipped.
func BenchmarkMeasuredPutMany(b *testing.B) {
	labtest.Bench(b, study.PutMany, lab.Measured, lab.Selection{Cross: []string{"strategy", "engine"}})
}

// BenchmarkMeasuredGetMany reads keys of a real file back, one by one and in one
// submission.
func BenchmarkMeasuredGetMany(b *testing.B) {
	labtest.Bench(b, study.GetMany, lab.Measured, lab.Selection{Cross: []string{"read", "keys"}})
}

// BenchmarkMeasuredDurability shows what each mode of durability costs.
func BenchmarkMeasuredDurability(b *testing.B) {
	labtest.Bench(b, study.PutMany, lab.Measured, lab.Selection{
		Cross: []string{"durability", "strategy"}, Set: map[string][]string{"strategy": {"sequential", "batch"}},
	})
}
