package spatial_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/emu"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
	"latlab.example/spatial/fake"
)

func TestOptions(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://u@127.0.0.1:1/d")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]spatial.Options{
		"no pool":       {},
		"search":        {Pool: cfg, Search: "magic"},
		"acquire":       {Pool: cfg, Acquire: "magic"},
		"fetch":         {Pool: cfg, Fetch: "magic"},
		"hold":          {Pool: cfg, Hold: "magic"},
		"log place":     {Pool: cfg, LogPlace: "magic"},
		"pool size":     {Pool: cfg, PoolSize: -1},
		"hold time":     {Pool: cfg, HoldFor: -1},
		"burn":          {Pool: cfg, Hold: spatial.HoldBurn},
		"other stages":  {Pool: cfg, Recorder: metrics.NewRecorder(metrics.NewStageSet("other", "x"))},
		"burn of a NaN": {Pool: cfg, Hold: spatial.HoldBurn, BurnPerSec: math.NaN()},
	} {
		if _, err := spatial.New(t.Context(), o); !errors.Is(err, spatial.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// served is a service over HTTP, on a fake on loopback.
func served(t *testing.T, o spatial.Options) (get func(method, path string) (int, string), srv *fake.Server) {
	t.Helper()
	set, err := small()
	if err != nil {
		t.Fatal(err)
	}
	if srv, err = fake.New(fake.Config{Data: set, Waiter: emu.Spin}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	if o.Pool, err = pgxpool.ParseConfig(srv.DSN()); err != nil {
		t.Fatal(err)
	}
	s, err := spatial.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return func(method, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}, srv
}

func TestHandler(t *testing.T) {
	log, err := spatial.NewRowLog(io.Discard, spatial.LogOff)
	if err != nil {
		t.Fatal(err)
	}
	ask, _ := served(t, spatial.Options{PoolSize: 2, Log: log, Recorder: metrics.NewRecorder(spatial.Stages, metrics.WithSwitch(false))})
	for _, c := range []struct {
		method, path string
		code         int
		has          string
	}{
		{"GET", "/places?lon=126.98&lat=37.57&radius=50000&limit=3&guides=true", 200, `"meters"`},
		{"GET", "/places?lon=0&lat=-40&radius=0", 200, `"places":[]`},
		{"GET", "/places?lon=126.98&lat=37.57", 400, "radius"},
		{"GET", "/places?lon=x&lat=37.57&radius=5", 400, "lon"},
		{"GET", "/places?lon=126.98&lat=99&radius=5", 400, "latitude"},
		{"GET", "/places?lon=126.98&lat=37&radius=NaN", 400, "radius"},
		{"GET", "/places?lon=126.98&lat=37&radius=5&limit=0", 400, "limit"},
		{"GET", "/places?lon=126.98&lat=37&radius=5&limit=99999", 400, "limit"},
		{"GET", "/gauges", 200, `"max":2`},
		{"PUT", "/stages?on=true", 204, ""},
		{"PUT", "/stages?on=maybe", 400, "true or false"},
		{"GET", "/stages", 200, "pool_acquire"},
		{"GET", "/rowlog", 200, `"off"`},
		{"PUT", "/rowlog?level=row", 204, ""},
		{"GET", "/rowlog", 200, `"row"`},
		{"PUT", "/rowlog?level=loud", 400, "loud"},
		{"GET", "/nothing", 404, ""},
	} {
		code, text := ask(c.method, c.path)
		if code != c.code || !strings.Contains(text, c.has) {
			t.Errorf("%s %s: %d %s; want %d with %q", c.method, c.path, code, text, c.code, c.has)
		}
	}
}

func TestHandlerErrors(t *testing.T) {
	ask, srv := served(t, spatial.Options{PoolSize: 1})
	if code, text := ask("PUT", "/rowlog?level=row"); code != 409 {
		t.Errorf("a service without a log: %d %s", code, text)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if code, text := ask("GET", "/places?lon=126.98&lat=37.57&radius=5000"); code != 500 {
		t.Errorf("without a server: %d %s", code, text)
	}
}

// A request that gets no connection in its time is told apart.
func TestNoConnectionInTime(t *testing.T) {
	inBubble(t, func(ctx context.Context, cfg *pgxpool.Config) error {
		s, err := start(ctx, cfg, spatial.Options{PoolSize: 1})
		if err != nil {
			return err
		}
		defer s.Close()
		held, err := s.Pool().Acquire(ctx)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(limited, "GET", "/places?lon=0&lat=0&radius=1", nil))
		held.Release()
		if rec.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		return nil
	})
}
