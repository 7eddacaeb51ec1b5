package calibrate

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"latlab.example/rawblock"
)

// Residual is what the model predicts for a PutMany, beside what it took.
type Residual struct {
	Strategy  rawblock.Strategy `json:"strategy"`
	Keys      int               `json:"keys"`
	Payload   int               `json:"payload"`
	Predicted time.Duration     `json:"predicted_ns"`
	Measured  time.Duration     `json:"measured_ns"` // the lower quartile, as in the curve
	Median    time.Duration     `json:"median_ns"`
}

// Off is (predicted-measured)/measured.
func (r Residual) Off() float64 { return float64(r.Predicted)/float64(r.Measured) - 1 }

// Bar is how far off a prediction may be.
const Bar = 0.25

// Open opens the device anew for a store of so many bytes. Its content is
// overwritten.
type Open func(ctx context.Context, size int64) (rawblock.Device, error)

const (
	visits = 5 // of each row, in turn, so that a disturbance of the host hits all
	puts   = 5 // a visit
)

// Compare measures sequential, pool and batch with 100 and 1000 keys of each
// payload of the calibration, on the layout that it is of, and predicts each.
func Compare(ctx context.Context, c Calibration, open Open) ([]Residual, error) {
	var rows []Residual
	for _, n := range Payloads {
		for _, keys := range []int{100, 1000} {
			for _, s := range []rawblock.Strategy{rawblock.Sequential, rawblock.Pool, rawblock.Batch} {
				p, err := c.Predict(ctx, s, keys, int64(n))
				if err != nil {
					return nil, err
				}
				rows = append(rows, Residual{Strategy: s, Keys: keys, Payload: n, Predicted: p})
			}
		}
	}
	seen := make([][]time.Duration, len(rows))
	for range visits {
		for i, r := range rows {
			dev, err := open(ctx, rawblock.SizeFor(room(r, c), r.Payload, c.Layout, c.Block))
			if err != nil {
				return nil, err
			}
			times, err := Times(ctx, dev, r.Strategy, c.Layout, r.Keys, r.Payload, puts)
			if err != nil {
				return nil, fmt.Errorf("calibrate: %s, %d keys of %d bytes: %w", r.Strategy, r.Keys, r.Payload, err)
			}
			seen[i] = append(seen[i], times...)
		}
	}
	for i := range rows {
		slices.Sort(seen[i])
		n := len(seen[i])
		rows[i].Measured, rows[i].Median = seen[i][n/4], seen[i][n/2]
	}
	return rows, nil
}

// room is the number of slots: eight a key, so that scattered slots rarely touch,
// unless that is more than 128 MiB.
func room(r Residual, c Calibration) int {
	const largest = 128 << 20
	return max(r.Keys, min(8*r.Keys, int(largest/rawblock.SlotSize(r.Payload, c.Layout, c.Block))))
}

// WriteResiduals writes a row a prediction, and how many are within Bar. It
// returns the error of w.
func WriteResiduals(w io.Writer, rows []Residual) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "strategy\tkeys\tpayload\tpredicted\tmeasured\tmedian\tresidual\t")
	within := 0
	for _, r := range rows {
		fmt.Fprintf(tab, "%s\t%d\t%d\t%s\t%s\t%s\t%+.0f%%\t\n", r.Strategy, r.Keys, r.Payload, ms(r.Predicted), ms(r.Measured), ms(r.Median), 100*r.Off())
		if math.Abs(r.Off()) <= Bar {
			within++
		}
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d predictions are within %.0f %%\n", within, len(rows), 100*Bar)
	return err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d)/1e6) }
