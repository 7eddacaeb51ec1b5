package calibrate

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/bubble"
	"latlab.example/common/calibration"
	"latlab.example/common/calibration/calibrationtest"
	"latlab.example/common/emu"
	"latlab.example/common/host"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/model"
)

// A curve that such a host made is fitted to a tenth, at every point, whatever its
// cores.
func TestFitFindsTheLaw(t *testing.T) {
	property := func(work, wait uint16, cores uint8) bool {
		want := Fit{Work: time.Duration(work)*1000 + 100_000, Wait: time.Duration(wait)*500 + 1000, Cores: int(cores)%8 + 1}
		var points []Point
		for _, n := range Levels {
			r, err := want.Response(n)
			if err != nil {
				t.Log(err)
				return false
			}
			points = append(points, Point{Users: n, PerSec: float64(n) / r.Seconds(), Response: r, Median: r, P95: 2 * r})
		}
		got, err := FitCurve(points)
		if err != nil || got.Residual > 0.1 || got.Spread != 2 {
			t.Logf("%+v became %+v, %v", want, got, err)
			return false
		}
		for _, p := range points {
			if r, err := got.Response(p.Users); err != nil || math.Abs(float64(r)/float64(p.Response)-1) > 0.1 {
				t.Logf("%+v became %+v: %d users %v instead of %v, %v", want, got, p.Users, r, p.Response, err)
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 20}); err != nil {
		t.Error(err)
	}
}

func TestFitRefusesWhatItCanNot(t *testing.T) {
	one := Point{Users: 1, PerSec: 1, Response: time.Second, Median: time.Second, P95: time.Second}
	for name, points := range map[string][]Point{
		"none":           nil,
		"two":            {one, one},
		"no single user": {{Users: 2, Response: 1, Median: 1, P95: 1}, {Users: 3, Response: 1, Median: 1, P95: 1}, {Users: 4, Response: 1, Median: 1, P95: 1}},
		"no time":        {one, one, {Users: 2}},
	} {
		if _, err := FitCurve(points); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// On a fake server in virtual time the fit finds its cores, and the model predicts
// pools under, at and over their knees, of which the curve knew nothing.
func TestPredictsTheFake(t *testing.T) {
	if raceDetector {
		t.Skip("takes minutes under the race detector, which has the pool and the fake in their own tests")
	}
	const cores = 2
	var c Calibration
	var rows []calibration.Residual
	err := bubble.Run(t.Context(), func(ctx context.Context) (err error) {
		const addr = "postgis:5432"
		n := bubble.NewNet(bubble.Link{RTT: 200 * time.Microsecond})
		set, err := data.New(data.Small())
		if err != nil {
			return err
		}
		srv, err := fake.New(fake.Config{
			Data: set, Waiter: emu.Sleep, Cost: fake.Typical(), CPU: bubble.NewCPU(cores),
			Listen: func() (net.Listener, error) { return n.Listen(addr) },
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, srv.Close()) }()
		cfg, err := pgxpool.ParseConfig("postgres://latlab@" + addr + "/latlab?sslmode=disable")
		if err != nil {
			return err
		}
		cfg.ConnConfig.DialFunc = n.DialContext
		cfg.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
		if c, err = Run(ctx, cfg, host.Fingerprint{OS: "test"}); err != nil {
			return err
		}
		rows, err = Compare(ctx, c, cfg)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := errors.Join(c.WriteFit(&text), calibration.WriteResiduals(&text, rows)); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	if c.Fit.Cores != cores || c.Fit.Residual > 0.1 {
		t.Errorf("%+v, want %d cores", c.Fit, cores)
	}
	if !strings.Contains(c.Server, fake.Mark) {
		t.Errorf("the server's version is %q", c.Server)
	}
	for _, r := range rows {
		if math.Abs(r.Off()) > calibration.Bar {
			t.Errorf("%s: %v predicted, %v measured", r.What, r.Predicted, r.Measured)
		}
	}
}

// example is of a host whose requests work 2 ms on one of four cores.
func example() Calibration {
	return Calibration{
		Head: calibration.Head{Case: Case, Schema: Schema, Host: host.Fingerprint{OS: "linux", GOMAXPROCS: 4}}, Server: "15.0",
		Curve: []Point{{Users: 1, PerSec: 400, Response: 2500 * time.Microsecond, Median: 2 * time.Millisecond, P95: 4 * time.Millisecond}},
		Fit:   Fit{Work: 2 * time.Millisecond, Wait: 500 * time.Microsecond, Cores: 4, Spread: 2},
	}
}

// What the parameters draw has the mean that was fitted.
func TestParams(t *testing.T) {
	c := example()
	got, err := c.Predict(t.Context(), model.Setup{Users: 1, Think: 10 * time.Millisecond, Pool: 1})
	if want := c.Fit.Work + c.Fit.Wait; err != nil || math.Abs(float64(got)/float64(want)-1) > 0.02 {
		t.Errorf("one user's request takes %v, %v; want %v", got, err, want)
	}
	if p, err := c.Params().Get(model.Cores); err != nil || p.Value != 4 || !strings.Contains(p.Source.String(), "calibrated: host ") {
		t.Errorf("cores are %v from %v, %v", p.Value, p.Source, err)
	}
}

func TestFile(t *testing.T) { calibrationtest.Check(t, example()) }
