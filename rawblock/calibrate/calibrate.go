package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/common/host"
	"latlab.example/common/metrics"
	"latlab.example/common/sim/param"
	"latlab.example/rawblock"
	"latlab.example/rawblock/model"
)

// Schema is the version of the JSON form.
const Schema = 2

// Calibration is what was measured and fitted on one host and disk.
type Calibration struct {
	calibration.Head
	Engine rawblock.Engine `json:"engine"` // of the curve's calls
	Layout rawblock.Layout `json:"layout"` // that its sizes are of
	Block  int             `json:"block"`  // the device's, in bytes
	Curve  []Point         `json:"curve"`
	Fits   map[Path]Device `json:"fits"`
	CPU    []Cost          `json:"cpu"`
}

// Case is the name of the case.
const Case = "rawblock"

// Cost is the store's own work for keys with a payload of so many bytes.
type Cost struct {
	Payload  int           `json:"payload"`
	Loop     time.Duration `json:"loop_ns"`     // a key, one after the other, without filling its buffer
	Batch    time.Duration `json:"batch_ns"`    // a key of a batch
	Dispatch time.Duration `json:"dispatch_ns"` // a goroutine for it
}

// curveSize is the size of the device that is calibrated on, in bytes.
const curveSize = 128 << 20

// Payloads are those that a calibration covers.
var Payloads = []int{4 << 10, 64 << 10}

// Run calibrates on a device that open opens, whose content it overwrites. h is the
// host's fingerprint, with the path that the device lies on. It takes some ten
// seconds.
func Run(ctx context.Context, open Open, engine rawblock.Engine, h host.Fingerprint) (c Calibration, err error) {
	dev, err := open(ctx, curveSize)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	c = Calibration{
		Head:   calibration.Head{Case: Case, Schema: Schema, Host: h},
		Engine: engine, Layout: rawblock.Aligned, Block: dev.BlockSize(), Fits: make(map[Path]Device),
	}
	var sizes []int
	for _, n := range Payloads {
		sizes = append(sizes, int(rawblock.SlotSize(n, c.Layout, c.Block)))
		cost, err := cpu(ctx, open, n)
		if err != nil {
			return c, err
		}
		c.CPU = append(c.CPU, cost)
	}
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

// Check refuses what no calibration gives: see calibration.Fitted.
func (c Calibration) Check() error {
	if err := c.Expect(Case, Schema); err != nil {
		return err
	}
	const long, many = time.Hour, 1 << 16
	if _, ok := c.Fits[Call]; !ok || len(c.CPU) == 0 {
		return calibration.Refuse("it has no fit of path %s, or no costs", Call)
	}
	for path, d := range c.Fits {
		if min(d.PerWrite, d.Service) < 0 || max(d.PerWrite, d.Service) > long || d.Channels < 1 || d.Channels > many || d.BytesPerSec < 0 {
			return calibration.Refuse("the fit of path %s can't be: %+v", path, d)
		}
	}
	for _, x := range c.CPU {
		if x.Payload < 0 || min(x.Loop, x.Batch, x.Dispatch) < 0 || max(x.Loop, x.Batch, x.Dispatch) > long {
			return calibration.Refuse("the costs can't be: %+v", x)
		}
	}
	return nil
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
	key := cost.Loop
	if c.path(s) == Ring {
		key = cost.Batch
	}
	t := model.Study()
	for _, p := range []struct {
		name  string
		value int64
	}{
		{model.Cores, int64(max(c.Host.GOMAXPROCS, 1))},
		{model.KeyCPU, int64(key)},
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

// cpu measures the store's own work on a key, in a loop and in a batch on the device
// itself, by stages: a buffer that the device has just read from is dearer to fill
// again than one that nobody read. In a loop filling is a part of the curve. What a
// goroutine adds comes from a device that takes no time.
func cpu(ctx context.Context, open Open, payload int) (Cost, error) {
	const keys, times = 200, 15
	size := rawblock.SizeFor(2*keys, payload, rawblock.Aligned, block)
	work := func(s rawblock.Strategy, stages ...metrics.Stage) (sum time.Duration, err error) {
		dev, err := open(ctx, size)
		if err != nil {
			return 0, err
		}
		rec := metrics.NewRecorder(rawblock.Stages, metrics.WithSwitch(true))
		_, err = Times(ctx, dev, rawblock.Options{Strategy: s, Layout: rawblock.Aligned, Payload: payload, Recorder: rec}, keys, times, settle)
		got := rec.Snapshot().Stages
		for _, g := range stages {
			sum += time.Duration(got[g].Dist.Quantile(0.5))
		}
		return sum, err
	}
	c := Cost{Payload: payload}
	var err error
	if c.Loop, err = work(rawblock.Sequential, rawblock.StageReserve, rawblock.StageCommit); err != nil {
		return c, err
	}
	if c.Batch, err = work(rawblock.Batch, rawblock.StageReserve, rawblock.StagePrepare, rawblock.StageCommit); err != nil {
		return c, err
	}
	c.Batch /= keys // which share a sample
	took := func(s rawblock.Strategy) (time.Duration, error) {
		runtime.GC() // else the garbage of what was before is paid here
		all, err := Times(ctx, null{size: size, block: block}, rawblock.Options{Strategy: s, Layout: rawblock.Aligned, Payload: payload}, keys, times, 0)
		if err != nil {
			return 0, err
		}
		return all[len(all)/2] / keys, nil
	}
	loop, err := took(rawblock.Batch)
	if err != nil {
		return c, err
	}
	fan, err := took(rawblock.FanOut)
	c.Dispatch = max(fan-loop, 0)
	return c, err
}

const block = 4096 // of the device without time

// settle is how long a device is written to before anything counts: a disk goes on
// for a while with what made the file.
const settle = 500 * time.Millisecond

// Times puts keys again and again, deletes them in between, and gives the times
// of the PutManys in rising order, without those until warm has passed. It owns the
// device.
func Times(ctx context.Context, dev rawblock.Device, o rawblock.Options, keys, times int, warm time.Duration) (all []time.Duration, err error) {
	o.Placement = rawblock.Scattered
	store, err := rawblock.New(dev, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ks, objects := make([]rawblock.Key, keys), make([][]byte, keys)
	// Content, or else all of memory that was never written is one page, in the cache.
	content := rand.NewChaCha8([32]byte{1})
	for i := range ks {
		ks[i], objects[i] = rawblock.KeyOf(strconv.Itoa(i)), make([]byte, o.Payload)
		_, _ = content.Read(objects[i]) // never fails
	}
	for first, began := true, time.Now(); len(all) < times; first = false {
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
		if !first && start.Sub(began) >= warm {
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
