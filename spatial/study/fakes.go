//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/bubble"
	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
)

// Device factors of the fake server.
var (
	cores     = lab.NewFactor("cores", 2, 8)
	roundTrip = lab.NewFactor("round-trip", 200*time.Microsecond, 2*time.Millisecond)
)

// maxConns is more than any pool here.
const maxConns = 300

// dataset is the study's data in memory, made once: fakes share it.
var dataset = sync.OnceValues(func() (*data.Set, error) { return data.New(data.Study()) })

func costs() string {
	c := fake.Typical()
	return fmt.Sprintf("a statement costs the server %v of CPU, %v a row that it looks at and %v a row that it sends, and %v of planning the first five times on a connection; a connection costs %v; storage costs nothing",
		c.Statement, c.Visit, c.Row, c.Plan, c.Connect)
}

const inProcess = "requests call the service itself, without HTTP between; the pool's pings are off, and its connections are open before the load comes"

var bubbleAssumptions = []string{
	costs(),
	"the server's cores are shared by all statements alike; the client's CPU work costs nothing",
	"service times are the same for the same question, where a real server's vary",
	inProcess,
}

// bubbled opens an arm in virtual time: server, network, pool and load are made
// anew for each trial, within the bubble.
type bubbled struct {
	arm lab.Arm
	set *data.Set
}

func openBubble(_ context.Context, a lab.Arm) (lab.Subject, error) {
	set, err := dataset()
	return bubbled{a, set}, err
}

func (b bubbled) Close() error { return nil }

func (b bubbled) Trial(ctx context.Context, t *lab.Trial) error {
	return bubble.Run(ctx, func(ctx context.Context) (err error) {
		tg, closeServer, err := bubbleTarget(b.set, cores.Of(b.arm), roundTrip.Of(b.arm), nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeServer()) }()
		s, err := subject(ctx, tg, b.arm)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return s.Trial(ctx, t)
	})
}

// bubbleTarget starts a server in the bubble; change may alter its settings.
func bubbleTarget(set *data.Set, cores int, rtt time.Duration, change func(*fake.Config)) (target, func() error, error) {
	const addr = "postgis:5432"
	n := bubble.NewNet(bubble.Link{RTT: rtt})
	c := fake.Config{
		Data: set, Waiter: emu.Sleep, Cost: fake.Typical(), CPU: bubble.NewCPU(cores), MaxConns: maxConns,
		Listen: func() (net.Listener, error) { return n.Listen(addr) },
	}
	if change != nil {
		change(&c)
	}
	srv, err := fake.New(c)
	if err != nil {
		return target{}, nil, err
	}
	cfg, err := pgxpool.ParseConfig("postgres://latlab@" + addr + "/latlab?sslmode=disable")
	if err != nil {
		return target{}, nil, errors.Join(err, srv.Close())
	}
	cfg.ConnConfig.DialFunc = n.DialContext
	cfg.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	return target{pool: cfg, pace: virtualPace, virtual: true, fake: set}, srv.Close, nil
}

var emulatedAssumptions = []string{
	costs(),
	"statements queue for the server's cores in order of arrival, and keep one to the end",
	"client and server share this process and host: client-cpu is that of both, and waits are spun on a core that the client lacks",
	"the round trip is loopback's",
	inProcess,
}

// emulated is a service on a server of its own.
type emulated struct {
	lab.Subject
	srv *fake.Server
}

func (e emulated) Close() error { return errors.Join(e.Subject.Close(), e.srv.Close()) }

func startEmulated(set *data.Set, a lab.Arm) (*fake.Server, *pgxpool.Config, error) {
	srv, err := fake.New(fake.Config{Data: set, Waiter: emu.Spin, Cost: fake.Typical(), Cores: cores.Of(a), MaxConns: maxConns})
	if err != nil {
		return nil, nil, err
	}
	cfg, err := pgxpool.ParseConfig(srv.DSN())
	if err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	return srv, cfg, nil
}

func openEmulated(ctx context.Context, a lab.Arm) (lab.Subject, error) {
	set, err := dataset()
	if err != nil {
		return nil, err
	}
	srv, cfg, err := startEmulated(set, a)
	if err != nil {
		return nil, err
	}
	s, err := subject(ctx, target{pool: cfg, pace: wallPace, fake: set}, a)
	if err != nil {
		return nil, errors.Join(err, srv.Close())
	}
	return emulated{s, srv}, nil
}

// calibrate asks a server of the arm's for answers of the study's size, as fast
// as one caller can, and looks how well it kept time. Under an arm's own load,
// which mostly thinks, a server has more time than that.
func calibrate(ctx context.Context, a lab.Arm) (text string, err error) {
	set, err := dataset()
	if err != nil {
		return "", err
	}
	srv, cfg, err := startEmulated(set, a)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	s, err := spatial.New(ctx, spatial.Options{Pool: cfg, PoolSize: 1})
	if err != nil {
		return "", err
	}
	defer s.Close()
	m, err := newMix(ctx, s, set, a)
	if err != nil {
		return "", err
	}
	const calibrations = 3 // how often a fake may try: a disturbance of the host passes
	for try := 1; ; try++ {
		c, err := emu.CalibrateLoad(calibrated, 1, func() error {
			for i := range uint64(100) {
				if _, err := s.Answer(ctx, io.Discard, m.query(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || try == calibrations || !errors.Is(err, emu.ErrOffTolerance) {
			return fmt.Sprintf("waits of about %v ended %v late in the median (allowed: %v) and %v at p99; %d waits, try %d of %d",
				c.Asked, c.P50-c.Asked, c.Tolerance, c.P99-c.Asked, c.Samples, try, calibrations), err
		}
	}
}

// calibrated is about what a search of a hundred rows takes.
const calibrated = 400 * time.Microsecond
