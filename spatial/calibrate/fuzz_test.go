package calibrate

import (
	"testing"

	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
)

func FuzzRead(f *testing.F) {
	head := calibration.Head{Case: Case, Schema: Schema}
	calibrationtest.Fuzz(f, func(c Calibration) { _ = c.Params() },
		Calibration{Head: head, Fit: Fit{Work: 1000, Cores: 2, Spread: 1.5}},
		Calibration{Head: head, Fit: Fit{Work: 1 << 62, Wait: -1, Cores: 1 << 40, Spread: 1e300}},
	)
}
