package model

import (
	"context"
	"math"
	"time"

	"latlab.example/common/sim/param"
)

// Row is a published figure that a parameter is fitted to.
type Row struct {
	ID    string
	Value float64
	Param string
	Load  Load
	// Of is the model's figure for it.
	Of func(Figures) float64
}

// study is the study's load: ten users, nine sets of 200 keys, all layers.
func study(lock Lock, client Client, mode Mode) Load {
	return Load{Lock: lock, Mode: mode, Client: client, Layer: C, Users: 10, Sets: 9, Batch: 200}
}

// Rows are the five that Calibrate fits, one for each parameter, in the order in
// which they are fitted.
func Rows() []Row {
	return []Row{
		{"aero.reqs.free.async", 80, WorkShare, study(Free, Async, Single), Figures.PerSec},
		{"aero.inference.gil", 43.5, InferenceParts, study(Held, Async, Single), func(f Figures) float64 { return float64(f.Inference) / 1e6 }},
		{"aero.k6.async.single.avg", 126, InferenceLock, study(Held, Async, Single), Figures.Mean},
		{"aero.k6.async.gather.avg", 189, HandOver, study(Held, Async, Gather), Figures.Mean},
		{"aero.k6.official.single.avg", 188, Eager, study(Held, Official, Single), Figures.Mean},
	}
}

// fitWindow is long enough for a mean that another seed moves by about 1 %.
const fitWindow = 10 * time.Second

// Fit is what a calibration came to for one row.
type Fit struct {
	Row
	Got float64
}

// Calibrate fits the calibrated parameters of t to Rows by bisection within their
// ranges, one after the other, in so many rounds, since each moves the others'
// rows; six rounds settle from any start. A row that no value within the range
// gives leaves its parameter at an end of it.
func Calibrate(ctx context.Context, t param.Table, rounds int) (param.Table, []Fit, error) {
	for range rounds {
		for _, r := range Rows() {
			var err error
			if t, err = fitOne(ctx, t, r); err != nil {
				return t, nil, err
			}
		}
	}
	fits, err := Fits(ctx, t)
	return t, fits, err
}

// Fits is how well the parameters give the rows that they were fitted to.
func Fits(ctx context.Context, t param.Table) ([]Fit, error) {
	var fits []Fit
	for _, r := range Rows() {
		f, err := Run(ctx, r.Load, t, 1, fitWindow, nil)
		if err != nil {
			return nil, err
		}
		fits = append(fits, Fit{r, r.Of(f)})
	}
	return fits, nil
}

// fitOne sets the row's parameter to the value that comes closest to its figure.
func fitOne(ctx context.Context, t param.Table, r Row) (param.Table, error) {
	p, err := t.Get(r.Param)
	if err != nil {
		return t, err
	}
	at := func(v int64) (param.Table, float64, error) {
		changed := t.Replace(r.Param, v, p.Source)
		f, err := Run(ctx, r.Load, changed, 1, fitWindow, nil)
		return changed, r.Of(f), err
	}
	lo, hi := p.Lo, p.Hi
	_, low, err := at(lo)
	if err != nil {
		return t, err
	}
	_, high, err := at(hi)
	if err != nil {
		return t, err
	}
	rising := high > low
	for hi-lo > max(1, (p.Hi-p.Lo)/1000) {
		mid := lo + (hi-lo)/2
		_, got, err := at(mid)
		if err != nil {
			return t, err
		}
		if (got < r.Value) == rising {
			lo, low = mid, got
		} else {
			hi, high = mid, got
		}
	}
	best := lo
	if math.Abs(high-r.Value) < math.Abs(low-r.Value) {
		best = hi
	}
	return t.Replace(r.Param, best, p.Source), nil
}
