package calibrate

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/host"
	"latlab.example/spatial"
	"latlab.example/spatial/model"
)

// Residual is what the model predicts for a load, beside what it took.
type Residual struct {
	Setup     model.Setup   `json:"setup"`
	Predicted time.Duration `json:"predicted_ns"` // mean response
	Measured  time.Duration `json:"measured_ns"`  // likewise: the lower of two visits
	Higher    time.Duration `json:"higher_ns"`    // of the two
	// Others is how many cores other processes used in that visit, a database on
	// this host among them.
	Others float64 `json:"others_cores"`
}

// Off is (predicted-measured)/measured.
func (r Residual) Off() float64 { return float64(r.Predicted)/float64(r.Measured) - 1 }

// Bar is how far off a prediction may be.
const Bar = 0.25

// visits of each row, in turn, so that a disturbance of the host hits all.
const visits = 2

// Setups are the loads that Compare looks at: pools under, at and over the knee of
// connections that are held for what is no CPU, and pools around the number of
// cores, with nothing but work.
func Setups() []model.Setup {
	var all []model.Setup
	for _, pool := range []int{5, 10, 15, 30} {
		all = append(all, model.Setup{Users: 150, Think: 1500 * time.Millisecond, Pool: pool, Hold: spatial.HoldSleep, HoldFor: 100 * time.Millisecond})
	}
	for _, pool := range []int{2, 10} {
		all = append(all, model.Setup{Users: 16, Think: 10 * time.Millisecond, Pool: pool, Hold: spatial.HoldNone})
	}
	return all
}

// Compare measures the loads of Setups on the server that cfg reaches, and predicts
// each. It takes some minutes.
func Compare(ctx context.Context, c Calibration, cfg *pgxpool.Config) ([]Residual, error) {
	var rows []Residual
	for _, s := range Setups() {
		p, err := c.Predict(ctx, s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Residual{Setup: s, Predicted: p})
	}
	for visit := range visits {
		for i := range rows {
			noise := host.StartNoise()
			took, err := measure(ctx, cfg, rows[i].Setup, uint64(visit))
			if err != nil {
				return nil, fmt.Errorf("calibrate: %d users of %d connections: %w", rows[i].Setup.Users, rows[i].Setup.Pool, err)
			}
			r := &rows[i]
			r.Higher = max(r.Higher, took)
			if r.Measured == 0 || took < r.Measured {
				r.Measured, r.Others = took, noise.Stop().ForeignCPU
			}
		}
	}
	return rows, nil
}

func measure(ctx context.Context, cfg *pgxpool.Config, s model.Setup, seed uint64) (time.Duration, error) {
	c, err := open(ctx, cfg, spatial.Options{PoolSize: s.Pool, Hold: s.Hold, HoldFor: s.HoldFor})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	p, err := c.run(ctx, s.Users, s.Think, comparePace, seed)
	return p.Response, err
}

// WriteResiduals writes a row a prediction, and how many are within Bar. It
// returns the error of w.
func WriteResiduals(w io.Writer, rows []Residual) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "users\tthink\tpool\thold\tpredicted\tmeasured\thigher\tothers\tresidual\t")
	within := 0
	for _, r := range rows {
		hold := string(r.Setup.Hold)
		if r.Setup.Hold == spatial.HoldSleep {
			hold = r.Setup.HoldFor.String()
		}
		fmt.Fprintf(tab, "%d\t%v\t%d\t%s\t%s\t%s\t%s\t%.1f\t%+.0f%%\t\n", r.Setup.Users, r.Setup.Think, r.Setup.Pool, hold, ms(r.Predicted), ms(r.Measured), ms(r.Higher), r.Others, 100*r.Off())
		if math.Abs(r.Off()) <= Bar {
			within++
		}
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d predictions are within %.0f %%; others is the cores that other processes used, the database among them\n", within, len(rows), 100*Bar)
	return err
}
