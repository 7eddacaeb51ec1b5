package coldfetch_test

import (
	"testing"

	"latlab.example/coldfetch/study"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

// BenchmarkMeasuredColdPull locates in a real store: versitygw, or the one that
// LATLAB_S3 names.
func BenchmarkMeasuredColdPull(b *testing.B) {
	labtest.Bench(b, study.ColdPull, lab.Measured, lab.Selection{Cross: []string{"document", "fsync"}})
}

// BenchmarkMeasuredStages takes a miss, a hit and a cold document apart.
func BenchmarkMeasuredStages(b *testing.B) {
	labtest.Bench(b, study.StageShares, lab.Measured, lab.Selection{Cross: []string{"path"}})
}

// BenchmarkMeasuredCores is the ladder, on one core and on two.
func BenchmarkMeasuredCores(b *testing.B) {
	labtest.Bench(b, study.Cores, lab.Measured, lab.Selection{Cross: []string{"cores", "concurrency"}})
}
