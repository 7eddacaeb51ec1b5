package study_test

import (
	"testing"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/lab/labtest"
	"latlab.example/rawblock"
	"latlab.example/rawblock/calibrate"
	"latlab.example/rawblock/study"
)

// A calibration makes a sound rig of putmany, on which a batch is fast by ring
// and the loop without one.
func TestCalibratedRig(t *testing.T) {
	c := calibrate.Calibration{
		Head: calibration.Head{Case: calibrate.Case, Schema: calibrate.Schema, Host: host.Fingerprint{OS: "linux", GOMAXPROCS: 2}}, Engine: rawblock.IOUring, Layout: rawblock.Aligned, Block: 4096,
		Fits: map[calibrate.Path]calibrate.Device{
			calibrate.Call: {PerWrite: 10 * time.Microsecond, Service: 100 * time.Microsecond, Channels: 4, BytesPerSec: 1e9, Cores: 2},
			calibrate.Ring: {PerWrite: 10 * time.Microsecond, Service: 100 * time.Microsecond, Channels: 32, BytesPerSec: 1e9, Cores: 1},
		},
		CPU: []calibrate.Cost{{Payload: 4096, Loop: 2 * time.Microsecond, Batch: 2 * time.Microsecond, Dispatch: time.Microsecond}},
	}
	e := study.PutMany
	e.Rigs = []lab.Rig{study.Calibrated(c)}
	labtest.Check(t, e)
	arms, err := e.Arms(e.Rigs[0], lab.Selection{Cross: []string{"strategy", "engine"}})
	if err != nil {
		t.Fatal(err)
	}
	took := make(map[string]float64)
	for _, a := range arms {
		s, err := e.Open(t.Context(), e.Rigs[0], a, host.Fingerprint{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(t.Context(), lab.Plan{N: 1})
		if err != nil {
			t.Fatal(err)
		}
		strategy, _ := a.Level("strategy")
		engine, _ := a.Level("engine")
		took[strategy+" "+engine], _ = res.Value(lab.SecPerOp)
	}
	if ring, loop := took["batch io_uring"], took["sequential io_uring"]; ring > 0.2*loop {
		t.Errorf("a batch takes %v s, the loop %v", ring, loop)
	}
	if batch, loop := took["batch posix"], took["sequential posix"]; batch != loop {
		t.Errorf("without a ring a batch takes %v s, the loop %v", batch, loop)
	}
}
