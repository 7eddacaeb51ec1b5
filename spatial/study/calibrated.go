//go:build !js

package study

import (
	"context"
	"fmt"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	fitted "latlab.example/spatial/calibrate"
)

// Calibrate fits the model to the real server and this host: see package
// calibrate. It takes about a minute. The error is a lab.Unavailable if there is no
// such server.
func Calibrate(ctx context.Context) (c fitted.Calibration, err error) {
	if err := probe(ctx); err != nil {
		return c, err
	}
	h, err := host.Read(ctx)
	if err != nil {
		return c, err
	}
	tg, err := realTarget()
	if err != nil {
		return c, err
	}
	return fitted.Run(ctx, tg.pool, h)
}

// Compare is the calibration with what it predicts beside what was measured, on the
// same server. It takes three minutes.
func Compare(ctx context.Context, c fitted.Calibration) (fitted.Calibration, error) {
	tg, err := realTarget()
	if err != nil {
		return c, err
	}
	c.Residuals, err = fitted.Compare(ctx, c, tg.pool)
	return c, err
}

// Calibrated is the model of the host and server that the calibration is of, for
// experiment PoolSize.
func Calibrated(c fitted.Calibration) lab.Rig {
	assume := []string{
		fmt.Sprintf("host %s, its PostgreSQL %s, and the work of a request on them are as they were calibrated", c.Host.Place(), c.Server),
		"client and server share the cores",
	}
	return lab.Model("calibrated", assume, c.Params(), openModel)
}
