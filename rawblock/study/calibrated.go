package study

import (
	"context"
	"fmt"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
	fitted "latlab.example/rawblock/calibrate"
	"latlab.example/rawblock/uring"
)

// openCalibrated opens a nameless file of that size for calibrations, through io_uring
// unless this build or host hasn't got it.
func openCalibrated(_ context.Context, size int64) (rawblock.Device, error) {
	f, err := tempFile(size)
	if err != nil {
		return nil, err
	}
	if calibratedEngine() == rawblock.Posix {
		return f, nil
	}
	return uring.New(f, uring.Options{})
}

// calibratedEngine is io_uring, unless this build or host hasn't got it.
func calibratedEngine() rawblock.Engine {
	if err := uring.Probe(); err != nil {
		return rawblock.Posix
	}
	return rawblock.IOUring
}

// Calibrate fits the model to a file in the folder for real files: see package
// calibrate. It takes some ten seconds and writes a few GB. The error is a
// lab.Unavailable if there can't be such a file.
func Calibrate(ctx context.Context) (fitted.Calibration, error) {
	if err := probeFile(ctx); err != nil {
		return fitted.Calibration{}, err
	}
	dir, err := lab.RealDir()
	if err != nil {
		return fitted.Calibration{}, err
	}
	h, err := host.Read(ctx, dir)
	if err != nil {
		return fitted.Calibration{}, err
	}
	return fitted.Run(ctx, openCalibrated, calibratedEngine(), h)
}

// Compare is the calibration with what it predicts beside what was measured, on
// files in the same folder. It takes about half a minute.
func Compare(ctx context.Context, c fitted.Calibration) (fitted.Calibration, error) {
	var err error
	c.Residuals, err = fitted.Compare(ctx, c, openCalibrated)
	return c, err
}

// Calibrated is putmany's model of the host that the calibration is of: the
// device is the fitted one, on the path that the arm's strategy takes.
func Calibrated(c fitted.Calibration) lab.Rig {
	assume := []string{
		fmt.Sprintf("host %s, its disk, and the store's work on it are as they were calibrated, through %s", c.Host.Place(), c.Engine),
		"no two writes merge, so placement changes nothing, and a batch of layout split pays for its headers",
		"a flush costs nothing",
	}
	return lab.Model("calibrated", assume, c.Table(), func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
		c := c.Varied(t)
		s := setup(a, "", 0, 0)
		on := c.Setup(s.Strategy, s.Keys, s.Payload)
		s.Device, s.Channels, s.Latency = on.Device, on.Channels, on.Latency
		s.Batches = s.Batches && on.Batches
		if s.Strategy == rawblock.Batch && !s.Batches { // the old loop, whose writes are calls
			s.Strategy = rawblock.Sequential
			on = c.Setup(s.Strategy, s.Keys, s.Payload)
			s.Channels, s.Latency = on.Channels, on.Latency
		}
		return virtual{s, c.Params(s.Strategy, s.Payload), writeMany, nil}, nil
	})
}
