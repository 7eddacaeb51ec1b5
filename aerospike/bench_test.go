package aerospike_test

import (
	"testing"

	"latlab.example/aerospike/study"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

// BenchmarkModelledGatherVsSingle runs the modes at concurrency 1 and 10.
func BenchmarkModelledGatherVsSingle(b *testing.B) {
	labtest.Bench(b, study.GatherOrSingle, lab.Modelled, lab.Selection{Cross: []string{"mode", "concurrency"}})
}

// BenchmarkModelledGatherVsSingleAtOnce does so against a server that adds no
// wait, which two cores can bear at concurrency 10. Run it with -cpu 1,2.
func BenchmarkModelledGatherVsSingleAtOnce(b *testing.B) {
	labtest.Bench(b, study.GatherOrSingle, lab.Modelled, lab.Selection{
		Set: map[string][]string{"costs": {"none"}}, Cross: []string{"mode", "concurrency"},
	})
}

// BenchmarkModelledReader runs readers and forms.
func BenchmarkModelledReader(b *testing.B) {
	labtest.Bench(b, study.Readers, lab.Modelled, lab.Selection{Cross: []string{"reader", "form"}})
}

// BenchmarkModelledMystery runs with and without a pool between caller and client.
func BenchmarkModelledMystery(b *testing.B) {
	labtest.Bench(b, study.Mystery, lab.Modelled, lab.Selection{Cross: []string{"executor", "concurrency"}})
}

// BenchmarkModelledLayers runs the readers bare, behind HTTP, and behind inference.
func BenchmarkModelledLayers(b *testing.B) {
	labtest.Bench(b, study.Layers, lab.Modelled, lab.Selection{Cross: []string{"reader", "layer"}})
}

// BenchmarkModelledSetEight runs the sets that hold records and the one that
// doesn't.
func BenchmarkModelledSetEight(b *testing.B) {
	labtest.Bench(b, study.SetEight, lab.Modelled, lab.Selection{Cross: []string{"set", "reader"}})
}
