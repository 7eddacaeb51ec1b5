package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/load"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
)

const bubbleAddr = "192.0.2.1:5432"

// world is a fake in a bubble and a configuration for the real pool to reach it.
type world struct {
	server *fake.Server
	net    *bubble.Net
	pool   *pgxpool.Config
}

// inBubble runs f in virtual time, with a server of so many cores.
func inBubble(ctx context.Context, cores int, link bubble.Link, cfg fake.Config, f func(context.Context, world) error) error {
	return bubble.Run(ctx, func(ctx context.Context) (err error) {
		w := world{net: bubble.NewNet(link)}
		cfg.Data, cfg.Waiter = small(), emu.Sleep
		cfg.Listen = func() (net.Listener, error) { return w.net.Listen(bubbleAddr) }
		if cores > 0 {
			cfg.CPU = bubble.NewCPU(cores)
		}
		if w.server, err = fake.New(cfg); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.server.Close()) }()
		if w.pool, err = pgxpool.ParseConfig("postgres://latlab@" + bubbleAddr + "/latlab?sslmode=disable"); err != nil {
			return err
		}
		w.pool.ConnConfig.DialFunc = w.net.DialContext
		w.pool.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
		return f(ctx, w)
	})
}

// search asks for a place and reads the answer.
func search(ctx context.Context, pool *pgxpool.Pool, lon, lat, radius float64) (n int, err error) {
	rows, err := pool.Query(ctx, spatial.SearchRadius, lon, lat, radius, 100)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// userLoad is the study's load in small: 150 to 210 users for 120 s who think
// and search, on a pool of 10.
func userLoad(ctx context.Context) (report load.Report, use fake.Use, err error) {
	think, err := emu.CappedExponential(1500*time.Millisecond, 10*time.Second)
	if err != nil {
		return report, use, err
	}
	hold, err := emu.CappedExponential(60*time.Millisecond, time.Second)
	if err != nil {
		return report, use, err
	}
	cfg := fake.Config{Cost: fake.Typical(), Hold: hold}
	err = inBubble(ctx, 2, bubble.Link{RTT: 200 * time.Microsecond}, cfg, func(ctx context.Context, w world) error {
		w.pool.MaxConns = 10
		pool, err := pgxpool.NewWithConfig(ctx, w.pool)
		if err != nil {
			return err
		}
		defer pool.Close()
		report, err = load.Closed{
			Users:   load.Schedule{{For: 20 * time.Second, To: 150}, {For: 60 * time.Second, To: 210}, {For: 40 * time.Second, To: 210}},
			Think:   think,
			Options: load.Options{Seed: 4},
		}.Run(ctx, func(ctx context.Context, r load.Request) error {
			rng := rand.New(rand.NewPCG(r.Seed, 1))
			l := small().Locations[rng.IntN(len(small().Locations))]
			if rng.IntN(2) == 0 {
				l = small().Locations[data.Fixed-1]
			}
			_, err := search(ctx, pool, l.Lon, l.Lat, []float64{5000, 10000, 20000, 50000}[rng.IntN(4)])
			return err
		})
		use = w.server.Use()
		return err
	})
	return report, use, err
}

// The real pool against the fake gives the same figures every time.
func TestTheSameFiguresEveryTime(t *testing.T) {
	var first string
	for run := range 3 {
		report, use, err := userLoad(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if report.Success < 5000 || report.Failures() > 0 || use.Statements != int(report.Success) {
			t.Fatalf("%d answers, %d failures, %d statements", report.Success, report.Failures(), use.Statements)
		}
		text, err := json.Marshal([]any{report, use})
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			first = string(text)
			t.Logf("%d answers, mean %v", report.Success, time.Duration(report.Response.Mean()))
		} else if string(text) != first {
			t.Errorf("run %d differs:\n%s\n%s", run, first, text)
		}
	}
}

func BenchmarkModelledUsers(b *testing.B) {
	for b.Loop() {
		if _, _, err := userLoad(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(120*float64(b.N)/b.Elapsed().Seconds(), "virtual-s/s")
}

// storm runs one seed of trouble: a burst of users on a small pool, with faults,
// restarts, too few connections, contexts that end at any moment and readers
// that take their time. It returns an error if a request isn't accounted for
// exactly once, or if anything is left behind.
func storm(ctx context.Context, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 77))
	between := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	rules := []string{
		"connect:error@p(0.2,seed=%d)", "connect:reset@p(0.2,seed=%d)", "connect:slow(300ms)@p(0.5,seed=%d)", "connect:short@p(0.1,seed=%d)",
		"cancel:error@p(0.5,seed=%d)", "cancel:slow(40ms)@p(0.5,seed=%d)",
		"search:error@p(0.2,seed=%d)", "search:reset@p(0.1,seed=%d)", "search:short@p(0.05,seed=%d)", "search:torn@p(0.1,seed=%d)", "search:slow(200ms)@p(0.2,seed=%d)",
	}
	var text []string
	for _, rule := range rules {
		if r.IntN(3) == 0 {
			text = append(text, fmt.Sprintf(rule, seed))
		}
	}
	faults, err := emu.ParseFaults(strings.Join(text, "; "))
	if err != nil {
		return err
	}
	cfg := fake.Config{Cost: fake.Typical(), Hold: emu.Constant(time.Duration(between(0, 30)) * time.Millisecond), MaxConns: between(2, 12), Faults: faults}
	if r.IntN(3) == 0 {
		cfg.CancelDelay = time.Duration(between(1, 50)) * time.Millisecond
	}
	link := bubble.Link{RTT: time.Duration(between(1, 2000)) * time.Microsecond, Buffer: between(1, 64) << 10}
	users, conns := between(5, 30), between(1, 10)
	restarts, handler := r.IntN(3), r.IntN(2)
	down := time.Duration(between(1, 400)) * time.Millisecond

	return inBubble(ctx, 2, link, cfg, func(ctx context.Context, w world) error {
		w.pool.MaxConns = int32(conns)
		w.pool.ConnConfig.ConnectTimeout = 2 * time.Second
		if handler == 1 {
			w.pool.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
				return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 500 * time.Millisecond}
			}
		}
		pool, err := pgxpool.NewWithConfig(ctx, w.pool)
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() {
			var err error
			for range restarts {
				time.Sleep(700 * time.Millisecond)
				err = errors.Join(err, w.server.Stop())
				time.Sleep(down)
				err = errors.Join(err, w.server.Start())
			}
			ended <- err
		}()
		const each = 5
		var good, bad atomic.Int64
		report, err := load.Closed{
			Users: load.Hold(float64(users), 100*time.Second), PerUser: each, Think: emu.Constant(time.Duration(1+seed%97) * time.Millisecond),
			Options: load.Options{Seed: seed, Kinds: []load.Kind{{Name: "canceled", Err: context.Canceled}}},
		}.Run(ctx, func(ctx context.Context, q load.Request) error {
			err := onceInTrouble(ctx, pool, q)
			if err == nil {
				good.Add(1)
			} else {
				bad.Add(1)
			}
			return err
		})
		pool.Close()
		err = errors.Join(err, <-ended)
		all, use := uint64(users*each), w.server.Use()
		switch {
		case report.Completed() != all || uint64(good.Load()) != report.Success || uint64(good.Load()+bad.Load()) != all:
			err = errors.Join(err, fmt.Errorf("%d of %d requests accounted for: %d good (reported: %d), %d bad", report.Completed(), all, good.Load(), report.Success, bad.Load()))
		case use.Statements < int(report.Success):
			err = errors.Join(err, fmt.Errorf("%d answers to %d statements", report.Success, use.Statements))
		case pool.Stat().TotalConns() != 0:
			err = errors.Join(err, fmt.Errorf("the pool still has %d connections", pool.Stat().TotalConns()))
		}
		if stop := w.server.Stop(); stop != nil {
			err = errors.Join(err, stop)
		}
		if use := w.server.Use(); use.Open != 0 {
			err = errors.Join(err, fmt.Errorf("the server still has %d connections", use.Open))
		}
		return err
	})
}

// onceInTrouble makes one request as a hurried, patient or slow client.
func onceInTrouble(ctx context.Context, pool *pgxpool.Pool, q load.Request) error {
	r := rand.New(rand.NewPCG(q.Seed, 3))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+r.IntN(3000))*time.Millisecond)
	defer cancel()
	switch r.IntN(4) {
	case 0: // gives up early
		stop := time.AfterFunc(time.Duration(r.IntN(60_000))*time.Microsecond, cancel)
		defer stop.Stop()
	case 1: // reads slowly, from a buffer that the answer doesn't fit in
		rows, err := pool.Query(ctx, spatial.SearchRadius, 126.978, 37.5665, 50000.0, 1000)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
		}
		return rows.Err()
	}
	l := small().Locations[r.IntN(1000)]
	_, err := search(ctx, pool, l.Lon, l.Lat, 20000)
	return err
}

func TestStorms(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := storm(ctx, seed)
		cancel()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// quiet is a world without costs, for tests of one behaviour.
func quiet(t *testing.T, cfg fake.Config, f func(context.Context, world) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := inBubble(ctx, 0, bubble.Link{RTT: time.Millisecond}, cfg, f); err != nil {
		t.Error(err)
	}
}

func one(ctx context.Context, w world) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, w.pool.ConnConfig)
}
