package calibrate

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/calibration"
	"latlab.example/common/host"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
	"latlab.example/spatial/model"
)

// Schema is the version of the JSON form.
const Schema = 1

// Calibration is what was measured and fitted on one host and server.
type Calibration struct {
	calibration.Head         // the client's host
	Server           string  `json:"server"` // its version
	Curve            []Point `json:"curve"`
	Fit              Fit     `json:"fit"`
}

// Case is the name of the case.
const Case = "spatial"

// Run calibrates on the server that cfg reaches, which holds the data. It writes
// nothing there. It takes about a minute.
func Run(ctx context.Context, cfg *pgxpool.Config, h host.Fingerprint) (Calibration, error) {
	c := Calibration{Head: calibration.Head{Case: Case, Schema: Schema, Host: h}}
	var err error
	if c.Server, err = Version(ctx, cfg); err != nil {
		return c, err
	}
	if c.Curve, err = Measure(ctx, cfg); err != nil {
		return c, err
	}
	c.Fit, err = FitCurve(c.Curve)
	return c, err
}

// Check refuses what no calibration gives: see calibration.Fitted.
func (c Calibration) Check() error {
	if err := c.Expect(Case, Schema); err != nil {
		return err
	}
	if f := c.Fit; f.Work <= 0 || f.Work > time.Hour || f.Wait < 0 || f.Wait > time.Hour || f.Cores < 1 || f.Cores > 1<<16 || f.Spread < 1 || f.Spread > 1000 {
		return calibration.Refuse("the fit can't be: %+v", f)
	}
	return nil
}

// Params are the model's parameters on the calibrated host and server.
func (c Calibration) Params() param.Table {
	on := param.Calibrated(fmt.Sprintf("host %s, PostgreSQL %s", c.Host.Place(), c.Server))
	spread := max(int64(c.Fit.Spread*1e6), 1_000_000)
	t := model.Study()
	for _, p := range []struct {
		name  string
		value int64
	}{
		{model.Service, int64(median(c.Fit.Work, c.Fit.Spread))},
		{model.Spread, spread},
		{model.CPUShare, 1_000_000},
		{model.RoundTrip, int64(c.Fit.Wait)},
		{model.Cores, int64(c.Fit.Cores)},
		{model.OneHost, 1},
	} {
		t = t.Replace(p.name, p.value, on)
	}
	return t
}

// median is that of a log-normal with this mean, and p95 so many times the median.
func median(mean time.Duration, spread float64) time.Duration {
	const scale = time.Second
	of := sim.LogNormal(scale, max(time.Duration(spread*float64(scale)), scale)).Mean()
	return max(time.Duration(float64(mean)*float64(scale)/float64(of)), 1)
}

// predictWindow is the virtual time of a prediction.
const predictWindow = 300 * time.Second

// Predict is the mean response time on the calibrated host.
func (c Calibration) Predict(ctx context.Context, s model.Setup) (time.Duration, error) {
	f, err := model.Run(ctx, s, c.Params(), 1, predictWindow, nil)
	return time.Duration(f.Response.Mean()), err
}
