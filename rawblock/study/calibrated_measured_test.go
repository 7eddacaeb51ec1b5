package study_test

import (
	"errors"
	"math"
	"os"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock/calibrate"
	"latlab.example/rawblock/study"
)

// BenchmarkMeasuredPrediction calibrates on a file, predicts three strategies and
// measures them. It prints curve and residuals, whatever they are.
func BenchmarkMeasuredPrediction(b *testing.B) {
	for b.Loop() {
		c, err := study.Calibrate(b.Context())
		var u *lab.Unavailable
		if errors.As(err, &u) {
			labtest.Require(b, u.Need, err)
		} else if err != nil {
			b.Fatal(err)
		}
		rows, err := study.Residuals(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		within := 0
		for _, r := range rows {
			if math.Abs(r.Off()) <= calibrate.Bar {
				within++
			}
		}
		b.ReportMetric(float64(within), "within-25-percent")
		b.ReportMetric(float64(len(rows)), "predictions")
		if err := c.Table().WriteText(os.Stderr); err != nil {
			b.Fatal(err)
		}
		if err := calibrate.WriteCurve(os.Stderr, c.Curve, c.Fits); err != nil {
			b.Fatal(err)
		}
		if err := calibrate.WriteResiduals(os.Stderr, rows); err != nil {
			b.Fatal(err)
		}
	}
}
