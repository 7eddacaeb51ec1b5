//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"os"

	"latlab.example/coldfetch/app"
	fitted "latlab.example/coldfetch/calibrate"
	"latlab.example/coldfetch/store"
	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
)

// onTarget opens a place in a real store, seeded, and a folder for files, and runs f
// with them. The error is a lab.Unavailable if there is no store.
func onTarget(ctx context.Context, f func(fitted.Target, host.Fingerprint) error) (err error) {
	if err := store.Probe(ctx); err != nil {
		return err
	}
	d, err := openRealDepot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	c, tr, err := app.Client(d.account, nil)
	if err != nil {
		return err
	}
	defer tr.CloseIdleConnections()
	dir, err := realDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base, err := lab.RealDir() // dir has another name each time
	if err != nil {
		return err
	}
	h, err := host.Read(ctx, base)
	if err != nil {
		return err
	}
	name := "versitygw " + store.Version
	if a, ok, err := store.FromEnv(); err == nil && ok {
		name = a.Endpoint
	}
	return f(fitted.Target{Client: c, Bucket: d.bucket, Prefix: d.prefix, Dir: dir, Name: name}, h)
}

// Calibrate fits the model to this host and the real store: see package
// calibrate. It takes some ten seconds. The error is a lab.Unavailable if there is no
// store.
func Calibrate(ctx context.Context) (c fitted.Calibration, err error) {
	err = onTarget(ctx, func(t fitted.Target, h host.Fingerprint) error {
		c, err = fitted.Run(ctx, t, h)
		return err
	})
	return c, err
}

// Compare is the calibration with what it predicts beside what was measured, on the
// same store. It takes two minutes.
func Compare(ctx context.Context, c fitted.Calibration) (fitted.Calibration, error) {
	err := onTarget(ctx, func(t fitted.Target, _ host.Fingerprint) (err error) {
		c.Residuals, err = fitted.Compare(ctx, c, t)
		return err
	})
	return c, err
}

// Calibrated is the model of the host and store that the calibration is of, for
// experiment LoopBlocking.
func Calibrated(c fitted.Calibration) lab.Rig {
	assume := []string{
		fmt.Sprintf("host %s, its disk, its store %s, and the work of a request there are as they were calibrated", c.Host.Place(), c.Store),
		"users, proxy and service share the cores",
	}
	return lab.Model("calibrated", assume, c.Params(), func(_ context.Context, a lab.Arm, t param.Table) (lab.Subject, error) {
		return virtual{setup: crowdSetup(a), params: t, units: wallOutcomes}, nil
	})
}
