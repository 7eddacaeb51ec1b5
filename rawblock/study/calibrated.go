package study

import (
	"context"
	"errors"
	"fmt"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
	fitted "latlab.example/rawblock/calibrate"
	"latlab.example/rawblock/uring"
)

// calibrationSize is the size of the file that is calibrated on.
const calibrationSize = 128 << 20

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
func Calibrate(ctx context.Context) (c fitted.Calibration, err error) {
	if err := probeFile(ctx); err != nil {
		return c, err
	}
	dir, err := lab.RealDir()
	if err != nil {
		return c, err
	}
	h, err := host.Read(ctx, dir)
	if err != nil {
		return c, err
	}
	dev, err := openCalibrated(ctx, calibrationSize)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	return fitted.Run(ctx, dev, calibratedEngine(), h)
}

// Residuals measures what the calibration predicts, on files in the same folder.
// It takes about half a minute.
func Residuals(ctx context.Context, c fitted.Calibration) ([]fitted.Residual, error) {
	return fitted.Compare(ctx, c, openCalibrated)
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
