package calibrate

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/common/calibration"
)

const (
	visits = 3 // of each prediction
	window = 5 * time.Second
	kept   = 2 // built documents in the cache
)

// Compare measures users of three modes, with a cache that keeps two of six
// documents, and pulls of the sizes in Between, and predicts each: mean response,
// or a pull's time. It takes two minutes.
func Compare(ctx context.Context, c Calibration, t Target) ([]calibration.Residual, error) {
	var all []calibration.Prediction
	for _, m := range []coldfetch.Mode{coldfetch.Loop, coldfetch.Goroutines, coldfetch.Bounded} {
		for _, users := range []int{1, 4, 10} {
			p, err := c.Predict(ctx, m, users, kept)
			if err != nil {
				return nil, err
			}
			all = append(all, calibration.Prediction{
				What:      fmt.Sprintf("mode=%s users=%d", m, users),
				Predicted: p,
				Measure: func(ctx context.Context, visit int) (time.Duration, error) {
					got, err := serve(ctx, t, stack{mode: m, cache: kept, nodes: c.Answers.Nodes}, users, window, uint64(visit), nil)
					return got.mean, err
				},
			})
		}
	}
	for _, n := range Between {
		all = append(all, calibration.Prediction{
			What:      fmt.Sprintf("pull bytes=%d", n),
			Predicted: c.Way.Time(n),
			Measure: func(ctx context.Context, _ int) (time.Duration, error) {
				got, err := MeasurePulls(ctx, t, []int{n})
				if err != nil {
					return 0, err
				}
				return got[0].Took, nil
			},
		})
	}
	return calibration.Compare(ctx, visits, all)
}

// WriteFit writes what was measured alone: a row a pull, and a line of the answers.
func (c Calibration) WriteFit(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "bytes\tmeasured\tfitted\tresidual\t")
	for _, p := range c.Pulls {
		fitted := c.Way.Time(p.Bytes)
		fmt.Fprintf(tab, "%d\t%s\t%s\t%+.0f%%\t\n", p.Bytes, calibration.Millis(p.Took), calibration.Millis(fitted), 100*(float64(fitted)/float64(p.Took)-1))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	a := c.Answers
	_, err := fmt.Fprintf(w, "a build takes %s (p95 %.2f times that), text %s, a look at the file %s, the rest of a request %s\n",
		calibration.Millis(a.Build), a.Spread, calibration.Millis(a.JSON), calibration.Millis(a.Locate), calibration.Millis(a.Rest))
	return err
}
