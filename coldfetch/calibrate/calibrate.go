package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/model"
	"latlab.example/common/host"
	"latlab.example/common/sim/param"
)

// Schema is the version of the JSON form.
const Schema = 1

// Calibration is what was measured and fitted on one host and store.
type Calibration struct {
	Schema  int              `json:"schema"`
	Host    host.Fingerprint `json:"host"` // with the path that pulled files lie on
	Store   string           `json:"store"`
	Pulls   []Pull           `json:"pulls"`
	Way     Way              `json:"way"`
	Answers Answers          `json:"answers"`
}

// ErrCalibration occurs when a calibration can't be read, or isn't of this host.
var ErrCalibration = errors.New("no calibration for this")

// Run calibrates on a target. h is the host's fingerprint, with the path of the
// target's folder. It takes some ten seconds.
func Run(ctx context.Context, t Target, h host.Fingerprint) (Calibration, error) {
	c := Calibration{Schema: Schema, Host: h, Store: t.Name}
	var err error
	if c.Pulls, err = MeasurePulls(ctx, t, Sizes); err != nil {
		return c, err
	}
	if c.Way, err = FitPulls(c.Pulls); err != nil {
		return c, err
	}
	c.Answers, err = MeasureAnswers(ctx, t, coldfetch.DefaultNodes)
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
	if c.Schema != Schema || c.Answers.Build <= 0 || c.Answers.Spread < 1 || c.Way.First <= 0 {
		return c, fmt.Errorf("%w: schema %d, a build of %v, a pull of %v; this program writes schema %d: calibrate anew", ErrCalibration, c.Schema, c.Answers.Build, c.Way.First, Schema)
	}
	// What no calibration gives, since the file may be a stranger's.
	const long = time.Hour
	a := c.Answers
	if min(a.JSON, a.Locate, a.Rest) < 0 || max(a.Build, a.JSON, a.Locate, a.Rest, c.Way.First) > long || a.Spread > 1000 ||
		c.Way.BytesPerSec < 0 || c.Host.GOMAXPROCS > 1<<16 {
		return c, fmt.Errorf("%w: these can't be: %+v, %+v, %d processors", ErrCalibration, a, c.Way, c.Host.GOMAXPROCS)
	}
	return c, nil
}

const maxFile = 8 << 20 // bytes; what Write writes is some kilobytes

// For says whether the calibration is of that host and disk. The error wraps
// ErrCalibration and names both.
func (c Calibration) For(h host.Fingerprint) error {
	if c.Host.Place() == h.Place() {
		return nil
	}
	return fmt.Errorf("%w: it is of %s, and this is %s", ErrCalibration, c.Host.Place(), h.Place())
}

// Params are the model's parameters on the calibrated host and store. What has no
// stage is HTTP and the proxy, beside the handler; users don't think.
func (c Calibration) Params() param.Table {
	on := param.Calibrated(fmt.Sprintf("host %s, store %s", c.Host.Place(), c.Store))
	t := model.Study()
	for _, p := range []struct {
		name  string
		value int64
	}{
		{model.Build, int64(c.Answers.Build)},
		{model.Spread, max(int64(c.Answers.Spread*1e6), 1_000_000)},
		{model.JSON, int64(c.Answers.JSON)},
		{model.Locate, int64(c.Answers.Locate)},
		{model.MissRest, 0},
		{model.HitRest, 0},
		{model.Proxy, int64(c.Answers.Rest)},
		{model.Transfer, 0},
		{model.Think, 0},
		{model.PullFirst, int64(c.Way.First)},
		{model.PullRate, c.Way.BytesPerSec},
	} {
		t = t.Replace(p.name, p.value, on)
	}
	return t
}

// Cores are those of the calibrated host that the service may use.
func (c Calibration) Cores() int { return max(c.Host.GOMAXPROCS, 1) }

// predictWindow is the virtual time of a prediction.
const predictWindow = 120 * time.Second

// Predict is the mean response time on the calibrated host, of users who ask for
// documents without thinking.
func (c Calibration) Predict(ctx context.Context, mode coldfetch.Mode, users, cache int) (time.Duration, error) {
	f, err := model.Run(ctx, model.Setup{Mode: mode, Users: users, Cores: c.Cores(), Cache: cache, Warm: true, Alone: true}, c.Params(), 1, predictWindow, nil)
	return time.Duration(f.Response.Mean()), err
}
