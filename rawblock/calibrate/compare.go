package calibrate

import (
	"context"
	"fmt"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/rawblock"
)

// Open opens the device anew for a store of so many bytes. Its content is
// overwritten.
type Open func(ctx context.Context, size int64) (rawblock.Device, error)

const (
	visits = 5 // of each prediction
	puts   = 5 // a visit
)

// Compare measures sequential, pool and batch with 100 and 1000 keys of each
// payload of the calibration, on the layout that it is of, and predicts each.
func Compare(ctx context.Context, c Calibration, open Open) ([]calibration.Residual, error) {
	var all []calibration.Prediction
	for _, payload := range Payloads {
		for _, keys := range []int{100, 1000} {
			for _, s := range []rawblock.Strategy{rawblock.Sequential, rawblock.Pool, rawblock.Batch} {
				p, err := c.Predict(ctx, s, keys, int64(payload))
				if err != nil {
					return nil, err
				}
				size := rawblock.SizeFor(c.room(keys, payload), payload, c.Layout, c.Block)
				all = append(all, calibration.Prediction{
					What:      fmt.Sprintf("%s keys=%d payload=%d", s, keys, payload),
					Predicted: p,
					Measure: func(ctx context.Context, _ int) (time.Duration, error) {
						dev, err := open(ctx, size)
						if err != nil {
							return 0, err
						}
						took, err := Times(ctx, dev, rawblock.Options{Strategy: s, Layout: c.Layout, Payload: payload}, keys, puts, settle)
						if err != nil {
							return 0, err
						}
						return took[len(took)/2], nil
					},
				})
			}
		}
	}
	return calibration.Compare(ctx, visits, all)
}

// room is the number of slots: eight a key, so that scattered slots rarely touch,
// unless that is more than 128 MiB.
func (c Calibration) room(keys, payload int) int {
	const largest = 128 << 20
	return max(keys, min(8*keys, int(largest/rawblock.SlotSize(payload, c.Layout, c.Block))))
}
