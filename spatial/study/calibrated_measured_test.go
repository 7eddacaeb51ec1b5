//go:build !race && !js

package study

import (
	"math"
	"testing"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	fitted "latlab.example/spatial/calibrate"
)

// BenchmarkMeasuredPrediction calibrates on a real server, predicts loads and
// measures them. It prints curve and residuals, whatever they are.
func BenchmarkMeasuredPrediction(b *testing.B) {
	calibrationtest.Measure(b, Calibrate, Compare)
}

// The calibrated model is a rig of pool-size, and passes for no other host's.
func TestCalibratedRig(t *testing.T) {
	c := fitted.Calibration{
		Head: calibration.Head{Case: fitted.Case, Schema: fitted.Schema, Host: host.Fingerprint{OS: "linux"}}, Server: "15.0",
		Fit: fitted.Fit{Work: 2 * time.Millisecond, Wait: time.Millisecond, Cores: 2, Spread: 2},
	}
	e := PoolSize
	e.Rigs = []lab.Rig{Calibrated(c)}
	labtest.Check(t, e)
	arms, err := e.Arms(e.Rigs[0], lab.Selection{Set: map[string][]string{"pool": {"30"}}})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := inModel(t, e, arms[0], 1).Value(lab.SecPerOp)
	if !ok || math.Abs(got-0.104) > 0.003 { // 2 ms of work, two round trips and 100 ms
		t.Errorf("a request that never waits takes %.4f s, want 104 ms", got)
	}
}
