package study_test

import (
	"testing"

	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/rawblock/study"
)

// BenchmarkMeasuredPrediction calibrates on a file, predicts three strategies and
// measures them.
func BenchmarkMeasuredPrediction(b *testing.B) {
	calibrationtest.Measure(b, study.Calibrate, study.Compare)
}
