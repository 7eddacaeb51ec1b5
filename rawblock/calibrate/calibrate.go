package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"time"

	"latlab.example/common/host"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
	"latlab.example/rawblock/model"
)

// Schema is the version of the JSON form.
const Schema = 1

// Calibration is what was measured and fitted on one host and disk.
type Calibration struct {
	Schema int              `json:"schema"`
	Host   host.Fingerprint `json:"host"`   // with the path that holds the file
	Engine rawblock.Engine  `json:"engine"` // of the curve's calls
	Layout rawblock.Layout  `json:"layout"` // that its sizes are of
	Block  int              `json:"block"`  // the device's, in bytes
	Curve  []Point          `json:"curve"`
	Fits   map[Path]Device  `json:"fits"`
	CPU    []Cost           `json:"cpu"`
}

// Cost is the store's own work for keys with a payload of so many bytes, on a
// device that takes no time.
type Cost struct {
	Payload  int           `json:"payload"`
	Key      time.Duration `json:"key_ns"`      // a key in a batch, or in the loop
	Dispatch time.Duration `json:"dispatch_ns"` // a goroutine for it
}

// ErrCalibration occurs when a calibration can't be read, or isn't of this host.
var ErrCalibration = errors.New("no calibration for this")

// Payloads are those that a calibration covers.
var Payloads = []int{4 << 10, 64 << 10}

// Run calibrates on a device, whose content it overwrites. h is the host's
// fingerprint, with the path that the device lies on. It takes some ten seconds.
func Run(ctx context.Context, dev rawblock.Device, engine rawblock.Engine, h host.Fingerprint) (Calibration, error) {
	c := Calibration{Schema: Schema, Host: h, Engine: engine, Layout: rawblock.Aligned, Block: dev.BlockSize(), Fits: make(map[Path]Device)}
	var sizes []int
	for _, n := range Payloads {
		sizes = append(sizes, int(rawblock.SlotSize(n, c.Layout, c.Block)))
		cost, err := cpu(ctx, n)
		if err != nil {
			return c, err
		}
		c.CPU = append(c.CPU, cost)
	}
	var err error
	if c.Curve, err = Curve(ctx, dev, sizes...); err != nil {
		return c, err
	}
	for _, path := range []Path{Call, Ring} {
		points := slices.DeleteFunc(slices.Clone(c.Curve), func(p Point) bool { return p.Path != path })
		if len(points) == 0 {
			continue
		}
		cores := max(h.GOMAXPROCS, 1)
		if path == Ring {
			cores = 1 // the caller's: it hands them all over
		}
		if c.Fits[path], err = Fit(points, cores); err != nil {
			return c, err
		}
	}
	return c, nil
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
	if c.Schema != Schema || len(c.Fits) == 0 || len(c.CPU) == 0 {
		return c, fmt.Errorf("%w: schema %d, %d fits, %d costs; this program writes schema %d: calibrate anew", ErrCalibration, c.Schema, len(c.Fits), len(c.CPU), Schema)
	}
	return c, c.check()
}

const maxFile = 8 << 20 // bytes; what Write writes is some kilobytes

// check refuses what no calibration gives, since the file may be a stranger's. The
// error wraps ErrCalibration.
func (c Calibration) check() error {
	const long, many = time.Hour, 1 << 16
	if _, ok := c.Fits[Call]; !ok {
		return fmt.Errorf("%w: it has no fit of path %s", ErrCalibration, Call)
	}
	for path, d := range c.Fits {
		if min(d.PerWrite, d.Service) < 0 || max(d.PerWrite, d.Service) > long || d.Channels < 1 || d.Channels > many || d.BytesPerSec < 0 {
			return fmt.Errorf("%w: the fit of path %s can't be: %+v", ErrCalibration, path, d)
		}
	}
	for _, x := range c.CPU {
		if x.Payload < 0 || min(x.Key, x.Dispatch) < 0 || max(x.Key, x.Dispatch) > long {
			return fmt.Errorf("%w: the costs can't be: %+v", ErrCalibration, x)
		}
	}
	if c.Host.GOMAXPROCS > many {
		return fmt.Errorf("%w: %d processors", ErrCalibration, c.Host.GOMAXPROCS)
	}
	return nil
}

// For says whether the calibration is of that host and disk. The error wraps
// ErrCalibration and names both.
func (c Calibration) For(h host.Fingerprint) error {
	if c.Host.Place() == h.Place() {
		return nil
	}
	return fmt.Errorf("%w: it is of %s, and this is %s", ErrCalibration, c.Host.Place(), h.Place())
}

// Params are the model's parameters for a strategy and a payload. A payload that
// wasn't measured takes the costs of the nearest one.
func (c Calibration) Params(s rawblock.Strategy, payload int64) param.Table {
	cost := c.CPU[0]
	for _, x := range c.CPU {
		if abs(int64(x.Payload)-payload) < abs(int64(cost.Payload)-payload) {
			cost = x
		}
	}
	on, d := param.Calibrated("host "+c.Host.Place()), c.Fits[c.path(s)]
	t := model.Study()
	for _, p := range []struct {
		name  string
		value int64
	}{
		{model.Cores, int64(max(c.Host.GOMAXPROCS, 1))},
		{model.KeyCPU, int64(cost.Key)},
		{model.WriteCPU, int64(d.PerWrite)},
		{model.Dispatch, int64(cost.Dispatch)},
		{model.Overshoot, 0},
		{model.Threads, 1000},
		{model.Bandwidth, d.BytesPerSec},
	} {
		t = t.Replace(p.name, p.value, on)
	}
	return t
}

func abs(n int64) int64 { return max(n, -n) }

// path is how a strategy's writes go.
func (c Calibration) path(s rawblock.Strategy) Path {
	if _, ok := c.Fits[Ring]; ok && s == rawblock.Batch {
		return Ring
	}
	return Call
}

// Setup is a PutMany of the strategy on the fitted device.
func (c Calibration) Setup(s rawblock.Strategy, keys int, payload int64) model.Setup {
	d := c.Fits[c.path(s)]
	return model.Setup{
		Strategy: s, Batches: c.path(s) == Ring, Layout: c.Layout, Durability: rawblock.NoFlush, Keys: keys, Payload: payload,
		Device: model.Channels, Channels: d.Channels, Latency: d.Service,
	}
}

// Predict is the time of a PutMany on the calibrated host.
func (c Calibration) Predict(ctx context.Context, s rawblock.Strategy, keys int, payload int64) (time.Duration, error) {
	f, err := model.PutMany(ctx, c.Setup(s, keys, payload), c.Params(s, payload), 1, 1, nil)
	return f.Took, err
}

// cpu measures the store's own work on a device that takes no time.
func cpu(ctx context.Context, payload int) (Cost, error) {
	const keys, times = 200, 15
	took := func(s rawblock.Strategy) (time.Duration, error) {
		runtime.GC() // else the garbage of what was before is paid here
		dev := null{size: rawblock.SizeFor(2*keys, payload, rawblock.Aligned, block), block: block}
		all, err := Times(ctx, dev, s, rawblock.Aligned, keys, payload, times)
		if err != nil {
			return 0, err
		}
		return all[len(all)/4] / keys, nil
	}
	loop, err := took(rawblock.Batch)
	if err != nil {
		return Cost{}, err
	}
	fan, err := took(rawblock.FanOut)
	return Cost{Payload: payload, Key: loop, Dispatch: max(fan-loop, 0)}, err
}

const block = 4096 // of the device without time

// Times puts keys again and again, deletes them in between, and gives the times
// of the PutManys in rising order. It owns the device.
func Times(ctx context.Context, dev rawblock.Device, s rawblock.Strategy, l rawblock.Layout, keys, payload, times int) (all []time.Duration, err error) {
	store, err := rawblock.New(dev, rawblock.Options{Payload: payload, Strategy: s, Layout: l, Placement: rawblock.Scattered})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ks, objects := make([]rawblock.Key, keys), make([][]byte, keys)
	for i := range ks {
		ks[i], objects[i] = rawblock.KeyOf(strconv.Itoa(i)), make([]byte, payload)
	}
	for i := range times + 1 { // the first one warms up
		start := time.Now()
		res, err := store.PutMany(ctx, ks, objects)
		took := time.Since(start)
		if err == nil && res.Written != keys {
			err = fmt.Errorf("calibrate: wrote %d of %d keys", res.Written, keys)
		}
		for _, k := range ks {
			err = errors.Join(err, store.Delete(k))
		}
		if err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, took)
		}
	}
	slices.Sort(all)
	return all, nil
}

// null is a device that takes no time and keeps nothing but its superblock, which
// nobody reads back.
type null struct {
	size  int64
	block int
}

var _ rawblock.Batcher = null{}

func (d null) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}
func (d null) Close() error                                 { return nil }
func (d null) BlockSize() int                               { return d.block }
func (d null) Size() int64                                  { return d.size }
func (null) Write(context.Context, rawblock.IO) error       { return nil }
func (null) Flush(context.Context) error                    { return nil }
func (null) ReadBatch(context.Context, []rawblock.IO) error { return nil }
func (null) WriteBatch(_ context.Context, ws []rawblock.IO, submitted func()) error {
	for i := range ws {
		ws[i].Err = nil
	}
	if submitted != nil {
		submitted()
	}
	return nil
}
