package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/emu"
	"latlab.example/common/load"
	"latlab.example/spatial"
)

// Point is what so many users without thoughts measured.
type Point struct {
	Users    int           `json:"users"`
	PerSec   float64       `json:"per_s"`
	Response time.Duration `json:"response_ns"` // mean
	Median   time.Duration `json:"median_ns"`
	P95      time.Duration `json:"p95_ns"`
}

// Levels are the numbers of users of a curve.
var Levels = []int{1, 2, 3, 4, 8, 16}

// pace is how long the parts of a measurement take.
type pace struct{ ramp, settle, window time.Duration }

var (
	curvePace   = pace{100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
	comparePace = pace{2 * time.Second, 5 * time.Second, 6 * time.Second}
)

// rounds is how often each point of a curve is measured, in random order; the
// median counts.
const rounds = 5

// connections of the pool behind a curve, which is never the limit.
const connections = 32

// Measure measures the curve of a service on the pool that cfg makes, on search
// requests like the study's: half of them around its fixed place, half around
// places drawn at random.
func Measure(ctx context.Context, cfg *pgxpool.Config) ([]Point, error) {
	seen := make([][]Point, len(Levels))
	c, err := open(ctx, cfg, spatial.Options{PoolSize: connections})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.run(ctx, Levels[len(Levels)-1], 0, curvePace, 0); err != nil { // warms plans and pages
		return nil, err
	}
	order := rand.New(rand.NewPCG(1, 0))
	for round := range rounds {
		for _, i := range order.Perm(len(Levels)) {
			p, err := c.run(ctx, Levels[i], 0, curvePace, uint64(round))
			if err != nil {
				return nil, fmt.Errorf("calibrate: %d users: %w", Levels[i], err)
			}
			seen[i] = append(seen[i], p)
		}
	}
	points := make([]Point, len(Levels))
	for i := range seen {
		points[i] = middle(seen[i])
	}
	return points, nil
}

// middle is the point with the median of the mean responses.
func middle(all []Point) Point {
	slices.SortFunc(all, func(a, b Point) int { return int(a.Response - b.Response) })
	return all[len(all)/2]
}

// client is a service with requests to make of it.
type client struct {
	*spatial.Service
	fixed  spatial.Location
	random []spatial.Location
}

// drawn is how many random places there are.
const drawn = 2048

var radii = []float64{5000, 10_000, 20_000, 50_000}

// open makes a service on a pool, and opens the pool's connections.
func open(ctx context.Context, cfg *pgxpool.Config, o spatial.Options) (c *client, err error) {
	o.Pool = cfg.Copy()
	// A generic plan from the first time on: a curve has no room for five others.
	o.Pool.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	s, err := spatial.New(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	size, err := s.Size(ctx)
	if err != nil {
		return nil, err
	}
	if size.Locations == 0 {
		return nil, errors.New("calibrate: the database holds no locations; load the data first")
	}
	r := rand.New(rand.NewPCG(1, 0))
	ids := []int64{1} // the fixed place's
	for range drawn {
		ids = append(ids, 1+r.Int64N(size.Locations))
	}
	at, err := s.Locations(ctx, ids)
	if err != nil {
		return nil, err
	}
	if len(at) < 2 {
		return nil, fmt.Errorf("calibrate: %d of the locations drawn by id are there; load the data again", len(at))
	}
	held := make([]*pgxpool.Conn, 0, o.PoolSize)
	for range o.PoolSize {
		conn, aerr := s.Pool().Acquire(ctx)
		if aerr != nil {
			err = aerr
			break
		}
		held = append(held, conn)
	}
	for _, conn := range held {
		conn.Release()
	}
	return &client{s, at[0], at[1:]}, err
}

// query is the one that follows from a seed.
func (c *client) query(seed uint64) spatial.Query {
	r := rand.New(rand.NewPCG(seed, 1))
	at := c.fixed
	if r.IntN(2) == 0 {
		at = c.random[r.IntN(len(c.random))]
	}
	return spatial.Query{Lon: at.Lon, Lat: at.Lat, Radius: radii[r.IntN(len(radii))]}
}

// run has so many users think and ask.
func (c *client) run(ctx context.Context, users int, think time.Duration, p pace, seed uint64) (Point, error) {
	var thought emu.Latency
	if think > 0 {
		var err error
		if thought, err = emu.CappedExponential(think, 10*think); err != nil {
			return Point{}, err
		}
	}
	n, from := float64(users), p.ramp+p.settle
	l := load.Closed{
		Users: load.Schedule{{For: p.ramp, To: n}, {For: p.settle + p.window, To: n}}, Think: thought,
		Options: load.Options{Seed: seed, Window: load.Window{From: from, To: from + p.window}},
	}
	report, err := l.Run(ctx, func(ctx context.Context, q load.Request) error {
		_, err := c.Answer(ctx, io.Discard, c.query(q.Seed))
		return err
	})
	switch {
	case err != nil:
		return Point{}, err
	case report.Failures() > 0:
		return Point{}, fmt.Errorf("%d requests failed: %s", report.Failures(), report.Errors[0].First)
	case report.Success == 0:
		return Point{}, errors.New("no request was answered in the window")
	}
	d := report.Response
	return Point{
		Users: users, PerSec: report.PerSec(), Response: time.Duration(d.Mean()),
		Median: time.Duration(d.Quantile(0.5)), P95: time.Duration(d.Quantile(0.95)),
	}, nil
}

// Version is what the server says that it is.
func Version(ctx context.Context, cfg *pgxpool.Config) (string, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig.Copy())
	if err != nil {
		return "", err
	}
	v := conn.PgConn().ParameterStatus("server_version")
	return v, conn.Close(ctx)
}
