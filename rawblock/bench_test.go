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

// BenchmarkModelledPublishedFit predicts the study's table for each device.
func BenchmarkModelledPublishedFit(b *testing.B) {
	labtest.Bench(b, study.PublishedFit, lab.Modelled, lab.Selection{})
}
