//go:build !js

package study

import (
	"context"
	"fmt"
	"os"
	"time"

	"latlab.example/common/lab"
	"latlab.example/spatial"
)

// DSNVariable names a real server that holds the data.
const DSNVariable = "LATLAB_POSTGIS"

func missing(why, do string) error { return &lab.Unavailable{Need: "postgis", Why: why, Do: do} }

const start = "run `make postgis-up`, which starts a private one and prints its DSN, and set " + DSNVariable + " to that"

// probe says whether there is a real server with the data. It writes nothing.
func probe(ctx context.Context) error {
	dsn := os.Getenv(DSNVariable)
	if dsn == "" {
		return missing("no PostGIS is named", start)
	}
	cfg, err := spatial.ParsePool(dsn)
	if err != nil {
		return missing(fmt.Sprintf("%s: %v", DSNVariable, err), start)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := spatial.New(ctx, spatial.Options{Pool: cfg, PoolSize: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	size, err := s.Size(ctx)
	if err != nil {
		return missing(fmt.Sprintf("%s: %v", DSNVariable, err), start)
	}
	if size.Locations == 0 || size.Guides == 0 {
		return missing(fmt.Sprintf("the database holds %d locations and %d guides", size.Locations, size.Guides), "load the data: run `make postgis-up`")
	}
	var version, catalog string
	if err := s.Pool().QueryRow(ctx, "SELECT postgis_version(), (SELECT relname FROM pg_catalog.pg_class WHERE relname = 'location_geog')::text").Scan(&version, &catalog); err != nil {
		return missing(fmt.Sprintf("it is no PostGIS with the data's indexes: %v", err), "name a real server: what a fake gives isn't measured; "+start)
	}
	return nil
}

// openReal opens an arm on the real server.
func openReal(ctx context.Context, a lab.Arm) (lab.Subject, error) {
	tg, err := realTarget()
	if err != nil {
		return nil, err
	}
	return subject(ctx, tg, a)
}

func realTarget() (target, error) {
	cfg, err := spatial.ParsePool(os.Getenv(DSNVariable))
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", DSNVariable, err)
	}
	return target{pool: cfg, pace: wallPace}, nil
}

// subject opens what the arm's experiment needs.
func subject(ctx context.Context, tg target, a lab.Arm) (lab.Subject, error) {
	if _, ok := a.Level(order.Name()); ok {
		return &pair{target: tg, arm: a}, nil
	}
	return open(ctx, tg, a)
}
