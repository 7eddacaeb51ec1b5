package calibrate

import (
	"testing"

	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/rawblock"
)

func FuzzRead(f *testing.F) {
	head := calibration.Head{Case: Case, Schema: Schema}
	use := func(c Calibration) {
		for _, s := range rawblock.StrategyToggle.Levels() {
			_ = c.Params(s, 4096)
			_ = c.Setup(s, 100, 4096)
		}
	}
	calibrationtest.Fuzz(f, use,
		Calibration{Head: head, Fits: map[Path]Device{Call: {Channels: 4, Service: 1000}}, CPU: []Cost{{Payload: 4096, Loop: 10, Batch: 10}}},
		Calibration{Head: head, Fits: map[Path]Device{Call: {Channels: 4, PerWrite: -5}}, CPU: []Cost{{Payload: 4096, Loop: 10, Batch: 10}}},
		Calibration{Head: head, Fits: map[Path]Device{Ring: {Channels: 1 << 40}, Call: {Channels: 1}}, CPU: []Cost{{Payload: -4096, Dispatch: -1}}},
	)
}
