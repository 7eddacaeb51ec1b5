package calibrate

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/common/host"
	"latlab.example/rawblock"
	"latlab.example/rawblock/model"
)

// curve is what a device of the law gives.
func curve(d Device, path Path, sizes ...int) []Point {
	var points []Point
	for _, n := range sizes {
		for _, depth := range Depths {
			points = append(points, Point{Path: path, Bytes: n, Depth: depth, Latency: d.Latency(depth, n)})
		}
	}
	return points
}

// A curve that a device of this kind made is fitted to a tenth, at every point.
func TestFitFindsTheLaw(t *testing.T) {
	sizes := []int{8 << 10, 68 << 10}
	property := func(service, perWrite, channels, rate uint16) bool {
		d := Device{
			PerWrite: time.Duration(perWrite%20_000) + 500, Service: time.Duration(service)*4 + 5000,
			Channels: int(channels)%64 + 1, BytesPerSec: int64(rate)*200_000 + 3e8, Cores: 2,
		}
		points := curve(d, Call, sizes...)
		got, err := Fit(points, 2)
		if err != nil || got.Residual > 0.10 {
			t.Logf("%+v became %+v, %v", d, got, err)
			return false
		}
		for _, p := range points {
			if off := float64(got.Latency(p.Depth, p.Bytes))/float64(p.Latency) - 1; math.Abs(off) > 0.3 {
				t.Logf("%+v became %+v: %+v is off by %.2f", d, got, p, off)
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 6}); err != nil {
		t.Error(err)
	}
}

func TestFitRefusesWhatItCanNot(t *testing.T) {
	for name, points := range map[string][]Point{
		"none":          nil,
		"no depth 1":    {{Call, 4096, 2, time.Millisecond}},
		"no time":       {{Call, 4096, 1, 0}},
		"without bytes": {{Call, 0, 1, time.Millisecond}},
	} {
		if _, err := Fit(points, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Fit([]Point{{Call, 4096, 1, time.Millisecond}}, 0); err == nil {
		t.Error("no core: no error")
	}
}

// example is of a host with 10 us a write, 100 us of service and 4 channels
// for calls, 32 for batches.
func example() Calibration {
	return Calibration{
		Head: calibration.Head{Case: Case, Schema: Schema, Host: host.Fingerprint{OS: "linux", GOMAXPROCS: 2}}, Engine: rawblock.IOUring, Layout: rawblock.Aligned, Block: 4096,
		Fits: map[Path]Device{
			Call: {PerWrite: 10 * time.Microsecond, Service: 100 * time.Microsecond, Channels: 4, BytesPerSec: 1e9, Cores: 2},
			Ring: {PerWrite: 10 * time.Microsecond, Service: 100 * time.Microsecond, Channels: 32, BytesPerSec: 1e9, Cores: 1},
		},
		CPU: []Cost{{Payload: 4096, Loop: 2 * time.Microsecond, Batch: 2 * time.Microsecond, Dispatch: time.Microsecond}, {Payload: 65536, Loop: 20 * time.Microsecond, Batch: 20 * time.Microsecond, Dispatch: time.Microsecond}},
	}
}

// What is predicted is what can be worked out by hand.
func TestPredict(t *testing.T) {
	c := example()
	for _, test := range []struct {
		strategy rawblock.Strategy
		keys     int
		payload  int64
		want     time.Duration
	}{
		// 2 us of key, 10 of write, 100 of service, 8192 B at 1 GB/s.
		{rawblock.Sequential, 100, 4096, 100 * 120192 * time.Nanosecond},
		// The cost of the nearest payload; 69632 B.
		{rawblock.Sequential, 10, 60000, 10 * (20 + 10 + 100) * time.Microsecond * 1},
		// 32 callers on 4 channels: 100 us and 8.2 us of way, a fourth of it each.
		{rawblock.Pool, 1000, 4096, 1000 * 108192 / 4 * time.Nanosecond},
		// Handed over one by one at 10 us; the last one ends after its service.
		{rawblock.Batch, 1000, 4096, 1000*12*time.Microsecond + 108192*time.Nanosecond},
	} {
		got, err := c.Predict(t.Context(), test.strategy, test.keys, test.payload)
		if err != nil {
			t.Fatal(err)
		}
		if test.payload == 60000 {
			test.want += 10 * time.Duration(rawblock.SlotSize(60000, c.Layout, c.Block))
		}
		if off := float64(got)/float64(test.want) - 1; math.Abs(off) > 0.02 {
			t.Errorf("%s of %d keys: %v, want about %v", test.strategy, test.keys, got, test.want)
		}
	}
	// Without a ring a batch is the loop.
	delete(c.Fits, Ring)
	batch, err := c.Predict(t.Context(), rawblock.Batch, 10, 4096)
	if err != nil {
		t.Fatal(err)
	}
	loop, err := c.Predict(t.Context(), rawblock.Sequential, 10, 4096)
	if err != nil || batch != loop {
		t.Errorf("without a ring a batch takes %v and the loop %v, %v", batch, loop, err)
	}
	for _, name := range []string{model.KeyCPU, model.WriteCPU, model.Cores} {
		if p, err := c.Params(rawblock.Pool, 4096).Get(name); err != nil || !strings.Contains(p.Source.String(), "calibrated: host ") {
			t.Errorf("%s has source %v, %v", name, p.Source, err)
		}
	}
}

func TestFile(t *testing.T) {
	c := example()
	c.Curve = curve(c.Fits[Call], Call, 8192)
	calibrationtest.Check(t, c)
}

// The parameters of a calibration give it back, and a changed one counts.
func TestTable(t *testing.T) {
	c := example()
	back := c.Varied(c.Table())
	if back.Fits[Call] != c.Fits[Call] || back.Fits[Ring] != c.Fits[Ring] || !slices.Equal(back.CPU, c.CPU) {
		t.Errorf("%+v became %+v", c, back)
	}
	slower, err := c.Table().SetText("call-service", "1ms")
	if err != nil {
		t.Fatal(err)
	}
	was, err := c.Predict(t.Context(), rawblock.Sequential, 10, 4096)
	if err != nil {
		t.Fatal(err)
	}
	is, err := c.Varied(slower).Predict(t.Context(), rawblock.Sequential, 10, 4096)
	if err != nil || is-was != 10*900*time.Microsecond {
		t.Errorf("900 us more of service: %v became %v, %v", was, is, err)
	}
}

// onNothing opens the device that takes no time.
func onNothing(_ context.Context, size int64) (rawblock.Device, error) {
	return null{size: size, block: block}, nil
}

// The store's own work is measured without a device: more for more bytes.
func TestCPU(t *testing.T) {
	small, err := cpu(t.Context(), onNothing, 4096)
	if err != nil {
		t.Fatal(err)
	}
	large, err := cpu(t.Context(), onNothing, 256<<10)
	if err != nil {
		t.Fatal(err)
	}
	if min(small.Loop, small.Batch) <= 0 || large.Batch <= small.Batch {
		t.Errorf("a key costs %+v with 4 KiB and %+v with 256 KiB", small, large)
	}
}
