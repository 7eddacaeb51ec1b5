package study

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"latlab.example/common/lab"
	"latlab.example/common/metrics"
	"latlab.example/rawblock"
	"latlab.example/rawblock/fake"
)

// Factors of putmany that the store doesn't read.
var (
	keys    = lab.NewFactor("keys", 100, 10, 1000)
	payload = lab.NewFactor[lab.Bytes]("payload", 4<<10, 64, 64<<10, 256<<10)
)

// Device factors of the fakes. The study's latencies are 50 and 200 us.
var (
	latency  = lab.Latency(50*time.Microsecond, 200*time.Microsecond)
	channels = lab.Channels(32, 1, 2, 8)
)

// Outcomes of the device. Queue depth alone misleads: neighbouring writes merge
// into one (shallow and fast), and a device that serves one request at a time
// shows a deep queue that gains nothing.
var (
	queueDepth = lab.Unit{Name: "queue-depth", Better: lab.Up}
	devWrites  = lab.Unit{Name: "dev-writes/op", Better: lab.Down}
	devSize    = lab.Unit{Name: "dev-write-bytes", Better: lab.Up}
	devMerges  = lab.Unit{Name: "dev-merges/op", Better: lab.Up}
)

// PutMany is the study's main question. The rule is the study's own, for N=100.
var PutMany = lab.Experiment{
	Name:     "rawblock/putmany",
	Question: "When does one submission beat N writes?",
	Factors: []lab.Factor{
		rawblock.StrategyToggle, rawblock.EngineToggle, rawblock.LayoutToggle, rawblock.PlacementToggle, keys, payload,
	},
	Outcomes: []lab.Unit{lab.Writes, queueDepth, devWrites, devSize, devMerges},
	Rule:     lab.Faster(0.10).NoEffectUnder(0.05).Also(queueDepth, lab.Up),
	Stages:   rawblock.Stages,
	Rigs: []lab.Rig{
		emulated("channels", channelled, fake.ChannelsAssumptions).With(channels),
		emulated("one-wait", oneWait, fake.OneWaitAssumptions),
		emulated("unbatched-headers", unbatchedHeaders, fake.UnbatchedHeadersAssumptions),
		lab.Real("file", probeFile, openFile),
	},
}

// subject puts the same keys again and again, deleting them in between.
type subject struct {
	store   *rawblock.Store
	rec     *metrics.Recorder
	keys    []rawblock.Key
	objects [][]byte
	usage   func() (usage, error)
	trial   *lab.Trial // under way
}

// usage is what a device did up to a moment, so that two can be subtracted.
type usage interface {
	// since gives mean queue depth, writes, merges and the mean write in bytes.
	since(earlier usage, took time.Duration) (deviceUse, error)
}

type deviceUse struct{ depth, writes, merges, size float64 }

// newSubject makes the store on dev, which it owns, and the objects.
func newSubject(dev rawblock.Device, a lab.Arm, usage func() (usage, error)) (lab.Subject, error) {
	s := &subject{usage: usage, keys: make([]rawblock.Key, keys.Of(a)), objects: make([][]byte, keys.Of(a))}
	s.rec = metrics.NewRecorder(rawblock.Stages, metrics.WithSwitch(true),
		metrics.WithTimelines(func(tl metrics.Timeline) { s.trial.Timeline(tl) }))
	var err error
	s.store, err = rawblock.New(dev, options(a, s.rec))
	if err != nil {
		return nil, err
	}
	for i := range s.keys {
		s.keys[i] = rawblock.KeyOf(strconv.Itoa(i))
		s.objects[i] = make([]byte, payload.Of(a))
	}
	return s, nil
}

// options are the store's for an arm.
func options(a lab.Arm, rec *metrics.Recorder) rawblock.Options {
	return rawblock.Options{
		Payload:   int(payload.Of(a)),
		Strategy:  rawblock.StrategyToggle.Of(a),
		Layout:    rawblock.LayoutToggle.Of(a),
		Placement: rawblock.PlacementToggle.Of(a),
		Recorder:  rec,
	}
}

// Trial repeats PutMany. The seed decides the objects' bytes.
func (s *subject) Trial(ctx context.Context, t *lab.Trial) error {
	s.trial = t
	s.rec.Reset()
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], t.Seed)
	r := rand.NewChaCha8(seed)
	for _, o := range s.objects {
		_, _ = r.Read(o) // never fails
	}
	if err := s.clear(); err != nil {
		return err
	}
	writes := s.store.Stats().Writes
	before, err := s.usage()
	if err != nil {
		return err
	}
	err = t.Repeat(ctx, func(int) error { return s.clear() }, func(int) error {
		res, err := s.store.PutMany(ctx, s.keys, s.objects)
		if err == nil && res.Written != len(s.keys) {
			err = fmt.Errorf("wrote %d of %d keys", res.Written, len(s.keys))
		}
		return err
	})
	if err != nil {
		return err
	}
	t.Stages(s.rec.Snapshot())
	ops := float64(t.Ops)
	t.Observe(lab.Writes, float64(s.store.Stats().Writes-writes)/ops)
	after, err := s.usage()
	if err != nil || after == nil {
		return err
	}
	use, err := after.since(before, t.Took)
	if err != nil {
		return err
	}
	t.Observe(queueDepth, use.depth)
	t.Observe(devWrites, use.writes/ops)
	t.Observe(devMerges, use.merges/ops)
	t.Observe(devSize, use.size)
	return nil
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

func (s *subject) Close() error { return s.store.Close() }
