package calibrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"

	"latlab.example/coldfetch/model"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
)

// Target is a store that holds the documents of package seed.
type Target struct {
	Client *minio.Client
	Bucket string
	Prefix string // before all keys: empty, or ends with a slash
	Dir    string // of pulled files, on a real disk
	Name   string // which store it is
}

// Pull is the time of a pull of so many bytes.
type Pull struct {
	Bytes int           `json:"bytes"`
	Took  time.Duration `json:"took_ns"` // the median
}

// Way is what comes closest to some pulls.
type Way struct {
	First       time.Duration `json:"first_ns"`    // of a pull without its bytes
	BytesPerSec int64         `json:"bytes_per_s"` // 0 is no limit
	Residual    float64       `json:"residual"`    // root mean square of (fitted-measured)/measured
}

// Time is a pull's.
func (w Way) Time(bytes int) time.Duration {
	return model.PullTime(w.First, w.BytesPerSec, int64(bytes))
}

// Sizes are those that the way is fitted to, and Between those that are predicted.
var (
	Sizes   = []int{35_000, 60_000, 92_000, 6_000_000, 15_000_000}
	Between = []int{300_000, 2_000_000}
)

// pulls of each size, in turn, so that a disturbance of the host hits all.
const pulls = 15

// MeasurePulls puts an object of each size under the target's prefix, pulls them
// again and again, and removes them.
func MeasurePulls(ctx context.Context, t Target, sizes []int) (all []Pull, err error) {
	dir := filepath.Join(t.Dir, "pulls")
	p, err := pull.New(pull.Options{Client: t.Client, Bucket: t.Bucket, Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	put, key := seed.To(t.Client, t.Bucket), func(n int) string { return t.Prefix + "calibration/" + strconv.Itoa(n) }
	noise := rand.NewChaCha8([32]byte{1})
	for _, n := range sizes {
		body := bytes.Repeat([]byte{0}, n)
		_, _ = noise.Read(body) // never fails
		if err := put(ctx, key(n), body); err != nil {
			return nil, fmt.Errorf("calibrate: put %d bytes: %w", n, err)
		}
		defer func() {
			err = errors.Join(err, t.Client.RemoveObject(context.WithoutCancel(ctx), t.Bucket, key(n), minio.RemoveObjectOptions{}))
		}()
	}
	seen := make([][]time.Duration, len(sizes))
	for round := range pulls + 1 { // the first connects
		for i, n := range sizes {
			began := time.Now()
			path, s, err := p.Pull(ctx, key(n))
			took := time.Since(began)
			switch {
			case err != nil:
				return nil, fmt.Errorf("calibrate: pull %d bytes: %w", n, err)
			case s.Hit:
				return nil, fmt.Errorf("calibrate: %d bytes were there already", n)
			}
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			if round > 0 {
				seen[i] = append(seen[i], took)
			}
		}
	}
	for i, n := range sizes {
		slices.Sort(seen[i])
		all = append(all, Pull{n, seen[i][len(seen[i])/2]})
	}
	return all, nil
}

// FitPulls finds the way that comes closest: a line whose points count by the square
// of their relative distance. There must be two sizes.
func FitPulls(all []Pull) (Way, error) {
	var w, wx, wxx, wy, wxy float64 // sums with weights 1/y^2
	for _, p := range all {
		if p.Bytes < 0 || p.Took <= 0 {
			return Way{}, fmt.Errorf("calibrate: a pull of %d bytes in %v: that can't be", p.Bytes, p.Took)
		}
		x, y := float64(p.Bytes), float64(p.Took)
		k := 1 / (y * y)
		w, wx, wxx, wy, wxy = w+k, wx+k*x, wxx+k*x*x, wy+k*y, wxy+k*x*y
	}
	det := w*wxx - wx*wx
	if det <= 1e-9*w*wxx {
		return Way{}, fmt.Errorf("calibrate: %d pulls of one size: a rate needs two", len(all))
	}
	first, perByte := (wxx*wy-wx*wxy)/det, (w*wxy-wx*wy)/det
	if first < 1 { // bytes alone
		first, perByte = 1, wxy/wxx
	}
	if perByte <= 0 { // the first byte alone
		first, perByte = wy/w, 0
	}
	way := Way{First: time.Duration(first)}
	if perByte > 0 {
		way.BytesPerSec = int64(1e9 / perByte)
	}
	sum := 0.0
	for _, p := range all {
		off := float64(way.Time(p.Bytes))/float64(p.Took) - 1
		sum += off * off
	}
	way.Residual = math.Sqrt(sum / float64(len(all)))
	return way, nil
}
