package model

import (
	"context"
	"math"
	"time"

	"latlab.example/common/sim/param"
	"latlab.example/spatial"
)

// The load that the study's rows agree on: 71 to 75 users who think for 1.5 to
// 1.6 s. 150 were said to be there.
const (
	active = 73
	think  = 1550 * time.Millisecond
)

// study is that load on a pool, in a steady state.
func study(pool int) Setup { return Setup{Users: active, Think: think, Pool: pool} }

// logged has a line a row written while the connection is held.
func logged(s Setup) Setup {
	s.Log, s.LogPlace = spatial.LogRows, spatial.LogHeld
	return s
}

// ramped has the study's 150 users come and go, which is 75 in the mean.
func ramped(s Setup) Setup {
	s.Users, s.Approach = 150, Triangle
	return s
}

func spinning(s Setup) Setup {
	s.Acquire = spatial.Spin
	return s
}

const (
	steadyWindow = 60 * time.Second
	rampWindow   = 300 * time.Second // as the study's runs lasted
)

// publishedMean is spatial.log.avg in milliseconds.
const publishedMean = 1393

// Calibrate fits the log sink's time a line to the published mean of the run that
// logged rows, by bisection within the parameter's range, and gives the mean that
// the model has with it in milliseconds.
func Calibrate(ctx context.Context, t param.Table) (param.Table, float64, error) {
	p, err := t.Get(Line)
	if err != nil {
		return t, 0, err
	}
	lo, hi, got := p.Lo, p.Hi, 0.0
	for hi-lo > microsecond {
		mid := lo + (hi-lo)/2
		f, err := Run(ctx, logged(study(10)), t.Replace(Line, mid, p.Source), 1, steadyWindow, nil)
		if err != nil {
			return t, 0, err
		}
		if got = f.Mean(); got < publishedMean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return t.Replace(Line, lo, p.Source), math.Round(got), nil
}
