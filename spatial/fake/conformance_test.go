package fake_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"latlab.example/common/emu"
	"latlab.example/common/lab/labtest"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/fake/conformance"
)

// The data of tests: small ones, made once.
var small = sync.OnceValue(func() *data.Set { return must(data.New(data.Small())) })

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// start runs a server on loopback for a test.
func start(t testing.TB, cfg fake.Config) *fake.Server {
	t.Helper()
	if cfg.Data == nil {
		cfg.Data = small()
	}
	if cfg.Waiter == nil {
		cfg.Waiter = emu.Spin
	}
	s, err := fake.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// postgis is the real server's connection string and the data that it holds. It
// loads the study's if there are none.
func postgis(t testing.TB) (dsn string, holds data.Config) {
	t.Helper()
	dsn = os.Getenv("LATLAB_POSTGIS")
	if dsn == "" {
		labtest.Require(t, "postgis", errors.New("set LATLAB_POSTGIS to the connection string of a PostGIS"))
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		labtest.Require(t, "postgis", err)
	}
	defer c.Close(ctx)
	if strings.Contains(c.PgConn().ParameterStatus("server_version"), fake.Mark) {
		t.Fatal("LATLAB_POSTGIS names a fake")
	}
	holds, ok, err := data.Loaded(ctx, c)
	if err == nil && !ok {
		holds = data.Study()
		err = data.Load(ctx, c, holds, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dsn, holds
}

// One table for both.
func TestConformance(t *testing.T) {
	check := func(t *testing.T, o conformance.Operation, target conformance.Target, got string) {
		t.Helper()
		if want := o.WantOn(target); want != "" && got != want || strings.Contains(got, "error:") || got == "hangs" {
			t.Errorf("%s on %s: %s, want %s", o.Name, target.Name, got, want)
		}
	}
	t.Run("fake", func(t *testing.T) {
		ours := conformance.At("fake", start(t, fake.Config{}).DSN(), true)
		for _, o := range conformance.Operations {
			check(t, o, ours, o.Run(t.Context(), ours))
		}
	})
	t.Run("postgis", func(t *testing.T) {
		dsn, holds := postgis(t)
		ours := conformance.At("fake", start(t, fake.Config{Data: must(data.New(holds))}).DSN(), true)
		real := conformance.At("PostGIS", dsn, false)
		for _, o := range conformance.Operations {
			got, want := o.Run(t.Context(), ours), o.Run(t.Context(), real)
			check(t, o, ours, got)
			check(t, o, real, want)
			if got != want && !o.Differs {
				t.Errorf("%s: the fake gives %s, PostGIS %s", o.Name, got, want)
			}
		}
	})
}

func TestConformanceTable(t *testing.T) {
	var b strings.Builder
	target := conformance.At("fake", start(t, fake.Config{}).DSN(), true)
	if err := conformance.WriteMarkdown(t.Context(), &b, target); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(conformance.Operations)+2 || !strings.HasPrefix(lines[0], "| operation | fake | note |") {
		t.Errorf("%d lines, want %d:\n%s", len(lines), len(conformance.Operations)+2, b.String())
	}
	for _, l := range lines {
		if strings.Count(strings.ReplaceAll(l, `\|`, ""), "|") != 4 {
			t.Errorf("not three cells: %s", l)
		}
	}
}
