package spatial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/metrics"
)

// Errors that a Service's methods wrap.
var (
	// ErrOptions occurs when a service can't be made as asked.
	ErrOptions = errors.New("options can't be")
	// ErrQuery occurs when a query asks for what can't be.
	ErrQuery = errors.New("query can't be")
	// ErrNoConn occurs when a request got no connection from the pool. The error
	// also wraps the reason: context.DeadlineExceeded, say.
	ErrNoConn = errors.New("no connection from the pool")
)

// Query asks for the places near a point.
type Query struct {
	Lon, Lat float64 // degrees on WGS84
	Radius   float64 // meters
	Limit    int     // the most places; 0 is 100
	Guides   bool    // with their guides, and the guides' media
}

// DefaultLimit is the limit of a query without one: the study's answers held
// about so many.
const DefaultLimit = 100

func (q *Query) check() error {
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	switch {
	case !(q.Lon >= -180 && q.Lon <= 180): // also what isn't a number
		return fmt.Errorf("spatial: %w: longitude %v; give -180 to 180 degrees", ErrQuery, q.Lon)
	case !(q.Lat >= -90 && q.Lat <= 90):
		return fmt.Errorf("spatial: %w: latitude %v; give -90 to 90 degrees", ErrQuery, q.Lat)
	case !(q.Radius >= 0) || math.IsInf(q.Radius, 0):
		return fmt.Errorf("spatial: %w: radius %v; give meters, 0 or more", ErrQuery, q.Radius)
	case q.Limit < 1 || q.Limit > 10000:
		return fmt.Errorf("spatial: %w: limit %d; give 1 to 10000 rows", ErrQuery, q.Limit)
	}
	return nil
}

// Answer is what a query found.
type Answer struct {
	Places []Place `json:"places"`
	Guides []Guide `json:"guides,omitempty"`
	Media  []Media `json:"media,omitempty"`
}

// Options shape a Service. Names that are empty are the baselines of their
// toggles.
type Options struct {
	// Pool comes from pgxpool.ParseConfig. A tracer in it is kept beside the
	// service's own.
	Pool     *pgxpool.Config
	PoolSize int // instead of the pool's MaxConns, unless it is 0
	Search   SearchName
	Acquire  AcquireName
	Fetch    FetchName
	// Nested has a request take a second connection for its guides while it holds
	// its first one.
	Nested bool
	// Hold is what else happens on the connection, for HoldFor. HoldBurn needs
	// BurnPerSec, the rows that the server counts in a second: see Service.Burns.
	Hold       HoldName
	HoldFor    time.Duration
	BurnPerSec float64
	Log        *RowLog // nil writes none
	LogPlace   LogPlace
	Recorder   *metrics.Recorder // of Stages; nil times nothing
}

func (o *Options) fill() error {
	for _, err := range []error{
		pick(SearchToggle, &o.Search), pick(AcquireToggle, &o.Acquire), pick(FetchToggle, &o.Fetch),
		pick(HoldToggle, &o.Hold), pick(LogPlaceToggle, &o.LogPlace),
	} {
		if err != nil {
			return fmt.Errorf("spatial: %w: %w", ErrOptions, err)
		}
	}
	switch {
	case o.Pool == nil:
		return fmt.Errorf("spatial: %w: no pool; give what pgxpool.ParseConfig returns", ErrOptions)
	case o.PoolSize < 0 || o.PoolSize > math.MaxInt32:
		return fmt.Errorf("spatial: %w: a pool of %d connections", ErrOptions, o.PoolSize)
	case o.HoldFor < 0:
		return fmt.Errorf("spatial: %w: a connection held for %v", ErrOptions, o.HoldFor)
	case o.Hold == HoldBurn && !(o.BurnPerSec > 0):
		return fmt.Errorf("spatial: %w: hold %s needs BurnPerSec; Service.Burns measures it", ErrOptions, HoldBurn)
	case o.Recorder != nil && o.Recorder.Set() != Stages:
		return fmt.Errorf("spatial: %w: a recorder of stages %q; make it of spatial.Stages", ErrOptions, o.Recorder.Set().Name())
	}
	if o.Recorder == nil {
		o.Recorder = metrics.NewRecorder(Stages, metrics.WithSwitch(false))
	}
	return nil
}

// pick checks a name, or puts the toggle's baseline in the place of none.
func pick[T ~string](t *metrics.Toggle[T], name *T) error {
	if *name == "" {
		*name = t.Baseline()
	}
	_, err := t.Parse(string(*name))
	return err
}

// Service answers queries from one pool. All methods may be called by any
// number of goroutines.
type Service struct {
	opt   Options
	pool  *pgxpool.Pool
	trace *tracer
}

// New makes a service and its pool, which connects when it is asked for a
// connection. Close the service.
func New(ctx context.Context, o Options) (*Service, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	s := &Service{opt: o, trace: &tracer{}}
	cfg := o.Pool.Copy()
	if o.PoolSize > 0 {
		cfg.MaxConns = int32(o.PoolSize)
		cfg.MinConns = min(cfg.MinConns, cfg.MaxConns)
	}
	if before := cfg.ConnConfig.Tracer; before != nil {
		cfg.ConnConfig.Tracer = multitracer.New(before, s.trace)
	} else {
		cfg.ConnConfig.Tracer = s.trace
	}
	var err error
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("spatial: pool: %w", err)
	}
	return s, nil
}

// Close closes the pool. It waits for every connection that a request holds.
func (s *Service) Close() { s.pool.Close() }

// Pool is the service's pool, for what the service itself doesn't do.
func (s *Service) Pool() *pgxpool.Pool { return s.pool }

// Answer writes the answer to a query to w, as a line of JSON, and returns it.
// It is the whole request, from pool_acquire to encode; nothing is written
// unless all of it succeeded.
func (s *Service) Answer(ctx context.Context, w io.Writer, q Query) (Answer, error) {
	if err := q.check(); err != nil {
		return Answer{}, err
	}
	req := s.opt.Recorder.Request()
	defer req.Finish()
	ctx = withSpan(ctx, req, 0)
	a, err := s.read(ctx, req, q)
	if err != nil {
		return Answer{}, err
	}
	if s.opt.LogPlace == LogAfter {
		s.log(ctx, q, a)
	}
	at := spanOf(ctx)
	at.begin(Encode)
	defer at.end()
	if a.Places == nil {
		a.Places = []Place{} // a client wants a list, if an empty one
	}
	if err := a.encode(w); err != nil {
		return Answer{}, fmt.Errorf("spatial: write the answer: %w", err)
	}
	return a, nil
}

func (s *Service) log(ctx context.Context, q Query, a Answer) {
	if s.opt.Log == nil {
		return
	}
	at := spanOf(ctx)
	at.begin(Log)
	s.opt.Log.answered(ctx, q, a.Places)
	at.end()
}

// read does all that needs a connection.
func (s *Service) read(ctx context.Context, req *metrics.Request, q Query) (a Answer, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return a, err
	}
	defer conn.Release()
	if a.Places, err = s.search(ctx, conn.Conn(), q); err != nil {
		return a, err
	}
	if err := s.hold(ctx, conn.Conn()); err != nil {
		return a, err
	}
	if q.Guides {
		second := conn
		if s.opt.Nested {
			if second, err = s.acquire(ctx); err != nil {
				return a, err
			}
			defer second.Release()
		}
		if a.Guides, err = s.guides(ctx, second.Conn(), a.Places); err != nil {
			return a, err
		}
		if a.Media, err = s.media(ctx, req, second.Conn(), a.Guides); err != nil {
			return a, err
		}
	}
	if s.opt.LogPlace == LogHeld {
		s.log(ctx, q, a)
	}
	return a, nil
}

// lease is a connection that a request holds.
type lease struct {
	conn  *pgxpool.Conn
	held  *atomic.Int64
	since time.Time
}

func (l *lease) Release() {
	l.held.Add(int64(time.Since(l.since)))
	l.conn.Release()
}

func (l *lease) Conn() *pgx.Conn { return l.conn.Conn() }

// acquire takes a connection. The tracer ends the stage.
func (s *Service) acquire(ctx context.Context) (*lease, error) {
	if s.opt.Acquire == Spin {
		spanOf(ctx).begin(PoolAcquire)
		s.spin(ctx)
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("spatial: %w: %w", ErrNoConn, err)
	}
	return &lease{conn, &s.trace.held, time.Now()}, nil
}

// spin asks the pool until it has room or the context ends.
func (s *Service) spin(ctx context.Context) {
	s.trace.pending.Add(1)
	defer s.trace.pending.Add(-1)
	for ctx.Err() == nil {
		if st := s.pool.Stat(); st.AcquiredConns()+st.ConstructingConns() < st.MaxConns() {
			return
		}
		runtime.Gosched()
	}
}
