package calibrate

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/minio/minio-go/v7"
	"go.uber.org/goleak"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/common/emu"
	"latlab.example/common/host"
	"latlab.example/common/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Pulls that such a way made are fitted to a hundredth.
func TestFitFindsTheLine(t *testing.T) {
	property := func(first uint16, rate uint8) bool {
		want := Way{First: time.Duration(first)*100 + time.Millisecond, BytesPerSec: int64(rate)*10_000_000 + 50_000_000}
		var all []Pull
		for _, n := range Sizes {
			all = append(all, Pull{n, want.Time(n)})
		}
		got, err := FitPulls(all)
		if err != nil || got.Residual > 0.001 {
			t.Logf("%+v became %+v, %v", want, got, err)
			return false
		}
		return math.Abs(float64(got.First)/float64(want.First)-1) < 0.01 && math.Abs(float64(got.BytesPerSec)/float64(want.BytesPerSec)-1) < 0.01
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func TestFitOfWhatIsNoLine(t *testing.T) {
	for name, test := range map[string]struct {
		pulls []Pull
		check func(Way, error) bool
	}{
		"none":          {nil, func(_ Way, err error) bool { return err != nil }},
		"one size":      {[]Pull{{1000, time.Second}, {1000, time.Second}}, func(_ Way, err error) bool { return err != nil }},
		"no time":       {[]Pull{{1000, 0}, {2000, 1}}, func(_ Way, err error) bool { return err != nil }},
		"bytes alone":   {[]Pull{{1000, 900}, {2000, 2000}}, func(w Way, err error) bool { return err == nil && w.First == 1 && w.BytesPerSec > 0 }},
		"larger faster": {[]Pull{{1000, 2000}, {2000, 1000}}, func(w Way, err error) bool { return err == nil && w.First > 0 && w.BytesPerSec == 0 }},
	} {
		if w, err := FitPulls(test.pulls); !test.check(w, err) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}

// target is a fake store with the documents.
func target(t *testing.T) Target {
	t.Helper()
	s, err := fake.New(fake.Config{Buckets: []string{"bucket"}, Waiter: emu.Spin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := s.Start("")
	if err != nil {
		t.Fatal(err)
	}
	c, tr, err := app.Client(store.Account{Endpoint: addr, AccessKey: fake.DefaultAccessKey, SecretKey: fake.DefaultSecretKey, Region: fake.DefaultRegion}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.CloseIdleConnections)
	if err := seed.Fill(t.Context(), seed.To(c, "bucket"), "p/", seed.Documents()...); err != nil {
		t.Fatal(err)
	}
	return Target{Client: c, Bucket: "bucket", Prefix: "p/", Dir: t.TempDir(), Name: "a fake"}
}

// What is measured is there, larger for more bytes, and leaves nothing behind.
func TestMeasures(t *testing.T) {
	to := target(t)
	all, err := MeasurePulls(t.Context(), to, []int{1000, 15_000_000})
	if err != nil || len(all) != 2 || all[0].Took <= 0 || all[1].Took <= all[0].Took {
		t.Errorf("pulls took %v, %v", all, err)
	}
	var stages metrics.Snapshot
	got, err := serve(t.Context(), to, stack{mode: coldfetch.Bounded, cache: 2, nodes: 20}, 2, 200*time.Millisecond, 1, func(s metrics.Snapshot) { stages = s })
	if err != nil || got.mean <= 0 || got.perSec <= 0 {
		t.Errorf("answers took %+v, %v", got, err)
	}
	if n := stages.Stages[coldfetch.BuildIt].Dist.Count(); n == 0 {
		t.Error("no build was timed")
	}
	left, err := filepath.Glob(filepath.Join(to.Dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", to.Dir, left, err)
	}
	for o := range to.Client.ListObjects(t.Context(), "bucket", minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil || strings.Contains(o.Key, "calibration") {
			t.Errorf("left in the store: %s, %v", o.Key, o.Err)
		}
	}
}

// example is of a host of two cores whose builds take 60 ms each.
func example() Calibration {
	return Calibration{
		Head: calibration.Head{Case: Case, Schema: Schema, Host: host.Fingerprint{OS: "linux", GOMAXPROCS: 2}}, Store: "a store",
		Pulls: []Pull{{60_000, time.Millisecond}}, Way: Way{First: time.Millisecond, BytesPerSec: 1e9},
		Answers: Answers{Nodes: 600, Build: 60 * time.Millisecond, Spread: 1, JSON: 2 * time.Millisecond, Locate: 100 * time.Microsecond, Rest: 400 * time.Microsecond},
	}
}

// What is predicted is what can be worked out by hand.
func TestPredict(t *testing.T) {
	const each = 2500 * time.Microsecond // of a hit
	for _, test := range []struct {
		mode         coldfetch.Mode
		users, cache int
		want         time.Duration
	}{
		{coldfetch.Loop, 1, 6, each},
		{coldfetch.Goroutines, 1, 0, each + 60*time.Millisecond},
		{coldfetch.Loop, 4, 0, 4 * 62100 * time.Microsecond}, // one at a time, but for HTTP
		{coldfetch.Goroutines, 4, 0, 2 * (each + 60*time.Millisecond)},
		{coldfetch.Bounded, 4, 0, 4 * 60 * time.Millisecond},
	} {
		got, err := example().Predict(t.Context(), test.mode, test.users, test.cache)
		if err != nil || math.Abs(float64(got)/float64(test.want)-1) > 0.03 {
			t.Errorf("%s, %d users, a cache of %d: %v, %v; want %v", test.mode, test.users, test.cache, got, err, test.want)
		}
	}
}

func TestFile(t *testing.T) { calibrationtest.Check(t, example()) }
