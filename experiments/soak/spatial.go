package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/emu"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/geo"
)

// places are what the fake serves, made once.
var places = sync.OnceValues(func() (*data.Set, error) { return data.New(data.Small()) })

// Spatial has users search through the service and its pool, on a fake PostgreSQL
// that refuses, fails, hangs and restarts.
func Spatial(ctx context.Context, seed uint64) (did Did, err error) {
	r := rand.New(rand.NewPCG(seed, 3))
	set, err := places()
	if err != nil {
		return did, err
	}
	faults, rules, err := schedule(r, 5,
		"connect:error", "connect:reset", "connect:slow(5ms)", "connect:short", "cancel:error", "cancel:slow(5ms)",
		"search:error", "search:reset", "search:short", "search:torn", "search:slow(5ms)", "lookup:error", "lookup:reset", "lookup:torn")
	if err != nil {
		return did, err
	}
	cfg := fake.Config{
		Data: set, Waiter: emu.Spin, Cost: fake.Cost{Statement: time.Duration(r.IntN(100)) * time.Microsecond}, Cores: r.IntN(3), MaxConns: 2 + r.IntN(10),
		CancelDelay: time.Duration(r.IntN(2)) * time.Millisecond, Faults: faults, Seed: seed,
	}
	conns, restarts := 1+r.IntN(8), r.IntN(3)/2
	o := spatial.Options{
		PoolSize: conns, Search: pick(r, []spatial.SearchName{spatial.ByRadius, spatial.BySorted, spatial.ByBox}),
		Acquire: pick(r, spatial.AcquireToggle.Levels()), Fetch: pick(r, spatial.FetchToggle.Levels()), Nested: r.IntN(4) == 0,
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%d connections of %d, %s, %s, nested %v, %d restarts, faults %q: %w", conns, cfg.MaxConns, o.Search, o.Fetch, o.Nested, restarts, rules, err)
		}
	}()
	server, err := fake.New(cfg)
	if err != nil {
		return did, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if o.Pool, err = pgxpool.ParseConfig(server.DSN()); err != nil {
		return did, err
	}
	o.Pool.ConnConfig.ConnectTimeout = time.Second
	if r.IntN(2) == 0 {
		o.Pool.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 50 * time.Millisecond}
		}
	}
	service, err := spatial.New(ctx, o)
	if err != nil {
		return did, err
	}
	// The fewest connections that a request may need at once, by users who all wait
	// for another: the pool's limit may make them fail.
	calm := rules == "" && restarts == 0 && conns <= cfg.MaxConns && !o.Nested && o.Fetch != spatial.FanOut
	users := make([]searcher, 4)
	var wg sync.WaitGroup
	for i := range users {
		u := &users[i]
		*u = searcher{service: service, set: set, r: rand.New(rand.NewPCG(seed, 300+uint64(i))), calm: calm}
		wg.Go(func() { u.run(ctx) })
	}
	var down error
	for range restarts {
		_ = emu.Wait(ctx, emu.Sleep, 20*time.Millisecond)
		down = errors.Join(down, server.Stop())
		_ = emu.Wait(ctx, emu.Sleep, 10*time.Millisecond)
		down = errors.Join(down, server.Start())
	}
	wg.Wait()
	err = down
	for i := range users {
		did.Right += users[i].did.Right
		did.Failed += users[i].did.Failed
		err = errors.Join(err, users[i].wrong)
	}
	// The server first: the client gives a connection that hangs fifteen seconds to
	// say goodbye, and counts it as taken as long.
	err = errors.Join(err, server.Stop())
	g := service.Gauges()
	for end := time.Now().Add(patience); g.Acquired != 0 && time.Now().Before(end); g = service.Gauges() {
		time.Sleep(time.Millisecond)
	}
	if g.Acquired != 0 || g.Pending != 0 {
		err = errors.Join(err, fmt.Errorf("%w: nobody asks, and the pool has %d connections out and %d requests waiting", ErrLeak, g.Acquired, g.Pending))
		return did, err // Close would wait for them
	}
	service.Close()
	if n := service.Pool().Stat().TotalConns(); n != 0 {
		err = errors.Join(err, fmt.Errorf("%w: the closed pool has %d connections", ErrLeak, n))
	}
	if n := server.Use().Open; n != 0 {
		err = errors.Join(err, fmt.Errorf("%w: the stopped server has %d connections", ErrLeak, n))
	}
	return did, err
}

// searcher is one user of the service.
type searcher struct {
	service *spatial.Service
	set     *data.Set
	r       *rand.Rand
	calm    bool // nothing may fail
	did     Did
	wrong   error
}

func (u *searcher) run(ctx context.Context) {
	for range 8 {
		if ctx.Err() != nil || u.wrong != nil {
			return
		}
		l := pick(u.r, u.set.Locations)
		q := spatial.Query{
			Lon: l.Lon, Lat: l.Lat, Radius: []float64{0, 500, 5000, 20000, 100000}[u.r.IntN(5)], Limit: 1 + u.r.IntN(200), Guides: u.r.IntN(2) == 0,
		}
		patience := 10 * time.Second
		if !u.calm {
			patience = time.Duration(1+u.r.IntN(400)) * time.Millisecond
		}
		within, cancel := context.WithTimeout(ctx, patience)
		a, err := u.service.Answer(within, io.Discard, q)
		cancel()
		if err != nil {
			u.did.Failed++
			if u.calm && ctx.Err() == nil {
				u.wrong = fmt.Errorf("%+v: failed without a fault: %w", q, err)
			}
			continue
		}
		u.did.Right++
		if err := u.check(q, a); err != nil {
			u.wrong = fmt.Errorf("%+v: %w", q, err)
		}
	}
}

// check measures every place of the data again.
func (u *searcher) check(q spatial.Query, a spatial.Answer) error {
	const hair = 1e-3 // meters: at the edge either answer is right
	centre := geo.At(q.Lon, q.Lat)
	surely, perhaps := 0, 0 // within the radius
	for _, l := range u.set.Locations {
		p := geo.At(l.Lon, l.Lat)
		if geo.Sphere(centre, p) > geo.Reach(q.Radius)+hair {
			continue
		}
		switch d := geo.Spheroid(centre, p); {
		case d <= q.Radius-hair:
			surely++
		case d <= q.Radius+hair:
			perhaps++
		}
	}
	if n := len(a.Places); n < min(surely, q.Limit) || n > min(surely+perhaps, q.Limit) {
		return fmt.Errorf("%d places, and %d to %d are there", n, surely, surely+perhaps)
	}
	seen := map[int64]bool{}
	var guides []spatial.Guide
	for _, p := range a.Places {
		if p.ID < 1 || p.ID > int64(len(u.set.Locations)) || seen[p.ID] {
			return fmt.Errorf("place %d isn't there, or came twice", p.ID)
		}
		seen[p.ID] = true
		if p.Location != u.set.Locations[p.ID-1] {
			return fmt.Errorf("place %d is %+v, stored was %+v", p.ID, p.Location, u.set.Locations[p.ID-1])
		}
		if d := geo.Spheroid(centre, geo.At(p.Lon, p.Lat)); math.Abs(d-p.Meters) > hair || d > q.Radius+hair {
			return fmt.Errorf("place %d is %v m away, the answer says %v", p.ID, d, p.Meters)
		}
		if g, ok := u.set.GuideAt(p.ID); ok && q.Guides {
			guides = append(guides, g)
		}
	}
	slices.SortFunc(guides, func(a, b spatial.Guide) int { return int(a.ID - b.ID) })
	if !slices.Equal(a.Guides, guides) {
		return fmt.Errorf("guides %+v, stored were %+v", a.Guides, guides)
	}
	var media []spatial.Media
	for _, g := range guides {
		media = append(media, u.set.MediaOf(g.ID)...)
	}
	byID := func(a, b spatial.Media) int { return int(a.ID - b.ID) }
	got := slices.SortedFunc(slices.Values(a.Media), byID)
	slices.SortFunc(media, byID)
	if !slices.Equal(got, media) {
		return fmt.Errorf("%d media, stored were %d", len(got), len(media))
	}
	return nil
}
