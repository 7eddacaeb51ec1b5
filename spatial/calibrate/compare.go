package calibrate

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/calibration"
	"latlab.example/spatial"
	"latlab.example/spatial/model"
)

// visits of each prediction.
const visits = 3

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

// Compare measures the mean response of the loads of Setups on the server that cfg
// reaches, and predicts each. It takes four minutes.
func Compare(ctx context.Context, c Calibration, cfg *pgxpool.Config) ([]calibration.Residual, error) {
	var all []calibration.Prediction
	for _, s := range Setups() {
		p, err := c.Predict(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, calibration.Prediction{
			What:      fmt.Sprintf("users=%d think=%v pool=%d hold=%s %v", s.Users, s.Think, s.Pool, s.Hold, s.HoldFor),
			Predicted: p,
			Measure: func(ctx context.Context, visit int) (time.Duration, error) {
				return measure(ctx, cfg, s, uint64(visit))
			},
		})
	}
	return calibration.Compare(ctx, visits, all)
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
