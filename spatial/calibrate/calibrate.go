package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/host"
	"latlab.example/common/sim"
	"latlab.example/common/sim/param"
	"latlab.example/spatial/model"
)

// Schema is the version of the JSON form.
const Schema = 1

// Calibration is what was measured and fitted on one host and server.
type Calibration struct {
	Schema int              `json:"schema"`
	Host   host.Fingerprint `json:"host"`   // of the client
	Server string           `json:"server"` // its version
	Curve  []Point          `json:"curve"`
	Fit    Fit              `json:"fit"`
}

// ErrCalibration occurs when a calibration can't be read, or isn't of this host.
var ErrCalibration = errors.New("no calibration for this")

// Run calibrates on the server that cfg reaches, which holds the data. It writes
// nothing there. It takes about a minute.
func Run(ctx context.Context, cfg *pgxpool.Config, h host.Fingerprint) (Calibration, error) {
	c := Calibration{Schema: Schema, Host: h}
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

// Write writes the calibration as JSON.
func (c Calibration) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// Read reads what Write wrote. The error wraps ErrCalibration.
func Read(r io.Reader) (Calibration, error) {
	var c Calibration
	if err := json.NewDecoder(io.LimitReader(r, maxFile)).Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCalibration, err)
	}
	if c.Schema != Schema || c.Fit.Work <= 0 || c.Fit.Cores < 1 || c.Fit.Spread < 1 {
		return c, fmt.Errorf("%w: schema %d, %v of work on %d cores; this program writes schema %d: calibrate anew", ErrCalibration, c.Schema, c.Fit.Work, c.Fit.Cores, Schema)
	}
	// What no calibration gives, since the file may be a stranger's.
	if c.Fit.Work > time.Hour || c.Fit.Wait < 0 || c.Fit.Wait > time.Hour || c.Fit.Cores > 1<<16 || c.Fit.Spread > 1000 {
		return c, fmt.Errorf("%w: the fit can't be: %+v", ErrCalibration, c.Fit)
	}
	return c, nil
}

const maxFile = 8 << 20 // bytes; what Write writes is some kilobytes

// For says whether the calibration is of that host. The error wraps ErrCalibration
// and names both.
func (c Calibration) For(h host.Fingerprint) error {
	if c.Host.Place() == h.Place() {
		return nil
	}
	return fmt.Errorf("%w: it is of %s, and this is %s", ErrCalibration, c.Host.Place(), h.Place())
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
