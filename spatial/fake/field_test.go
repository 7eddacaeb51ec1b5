package fake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"latlab.example/common/emu"
	"latlab.example/spatial"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/fake/conformance"
)

// Reports from the field, each as a test.

// A statement is cancelled just when it ends. The signal comes a moment later
// and hits the next statement on the connection, which has nothing to do with
// it. pgx waits for 100 ms after a cancel request to prevent this, which helps
// against signals that are faster than that.
func TestALateCancelHitsTheNextStatement(t *testing.T) {
	for delay, hits := range map[time.Duration]bool{20 * time.Millisecond: false, 150 * time.Millisecond: true} {
		quiet(t, fake.Config{CancelDelay: delay}, func(ctx context.Context, w world) error {
			w.pool.MaxConns = 1
			w.pool.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
				return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
			}
			pool, err := pgxpool.NewWithConfig(ctx, w.pool)
			if err != nil {
				return err
			}
			defer pool.Close()
			if err := pool.Ping(ctx); err != nil {
				return err
			}
			// The first one is done after 52 ms with its round trips; its user leaves
			// after 45, and the cancel request is with the server after 46.5.
			hurried, cancel := context.WithTimeout(ctx, 45*time.Millisecond)
			defer cancel()
			_, first := pool.Exec(hurried, spatial.Sleep, 0.050)
			_, second := pool.Exec(ctx, spatial.Sleep, 0.200)
			_, third := pool.Exec(ctx, spatial.Sleep, 0.200)
			switch canceled := second != nil && conformance.Outcome(second) == "ERROR 57014"; {
			case first != nil || third != nil || w.server.Use().Cancels != 1 || w.server.Use().Sessions != 1:
				return fmt.Errorf("signal after %v: first %v, third %v, %+v", delay, first, third, w.server.Use())
			case canceled != hits || !hits && second != nil:
				return fmt.Errorf("signal after %v: the second statement gave %v; hit by the signal: %v, want %v", delay, second, canceled, hits)
			}
			return nil
		})
	}
}

// The same on a connection of either kind, with the signal sent by hand: what
// was meant for one statement ends the next.
func TestACancelKnowsNoStatement(t *testing.T) {
	run := func(t *testing.T, dsn string) {
		ctx := t.Context()
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		if _, err := c.Exec(ctx, spatial.Sleep, 0.001); err != nil { // the one that is meant
			t.Fatal(err)
		}
		next := make(chan error, 1)
		go func() {
			_, err := c.Exec(ctx, spatial.Sleep, 20.0)
			next <- err
		}()
		for tick := time.NewTicker(20 * time.Millisecond); ; { // until the next one runs
			if err := c.PgConn().CancelRequest(ctx); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-next:
				if got := conformance.Outcome(err); got != "ERROR 57014" {
					t.Errorf("the next statement: %s, want 57014", got)
				}
				return
			case <-tick.C:
			}
		}
	}
	t.Run("fake", func(t *testing.T) { run(t, start(t, fake.Config{}).DSN()) })
	t.Run("postgis", func(t *testing.T) {
		dsn, _ := postgis(t)
		run(t, dsn)
	})
}

// Behind a transaction pooler a client's prepared statements are on whichever
// backend had them, so another client finds a name taken (42P05) or its own gone
// (26000). Modes without named statements work.
func TestPreparedStatementsBehindATransactionPooler(t *testing.T) {
	for mode, works := range map[pgx.QueryExecMode]bool{
		pgx.QueryExecModeCacheStatement: false, pgx.QueryExecModeExec: true, pgx.QueryExecModeSimpleProtocol: true,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			quiet(t, fake.Config{Backends: 2}, func(ctx context.Context, w world) error {
				w.pool.ConnConfig.DefaultQueryExecMode = mode
				w.pool.MaxConns = 4
				pool, err := pgxpool.NewWithConfig(ctx, w.pool)
				if err != nil {
					return err
				}
				defer pool.Close()
				codes := map[string]int{}
				for range 10 {
					var conns []*pgxpool.Conn
					for range 4 {
						c, err := pool.Acquire(ctx)
						if err != nil {
							return err
						}
						conns = append(conns, c)
					}
					for _, c := range conns {
						if _, err := c.Exec(ctx, spatial.MediaOf, 1); err != nil {
							codes[conformance.Outcome(err)]++
						}
						c.Release()
					}
				}
				switch {
				case works && len(codes) > 0:
					return fmt.Errorf("failed: %v", codes)
				case !works && (codes["ERROR 42P05"] == 0 || codes["ERROR 26000"] == 0):
					return fmt.Errorf("failures: %v, want both 42P05 and 26000", codes)
				}
				return nil
			})
		})
	}
}

// A prepared statement is planned anew the first five times on a connection.
// Then a real server may take a generic plan, and the time changes at the sixth
// execution though nothing else did.
func TestThePlanFlips(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		cost := fake.Cost{Statement: time.Millisecond, Plan: 30 * time.Millisecond}
		quiet(t, fake.Config{Cost: cost}, func(ctx context.Context, w world) error {
			c, err := one(ctx, w)
			if err != nil {
				return err
			}
			defer c.Close(ctx)
			for i := range 8 {
				if i == 0 { // so that no round trip is spent on Parse below
					if _, err := c.Prepare(ctx, spatial.MediaOf, spatial.MediaOf); err != nil {
						return err
					}
				}
				began := time.Now()
				if _, err := c.Exec(ctx, spatial.MediaOf, 1); err != nil {
					return err
				}
				want := time.Millisecond + cost.Statement // the round trip
				if i < 5 {
					want += cost.Plan
				}
				if took := time.Since(began); took != want {
					return fmt.Errorf("execution %d took %v, want %v", i+1, took, want)
				}
			}
			return nil
		})
	})
	t.Run("postgis", func(t *testing.T) {
		dsn, _ := postgis(t)
		ctx := t.Context()
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		plans := func() (custom, generic int) {
			t.Helper()
			err := c.QueryRow(ctx, `SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE name = 'flip'`).Scan(&custom, &generic)
			if err != nil {
				t.Fatal(err)
			}
			return custom, generic
		}
		if _, err := c.Prepare(ctx, "flip", spatial.SearchRadius); err != nil {
			t.Fatal(err)
		}
		for i := range 7 {
			if _, err := c.Exec(ctx, "flip", 126.978, 37.5665, 5000.0, 100); err != nil {
				t.Fatal(err)
			}
			custom, generic := plans()
			if i < 5 && (custom != i+1 || generic != 0) {
				t.Errorf("execution %d: %d custom and %d generic plans, want only custom ones", i+1, custom, generic)
			}
			if custom+generic != i+1 {
				t.Errorf("execution %d: %d custom and %d generic plans", i+1, custom, generic)
			}
		}
		custom, generic := plans()
		t.Logf("of 7 executions %d had a custom plan and %d a generic one", custom, generic)
	})
}

// Connections that were opened together expire together, and the pool opens as
// many new ones at once. Jitter spreads them.
func TestAllConnectionsExpireTogether(t *testing.T) {
	const conns, lifetime = 20, 30 * time.Minute
	// most is the largest number of connections that were opened in one minute of
	// the two hours after the pool had filled.
	most := func(jitter time.Duration) (most int) {
		quiet(t, fake.Config{}, func(ctx context.Context, w world) error {
			w.pool.MaxConns, w.pool.MinConns = conns, conns
			w.pool.MaxConnLifetime, w.pool.MaxConnLifetimeJitter = lifetime, jitter
			pool, err := pgxpool.NewWithConfig(ctx, w.pool)
			if err != nil {
				return err
			}
			defer pool.Close()
			time.Sleep(time.Minute)
			last := w.server.Use().Accepted
			if last != conns {
				return fmt.Errorf("%d connections at first, want %d", last, conns)
			}
			for range 120 {
				time.Sleep(time.Minute)
				now := w.server.Use().Accepted
				most = max(most, now-last)
				last = now
			}
			return nil
		})
		return most
	}
	if n := most(0); n != conns {
		t.Errorf("without jitter at most %d of %d connections were opened in a minute, want all", n, conns)
	}
	if n := most(lifetime); n > conns/2 {
		t.Errorf("with jitter %d of %d connections were opened in a minute, want at most half", n, conns)
	}
}

// Users who give up cost connections: the default closes the connection and
// opens another, and a cancel request is a connection, too. So a storm of
// timeouts has more of them open than the pool may have.
func TestACancelStormOpensMoreConnectionsThanThePool(t *testing.T) {
	const conns, users, each = 10, 40, 5
	run := func(handler func(*pgconn.PgConn) ctxwatch.Handler) (use fake.Use) {
		// The slow server: every statement takes a second, its users wait 100 ms.
		quiet(t, fake.Config{Hold: emu.Constant(time.Second)}, func(ctx context.Context, w world) error {
			w.pool.MaxConns = conns
			if handler != nil {
				w.pool.ConnConfig.BuildContextWatcherHandler = handler
			}
			pool, err := pgxpool.NewWithConfig(ctx, w.pool)
			if err != nil {
				return err
			}
			g, gctx := errgroup.WithContext(ctx)
			for i := range users {
				g.Go(func() error {
					time.Sleep(time.Duration(i) * 1371 * time.Microsecond)
					for range each {
						hurried, cancel := context.WithTimeout(gctx, 100*time.Millisecond)
						_, err := pool.Exec(hurried, spatial.MediaOf, 1)
						cancel()
						if err == nil {
							return errors.New("an answer in time, which can't be")
						}
					}
					return nil
				})
			}
			err = g.Wait()
			pool.Close()
			use = w.server.Use()
			return err
		})
		return use
	}
	closing := run(nil)
	if closing.MostOpen <= conns || closing.Sessions <= 2*conns {
		t.Errorf("closing: %+v, want more than %d open at once and far more than that in all", closing, conns)
	}
	asking := run(func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	})
	if asking.MostOpen <= conns || asking.Cancels == 0 || asking.Sessions > conns {
		t.Errorf("cancel requests: %+v, want more than %d open at once, by cancels, and no session more than the pool's", asking, conns)
	}
}
