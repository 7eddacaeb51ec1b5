package spatial_test

import (
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/spatial/study"
)

// These run on a real PostGIS, where LATLAB_POSTGIS names one with the data.

// BenchmarkMeasuredIndex runs searches with the GiST index and without.
func BenchmarkMeasuredIndex(b *testing.B) {
	labtest.Bench(b, study.Index, lab.Measured, lab.Selection{})
}

// BenchmarkMeasuredGeography runs geography beside two ways to use geometry.
func BenchmarkMeasuredGeography(b *testing.B) {
	labtest.Bench(b, study.Shape, lab.Measured, lab.Selection{})
}

// BenchmarkMeasuredKNN runs a full sort beside the index's order.
func BenchmarkMeasuredKNN(b *testing.B) {
	labtest.Bench(b, study.KNN, lab.Measured, lab.Selection{Cross: []string{"search", "plan"}})
}

// BenchmarkMeasuredPlanWarmth runs the ways to plan.
func BenchmarkMeasuredPlanWarmth(b *testing.B) {
	labtest.Bench(b, study.PlanWarmth, lab.Measured, lab.Selection{})
}

// BenchmarkMeasuredNPlusOne runs the ways to read media.
func BenchmarkMeasuredNPlusOne(b *testing.B) {
	labtest.Bench(b, study.NPlusOne, lab.Measured, lab.Selection{})
}
