//go:build !js

package study

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/common/load"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
)

// slowAfter is the study's bound.
const slowAfter = 500 * time.Millisecond

// target is a server with the data.
type target struct {
	pool    *pgxpool.Config
	pace    pace
	virtual bool
	fake    *data.Set // of a server in this process; nil for a real one
}

// running is a service of an arm on a target.
type running struct {
	target
	arm       lab.Arm
	svc       *spatial.Service
	mix       *mix
	closeSink func() error
	rec       *metrics.Recorder
	server    int // the server's process, 0 if it isn't known

	counting atomic.Bool
	mu       sync.Mutex
	lines    []metrics.Timeline // guarded by mu: of requests that end while counting
}

// openSized makes an arm's service, with a pool of its own of so many
// connections, and opens them.
func openSized(ctx context.Context, tg target, a lab.Arm, pool int) (r *running, err error) {
	r = &running{target: tg, arm: a}
	r.rec = metrics.NewRecorder(spatial.Stages, metrics.WithSwitch(true), metrics.WithTimelines(r.keep))
	log, closeSink, err := openLog(a)
	if err != nil {
		return nil, err
	}
	r.closeSink = closeSink
	o := spatial.Options{
		Pool:     tg.pool.Copy(),
		PoolSize: pool,
		Search:   spatial.SearchName(label(a, "search", "")),
		Acquire:  spatial.AcquireName(label(a, "acquire", "")),
		Fetch:    spatial.FetchName(label(a, "fetch", "")),
		Nested:   label(a, "nested", "false") == "true",
		Hold:     spatial.HoldName(label(a, "hold", "")),
		HoldFor:  duration(a, "hold-for", spatial.HoldForToggle.Baseline()),
		Log:      log,
		LogPlace: spatial.LogPlace(label(a, "log-place", "")),
		Recorder: r.rec,
	}
	// A ping is part of pool_acquire, but not of the pool's own figure.
	o.Pool.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	planned(o.Pool, a)
	if o.Hold == spatial.HoldBurn {
		if o.BurnPerSec, err = burns(ctx, o.Pool); err != nil {
			return nil, errors.Join(err, closeSink())
		}
	}
	if r.svc, err = spatial.New(ctx, o); err != nil {
		return nil, errors.Join(err, closeSink())
	}
	if err := r.connect(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if r.mix, err = readMix(ctx, tg, a); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// readMix reads the centres in a way of its own: an arm's server may be without
// indexes.
func readMix(ctx context.Context, tg target, a lab.Arm) (*mix, error) {
	s, err := spatial.New(ctx, spatial.Options{Pool: tg.pool, PoolSize: 1})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return newMix(ctx, s, tg.fake, a)
}

// planned has the server plan as the arm says.
func planned(cfg *pgxpool.Config, a lab.Arm) {
	plan := PlanName(label(a, "plan", string(Generic)))
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = planCacheMode[plan]
	if plan == Churn {
		cfg.AfterRelease = func(*pgx.Conn) bool { return false }
	}
	if label(a, "index", "gist") == "off" {
		cfg.ConnConfig.RuntimeParams["enable_indexscan"] = "off"
		cfg.ConnConfig.RuntimeParams["enable_bitmapscan"] = "off"
	}
}

func burns(ctx context.Context, cfg *pgxpool.Config) (float64, error) {
	s, err := spatial.New(ctx, spatial.Options{Pool: cfg, PoolSize: 1})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	return s.Burns(ctx)
}

// connect opens all connections of the pool: the study's service ran before its
// load did.
func (r *running) connect(ctx context.Context) error {
	n := int(r.svc.Pool().Stat().MaxConns())
	conns := make([]*pgxpool.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Release()
		}
	}()
	for range n {
		c, err := r.svc.Pool().Acquire(ctx)
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	if pid, ok := postmaster(conns[0].Conn().PgConn()); ok && r.fake == nil {
		r.server = pid
	}
	return nil
}

func (r *running) keep(tl metrics.Timeline) {
	if !r.counting.Load() {
		return
	}
	r.mu.Lock()
	r.lines = append(r.lines, tl)
	r.mu.Unlock()
}

// Close closes the service.
func (r *running) Close() error {
	r.svc.Close()
	return r.closeSink()
}

// reading is what was used up to an instant.
type reading struct {
	gauges         spatial.Gauges
	client, server time.Duration
	tells          bool // of the server's CPU
}

func (r *running) read() reading {
	v := reading{gauges: r.svc.Gauges()}
	v.client, _ = spatial.ProcessCPU()
	if r.server != 0 {
		v.server, v.tells = treeCPU(r.server)
	}
	return v
}

// run is what a load gave.
type run struct {
	load.Report
	from, to reading
	samples  spatial.Samples
	stages   metrics.Snapshot
	lines    []metrics.Timeline
}

// samplePeriod is no divisor of any round time, so that samples don't fall on the
// instants of a load.
const samplePeriod = 97*time.Millisecond + 13*time.Microsecond + 7

// begin starts to count.
func (r *running) begin(out *run) {
	r.rec.Reset()
	out.from = r.read()
	r.counting.Store(true)
}

// drive runs the load of a shape and reads all instruments over its window.
func (r *running) drive(ctx context.Context, s shape, seed uint64) (run, error) {
	c := load.Closed{
		Users: s.users, Think: thinking(duration(r.arm, "think", think.Baseline())), PerUser: s.perUser,
		Options: load.Options{Seed: seed, Window: s.window},
	}
	var out run
	watched, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	if s.window.From == 0 {
		r.begin(&out)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if s.window.From > 0 {
			if emu.Sleep.Until(watched, began.Add(s.window.From)) != nil {
				return
			}
			r.begin(&out)
		}
		window := watched
		if s.window.To > 0 {
			var done context.CancelFunc
			window, done = context.WithDeadline(watched, began.Add(s.window.To))
			defer done()
		}
		out.samples = r.svc.Sample(window, samplePeriod)
		r.counting.Store(false)
		out.to = r.read()
		out.stages = r.rec.Snapshot()
	})
	var err error
	timeout := duration(r.arm, "timeout", 30*time.Second)
	out.Report, err = c.Run(ctx, func(ctx context.Context, q load.Request) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		_, err := r.svc.Answer(ctx, io.Discard, r.mix.query(q.Seed))
		return err
	})
	stop()
	wg.Wait()
	r.mu.Lock()
	out.lines, r.lines = r.lines, nil
	r.mu.Unlock()
	return out, err
}

// thinking draws exponential times, none over ten times the mean.
func thinking(mean time.Duration) emu.Latency {
	if mean == 0 {
		return nil
	}
	l, err := emu.CappedExponential(mean, 10*mean)
	if err != nil {
		panic(err) // can't be: the mean is over zero
	}
	return l
}

// Trial runs the load once.
func (r *running) Trial(ctx context.Context, t *lab.Trial) error {
	n := number(r.arm, "users", users.Baseline())
	out, err := r.drive(ctx, shaped(r.pace, t.Plan, n, label(r.arm, "approach", "up") == "down"), t.Seed)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.report(t, out)
}
