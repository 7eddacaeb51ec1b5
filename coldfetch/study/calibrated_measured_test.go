//go:build !race

package study

import (
	"math"
	"testing"
	"time"

	fitted "latlab.example/coldfetch/calibrate"
	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
)

// BenchmarkMeasuredPrediction calibrates on a real store, predicts users of three
// modes and pulls, and measures them. It prints fit and residuals, whatever they are.
func BenchmarkMeasuredPrediction(b *testing.B) {
	calibrationtest.Measure(b, Calibrate, Compare)
}

// The calibrated model is a rig of loop-blocking.
func TestCalibratedRig(t *testing.T) {
	c := fitted.Calibration{
		Head: calibration.Head{Case: fitted.Case, Schema: fitted.Schema, Host: host.Fingerprint{OS: "linux", GOMAXPROCS: 2}}, Store: "a store", Way: fitted.Way{First: time.Millisecond, BytesPerSec: 1e9},
		Answers: fitted.Answers{Nodes: 600, Build: 60 * time.Millisecond, Spread: 1, JSON: 2 * time.Millisecond},
	}
	e := LoopBlocking
	e.Rigs = []lab.Rig{Calibrated(c)}
	labtest.Check(t, e)
	arms, err := e.Arms(e.Rigs[0], lab.Selection{Set: map[string][]string{"mode": {"goroutines"}, "concurrency": {"1"}, "cache": {"0"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := inModel(t, e, arms[0], 1).Value(lab.SecPerOp); !ok || math.Abs(got-0.062) > 0.005 { // health and listing beside it
		t.Errorf("a build and its text take %.4f s, want 62 ms", got)
	}
}
