package calibrate

import (
	"testing"

	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
)

func FuzzRead(f *testing.F) {
	head := calibration.Head{Case: Case, Schema: Schema}
	calibrationtest.Fuzz(f, func(c Calibration) { _ = c.Params() },
		Calibration{Head: head, Answers: Answers{Build: 1000, Spread: 1.5}, Way: Way{First: 5, BytesPerSec: 1e9}},
		Calibration{Head: head, Answers: Answers{Build: 1 << 62, JSON: -1, Spread: 1e300}, Way: Way{First: 5, BytesPerSec: -1}},
	)
}
