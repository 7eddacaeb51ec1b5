package aerospike_test

import (
	"testing"

	"latlab.example/aerospike/study"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

// BenchmarkMeasuredGatherVsSingle runs the modes on a real server, where
// LATLAB_AEROSPIKE names one.
func BenchmarkMeasuredGatherVsSingle(b *testing.B) {
	labtest.Bench(b, study.GatherOrSingle, lab.Measured, lab.Selection{Cross: []string{"mode", "concurrency"}})
}

// BenchmarkMeasuredReader runs readers and forms there.
func BenchmarkMeasuredReader(b *testing.B) {
	labtest.Bench(b, study.Readers, lab.Measured, lab.Selection{Cross: []string{"reader", "form"}})
}
