package spatial_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
)

var small = sync.OnceValues(func() (*data.Set, error) { return data.New(data.Small()) })

// inBubble runs f in virtual time, with the settings of a pool on a fake server.
func inBubble(t *testing.T, f func(ctx context.Context, cfg *pgxpool.Config) error) {
	t.Helper()
	set, err := small()
	if err != nil {
		t.Fatal(err)
	}
	err = bubble.Run(t.Context(), func(ctx context.Context) (err error) {
		n := bubble.NewNet(bubble.Link{RTT: 200 * time.Microsecond})
		srv, err := fake.New(fake.Config{
			Data: set, Waiter: emu.Sleep, Cost: fake.Typical(), CPU: bubble.NewCPU(2),
			Listen: func() (net.Listener, error) { return n.Listen("db:5432") },
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, srv.Close()) }()
		cfg, err := pgxpool.ParseConfig("postgres://u@db:5432/d?sslmode=disable")
		if err != nil {
			return err
		}
		cfg.ConnConfig.DialFunc = n.DialContext
		cfg.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
		return f(ctx, cfg)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// start makes a service in a bubble.
func start(ctx context.Context, cfg *pgxpool.Config, o spatial.Options) (*spatial.Service, error) {
	o.Pool = cfg
	return spatial.New(ctx, o)
}

var withGuides = spatial.Query{Lon: 126.98, Lat: 37.57, Radius: 50_000, Guides: true}

// Field report: a second statement before the rows of the first one are closed
// takes a second connection. With none left it waits for ever.
func TestSecondQueryBeforeClose(t *testing.T) {
	inBubble(t, func(ctx context.Context, cfg *pgxpool.Config) error {
		s, err := start(ctx, cfg, spatial.Options{PoolSize: 1})
		if err != nil {
			return err
		}
		defer s.Close()
		rows, err := s.Pool().Query(ctx, spatial.SearchRadius, 126.98, 37.57, 50_000.0, 100)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := s.Size(limited); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the second statement: %v, want that it waits until its time is over", err)
		}
		if g := s.Gauges(); g.Failed != 1 || g.FailedTime != time.Minute || g.Cancelled != 1 || g.Pending != 0 {
			return fmt.Errorf("gauges %+v, want one acquire that failed after a minute", g)
		}
		rows.Close()
		_, err = s.Size(ctx)
		return err
	})
}

// Field report: who forgets to close rows keeps a connection. The pool runs dry,
// one request at a time, and Close waits for what was lost.
func TestLeakedRows(t *testing.T) {
	inBubble(t, func(ctx context.Context, cfg *pgxpool.Config) error {
		s, err := start(ctx, cfg, spatial.Options{PoolSize: 3})
		if err != nil {
			return err
		}
		var leaked []interface{ Close() }
		for i := range 3 {
			if _, err := s.Answer(ctx, &bytes.Buffer{}, withGuides); err != nil {
				return fmt.Errorf("with %d connections lost: %w", i, err)
			}
			rows, err := s.Pool().Query(ctx, spatial.Counts)
			if err != nil {
				return err
			}
			rows.Next() // and that's all: it isn't read to its end
			leaked = append(leaked, rows)
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := s.Answer(limited, &bytes.Buffer{}, withGuides); !errors.Is(err, spatial.ErrNoConn) || !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("with all connections lost: %v", err)
		}
		closed := make(chan struct{})
		go func() {
			s.Close()
			close(closed)
		}()
		select {
		case <-closed:
			return errors.New("the pool closed although connections are out")
		case <-time.After(time.Hour):
		}
		for _, rows := range leaked {
			rows.Close()
		}
		<-closed
		return nil
	})
}

// finishes says how many of so many requests, all at once, get an answer in time.
func finishes(t *testing.T, requests int, o spatial.Options) (n int) {
	t.Helper()
	inBubble(t, func(ctx context.Context, cfg *pgxpool.Config) error {
		s, err := start(ctx, cfg, o)
		if err != nil {
			return err
		}
		defer s.Close()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var done atomic.Int64
		var wg sync.WaitGroup
		for range requests {
			wg.Go(func() {
				if _, err := s.Answer(ctx, &bytes.Buffer{}, withGuides); err == nil {
					done.Add(1)
				}
			})
		}
		wg.Wait()
		n = int(done.Load())
		return nil
	})
	return n
}

// Field report: T requests that take C connections each, one after the other,
// need T(C-1)+1 of them. With fewer, all may hold what the others wait for.
func TestNestedAcquire(t *testing.T) {
	for _, requests := range []int{1, 2, 10} {
		o := spatial.Options{Nested: true, Hold: spatial.HoldSleep, HoldFor: 100 * time.Millisecond}
		o.PoolSize = requests
		if n := finishes(t, requests, o); n != 0 {
			t.Errorf("%d requests on as many connections: %d finished, want none", requests, n)
		}
		o.PoolSize++
		if n := finishes(t, requests, o); n != requests {
			t.Errorf("%d requests on one connection more: %d finished", requests, n)
		}
		o.Nested, o.PoolSize = false, 1
		if n := finishes(t, requests, o); n != requests {
			t.Errorf("%d requests that take one connection each, on one: %d finished", requests, n)
		}
	}
}

// The same bound with more connections a request.
func TestAcquireBound(t *testing.T) {
	for _, c := range []struct{ requests, each int }{{3, 3}, {2, 4}, {5, 2}} {
		bound := c.requests*(c.each-1) + 1
		for _, size := range []int{bound - 1, bound} {
			finished := 0
			inBubble(t, func(ctx context.Context, cfg *pgxpool.Config) error {
				s, err := start(ctx, cfg, spatial.Options{PoolSize: size})
				if err != nil {
					return err
				}
				defer s.Close()
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				var done atomic.Int64
				var wg sync.WaitGroup
				for range c.requests {
					wg.Go(func() {
						for range c.each {
							conn, err := s.Pool().Acquire(ctx)
							if err != nil {
								return
							}
							defer conn.Release()
							time.Sleep(time.Second)
						}
						done.Add(1)
					})
				}
				wg.Wait()
				finished = int(done.Load())
				return nil
			})
			want := 0
			if size == bound {
				want = c.requests
			}
			if finished != want {
				t.Errorf("%d requests of %d connections on %d: %d finished, want %d", c.requests, c.each, size, finished, want)
			}
		}
	}
}

// Field report: a goroutine a row, each with a connection of its own, while the
// request holds one. Ten such requests hang on ten connections; one more lets
// them all through, one after the other.
func TestFanOutExhaustsThePool(t *testing.T) {
	o := spatial.Options{Fetch: spatial.FanOut, Hold: spatial.HoldSleep, HoldFor: 100 * time.Millisecond, PoolSize: 10}
	if n := finishes(t, 10, o); n != 0 {
		t.Errorf("%d finished, want none", n)
	}
	o.PoolSize = 11
	if n := finishes(t, 10, o); n != 10 {
		t.Errorf("%d of 10 finished with a connection more", n)
	}
}

// All ways to fetch and to hold, with one connection or two, give the same
// answer, and each has its stages without overlap.
func TestAnswersAreTheSame(t *testing.T) {
	var want string
	for _, o := range []spatial.Options{
		{},
		{Fetch: spatial.NPlusOne},
		{Fetch: spatial.Batched},
		{Fetch: spatial.FanOut},
		{Nested: true},
		{Hold: spatial.HoldSleep, HoldFor: time.Millisecond},
		{Hold: spatial.HoldBurn, HoldFor: time.Millisecond, BurnPerSec: 1e6},
		{LogPlace: spatial.LogHeld},
	} {
		inBubble(t, func(ctx context.Context, cfg *pgxpool.Config) error {
			var lines []metrics.Timeline
			o.Recorder = metrics.NewRecorder(spatial.Stages, metrics.WithSwitch(true), metrics.WithTimelines(func(tl metrics.Timeline) { lines = append(lines, tl) }))
			var logged bytes.Buffer
			var err error
			if o.Log, err = spatial.NewRowLog(&logged, spatial.LogRows); err != nil {
				return err
			}
			s, err := start(ctx, cfg, o)
			if err != nil {
				return err
			}
			defer s.Close()
			var got bytes.Buffer
			a, err := s.Answer(ctx, &got, withGuides)
			if err != nil {
				return err
			}
			if len(a.Places) != 100 || len(a.Guides) == 0 || len(a.Media) == 0 {
				return fmt.Errorf("%d places, %d guides, %d media: not the answer that this test needs", len(a.Places), len(a.Guides), len(a.Media))
			}
			if want == "" {
				want = got.String()
			}
			if got.String() != want {
				t.Errorf("%+v: another answer", o)
			}
			if n := bytes.Count(logged.Bytes(), []byte("\n")); n != len(a.Places)+1 {
				t.Errorf("%+v: %d lines of log for %d places", o, n, len(a.Places))
			}
			if len(lines) != 1 {
				return fmt.Errorf("%d timelines of one request", len(lines))
			}
			if err := lines[0].Check(); err != nil {
				return err
			}
			for stage := range spatial.Stages.Len() {
				if !slices.ContainsFunc(lines[0].Intervals, func(i metrics.Interval) bool { return i.Stage == metrics.Stage(stage) }) {
					t.Errorf("%+v: no stage %s", o, spatial.Stages.Stage(metrics.Stage(stage)))
				}
			}
			if p := lines[0].Critical(); p.Unattributed != 0 {
				t.Errorf("%+v: %d ns of %d have no stage, in virtual time", o, p.Unattributed, p.Total)
			}
			return nil
		})
	}
}
