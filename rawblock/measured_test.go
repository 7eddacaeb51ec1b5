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
