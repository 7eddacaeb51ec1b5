package study

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/rawblock"
)

// Outcomes of the store and of its device. Queue depth alone misleads:
// neighbouring writes merge into one (shallow and fast), and a device that serves
// one request at a time shows a deep queue that gains nothing.
var (
	flushes    = lab.Unit{Name: "flushes/op", Better: lab.Down, Exact: true}
	queueDepth = lab.Unit{Name: "queue-depth", Better: lab.Up}
	devSize    = lab.Unit{Name: "dev-write-bytes", Better: lab.Up}
	devMerges  = lab.Unit{Name: "dev-merges/op", Better: lab.Up}
)

// build makes the subject of an experiment on a device that a rig opened. The
// subject owns the device; so does an error.
type build func(dev rawblock.Device, a lab.Arm) (*subject, error)

// subject repeats one operation of a store.
type subject struct {
	store   *rawblock.Store
	rec     *metrics.Recorder
	keys    []rawblock.Key
	objects [][]byte
	reads   float64 // that an operation asks of the device

	outcomes []lab.Unit                  // to report, of those below
	prepare  func() error                // before each operation, not timed; may be nil
	op       func(context.Context) error // the operation

	usage   func() (usage, error) // what the device did up to now; nil if nobody knows
	spun    time.Duration         // how long each wait of an emulated device is; 0 on a real one
	callers int                   // that wait at once
	after   func() error          // when the store is closed; may be nil

	trial *lab.Trial // under way
}

// newSubject makes the arm's store on dev, its keys and objects.
func newSubject(dev rawblock.Device, a lab.Arm) (*subject, error) {
	s := &subject{keys: make([]rawblock.Key, keys.Of(a)), objects: make([][]byte, keys.Of(a)), callers: callers(a)}
	s.rec = metrics.NewRecorder(rawblock.Stages, metrics.WithSwitch(true),
		metrics.WithTimelines(func(tl metrics.Timeline) {
			if s.trial != nil {
				s.trial.Timeline(tl)
			}
		}))
	var err error
	s.store, err = rawblock.New(dev, rawblock.Options{
		Payload:    int(payload.Of(a)),
		Strategy:   rawblock.StrategyToggle.Of(a),
		Layout:     rawblock.LayoutToggle.Of(a),
		Placement:  rawblock.PlacementToggle.Of(a),
		Durability: rawblock.DurabilityToggle.Of(a),
		Recorder:   s.rec,
	})
	if err != nil {
		return nil, err
	}
	for i := range s.keys {
		s.keys[i] = rawblock.KeyOf(strconv.Itoa(i))
		s.objects[i] = make([]byte, payload.Of(a))
	}
	return s, nil
}

// callers is how many goroutines of an arm use its device at once.
func callers(a lab.Arm) int {
	switch rawblock.StrategyToggle.Of(a) {
	case rawblock.FanOut:
		return keys.Of(a)
	case rawblock.Pool:
		return min(rawblock.DefaultWorkers, keys.Of(a))
	}
	return 1
}

// Trial repeats the operation. On an emulated device it looks how late waits
// ended, and marks a trial in which the device wasn't what it claims to be.
func (s *subject) Trial(ctx context.Context, t *lab.Trial) error {
	_, err := s.run(ctx, t)
	if errors.Is(err, emu.ErrOffTolerance) {
		t.Dirty(err.Error())
		return nil
	}
	return err
}

// run is a trial, with the calibration of an emulated device under its load.
func (s *subject) run(ctx context.Context, t *lab.Trial) (c emu.Calibration, err error) {
	if s.spun == 0 {
		return c, s.repeat(ctx, t)
	}
	return emu.CalibrateLoad(s.spun, s.callers, func() error { return s.repeat(ctx, t) })
}

func (s *subject) repeat(ctx context.Context, t *lab.Trial) error {
	s.trial = t
	s.rec.Reset()
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], t.Seed)
	r := rand.NewChaCha8(seed)
	for _, o := range s.objects {
		_, _ = r.Read(o) // never fails
	}
	before, err := s.counts()
	if err != nil {
		return err
	}
	prepare := func(int) error {
		if s.prepare == nil {
			return nil
		}
		return s.prepare()
	}
	if err := t.Repeat(ctx, prepare, func(int) error { return s.op(ctx) }); err != nil {
		return err
	}
	after, err := s.counts()
	if err != nil {
		return err
	}
	t.Stages(s.rec.Snapshot())
	s.observe(t, before, after)
	return nil
}

// counts is what store and device did up to a moment.
type counts struct {
	store  rawblock.Stats
	device usage // nil if nobody knows
}

// usage is a device's count, of which two can be subtracted.
type usage interface {
	since(earlier usage, took time.Duration) deviceUse
}

// deviceUse is mean queue depth, and of writes: how many, merged, mean bytes.
type deviceUse struct{ depth, writes, merges, size float64 }

func (s *subject) counts() (c counts, err error) {
	c.store = s.store.Stats()
	if s.usage != nil {
		c.device, err = s.usage()
	}
	return c, err
}

func (s *subject) observe(t *lab.Trial, before, after counts) {
	observe := func(u lab.Unit, v float64) {
		if slices.Contains(s.outcomes, u) {
			t.Observe(u, v)
		}
	}
	ops := float64(t.Ops)
	asked := float64(after.store.Writes - before.store.Writes)
	observe(lab.Writes, asked/ops)
	observe(lab.Reads, s.reads)
	observe(flushes, float64(after.store.Flushes-before.store.Flushes)/ops)
	if after.device == nil {
		return
	}
	use := after.device.since(before.device, t.Took)
	observe(queueDepth, use.depth)
	observe(lab.DeviceWrites, use.writes/ops)
	observe(devMerges, use.merges/ops)
	observe(devSize, use.size)
	// A device counts every user. File systems add a few of their own.
	if seen := use.writes + use.merges; seen > 1.05*asked+20 {
		t.Dirty(fmt.Sprintf("the device counted %.0f writes and the store asked for %.0f: others used the disk", seen, asked))
	}
}

// clear deletes all keys, so that the next PutMany writes them.
func (s *subject) clear() error {
	for _, k := range s.keys {
		if err := s.store.Delete(k); err != nil && !errors.Is(err, rawblock.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (s *subject) Close() error {
	err := s.store.Close()
	if s.after != nil {
		err = errors.Join(err, s.after())
	}
	return err
}
