package rawblock_test

import (
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock/study"
)

// BenchmarkModelledPutMany runs the four strategies on the fakes.
func BenchmarkModelledPutMany(b *testing.B) {
	labtest.Bench(b, study.PutMany, lab.Modelled, lab.Selection{Cross: []string{"strategy"}})
}

// BenchmarkModelledGetMany reads keys back, one by one and in one submission.
func BenchmarkModelledGetMany(b *testing.B) {
	labtest.Bench(b, study.GetMany, lab.Modelled, lab.Selection{Cross: []string{"read"}})
}

// BenchmarkModelledBreakEven runs three strategies on 1 to 256 channels.
func BenchmarkModelledBreakEven(b *testing.B) {
	labtest.Bench(b, study.BreakEven, lab.Modelled, lab.Selection{})
}

// BenchmarkModelledAllocator shows what Phase A costs a key.
func BenchmarkModelledAllocator(b *testing.B) {
	labtest.Bench(b, study.Allocator, lab.Modelled, lab.Selection{})
}

// BenchmarkModelledDedupRace and BenchmarkModelledDispatchLeak count what the
// caller's two faults cost.
func BenchmarkModelledDedupRace(b *testing.B) {
	labtest.Bench(b, study.DedupRace, lab.Modelled, lab.Selection{})
}

func BenchmarkModelledDispatchLeak(b *testing.B) {
	labtest.Bench(b, study.DispatchLeak, lab.Modelled, lab.Selection{})
}

// BenchmarkModelledPublishedFit predicts the study's table for each device.
func BenchmarkModelledPublishedFit(b *testing.B) {
	labtest.Bench(b, study.PublishedFit, lab.Modelled, lab.Selection{})
}
