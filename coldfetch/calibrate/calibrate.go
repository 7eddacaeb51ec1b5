package calibrate

import (
	"context"
	"fmt"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/model"
	"latlab.example/common/calibration"
	"latlab.example/common/host"
	"latlab.example/common/sim/param"
)

// Schema is the version of the JSON form.
const Schema = 1

// Calibration is what was measured and fitted on one host and store.
type Calibration struct {
	calibration.Head
	Store   string  `json:"store"`
	Pulls   []Pull  `json:"pulls"`
	Way     Way     `json:"way"`
	Answers Answers `json:"answers"`
}

// Case is the name of the case.
const Case = "coldfetch"

// Run calibrates on a target. h is the host's fingerprint, with the path of the
// target's folder. It takes some ten seconds.
func Run(ctx context.Context, t Target, h host.Fingerprint) (Calibration, error) {
	c := Calibration{Head: calibration.Head{Case: Case, Schema: Schema, Host: h}, Store: t.Name}
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

// Check refuses what no calibration gives: see calibration.Fitted.
func (c Calibration) Check() error {
	if err := c.Expect(Case, Schema); err != nil {
		return err
	}
	const long = time.Hour
	if a := c.Answers; a.Build <= 0 || min(a.JSON, a.Locate, a.Rest) < 0 || max(a.Build, a.JSON, a.Locate, a.Rest) > long || a.Spread < 1 || a.Spread > 1000 {
		return calibration.Refuse("the answers can't be: %+v", a)
	}
	if c.Way.First <= 0 || c.Way.First > long || c.Way.BytesPerSec < 0 {
		return calibration.Refuse("the way to the store can't be: %+v", c.Way)
	}
	return nil
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
