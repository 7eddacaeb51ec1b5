package coldfetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/coldfetch/exec"
	"latlab.example/coldfetch/slug"
	"latlab.example/common/metrics"
)

// ErrNoDocument occurs when the store has no document of that slug. A Locator
// wraps it.
var ErrNoDocument = errors.New("no such document")

// ErrOptions occurs when a service can't be made of its Options.
var ErrOptions = errors.New("not a service")

// Locator makes documents local.
type Locator interface {
	// Locate says where the file of a key is, after fetching it if it isn't
	// there, and whether it had to be. Many goroutines call it at once. The error
	// wraps ErrNoDocument if there is none.
	Locate(ctx context.Context, key string) (path string, pulled bool, err error)
}

// Charge makes work cost virtual time in a bubble, where computing takes none.
type Charge struct {
	// Use takes so much time of a processor: bubble.CPU's.
	Use func(context.Context, time.Duration) error

	Locate, Build, Lean, JSON, Gzip, Manifest, Corpus, Health time.Duration
}

// Options shape a service.
type Options struct {
	Locator  Locator
	Executor exec.Executor     // the caller closes it, after the service's last request
	Names    []string          // of all documents, for the listing
	Root     string            // of keys; see slug.Key
	Recorder *metrics.Recorder // of Stages; nil makes one

	Nodes        int          // size of a build; 600 if zero
	Profile      BuildProfile // AsIs if empty
	Flight       Flight       // whether callers share a build; sharing pulls is the Locator's
	CacheEntries int          // built documents that are kept; none if zero
	CacheBytes   int          // likewise; 64 MiB if zero
	Gzip         bool         // compress answers for clients that take it
	Charge       *Charge      // only in a bubble
}

// DefaultNodes is the size of a build that isn't stated: some tens of
// milliseconds of one core, as it is.
const DefaultNodes = 600

// PathHeader tells in an answer which code path made it: pull or local, then
// build or cache. Which path ran is one thing, how long it took another.
const PathHeader = "Latlab-Path"

// Route is an address of the service.
type Route string

// The routes.
const (
	DocRoute    Route = "doc"    // /api/doc/{slug}
	ListRoute   Route = "list"   // /api/list
	HealthRoute Route = "health" // /api/health
)

// Service answers requests for documents. It may be used by any number of
// goroutines, and holds nothing that must be closed.
type Service struct {
	o     Options
	rec   *metrics.Recorder
	cache *cache

	mu      sync.Mutex
	flights map[string]*flight // guarded by mu

	own      map[Route]*metrics.Histogram
	built    atomic.Uint64
	arrivals atomic.Uint64 // of requests for documents
	mux      *http.ServeMux
}

// New makes a service. The error wraps ErrOptions, or what slug.Of says of a name.
func New(o Options) (*Service, error) {
	switch {
	case o.Locator == nil || o.Executor == nil:
		return nil, fmt.Errorf("%w: it needs a Locator and an Executor", ErrOptions)
	case o.Nodes < 0 || o.CacheEntries < 0 || o.CacheBytes < 0:
		return nil, fmt.Errorf("%w: sizes can't be negative", ErrOptions)
	}
	if o.Nodes == 0 {
		o.Nodes = DefaultNodes
	}
	if o.Profile == "" {
		o.Profile = AsIs
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Recorder == nil {
		o.Recorder = metrics.NewRecorder(Stages)
	}
	s := &Service{
		o: o, rec: o.Recorder, cache: newCache(o.CacheEntries, o.CacheBytes), mux: http.NewServeMux(),
		flights: make(map[string]*flight), own: make(map[Route]*metrics.Histogram),
	}
	for _, name := range o.Names {
		if _, err := slug.Of(name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	s.handle(DocRoute, "GET /api/doc/{slug}", s.document)
	s.handle(ListRoute, "GET /api/list", s.list)
	s.handle(HealthRoute, "GET /api/health", s.health)
	return s, nil
}

func (s *Service) handle(r Route, pattern string, f http.HandlerFunc) {
	s.own[r] = metrics.NewHistogram()
	s.mux.HandleFunc(pattern, f)
}

// ServeHTTP answers /api/doc/{slug}, /api/list and /api/health.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Recorder is the one that times the service's stages.
func (s *Service) Recorder() *metrics.Recorder { return s.rec }

// Own is the time that handlers of a route took by their own clocks: from the
// moment at which they ran. The wait before it isn't in it, which is what makes a
// blocked service look fast to itself.
func (s *Service) Own(r Route) metrics.Dist { return s.own[r].Snapshot() }

// Cached is how many documents the cache holds, and about how many bytes.
func (s *Service) Cached() (entries, bytes int) { return s.cache.usage() }

// Builds is how many documents were built so far.
func (s *Service) Builds() uint64 { return s.built.Load() }

// timed counts what is left of a handler from now on as its own time.
func (s *Service) timed(r Route) (done func()) {
	began := time.Now()
	return func() { s.own[r].Record(int64(time.Since(began))) }
}

// charge takes virtual time for a part of the work.
func (s *Service) charge(ctx context.Context, of func(*Charge) time.Duration) error {
	return s.chargeTicking(ctx, of, func() {})
}

// chargeTicking does so in pieces, so that a lock can pass on in between.
func (s *Service) chargeTicking(ctx context.Context, of func(*Charge) time.Duration, tick func()) error {
	if s.o.Charge == nil {
		return nil
	}
	for left := of(s.o.Charge); left > 0; left -= exec.SwitchInterval {
		if err := s.o.Charge.Use(ctx, min(left, exec.SwitchInterval)); err != nil {
			return err
		}
		tick()
	}
	return nil
}

// answer is a response that isn't written yet.
type answer struct {
	body    []byte
	gzipped bool
	path    []string
	err     error
}

func (s *Service) document(w http.ResponseWriter, r *http.Request) {
	ctx, sl := r.Context(), r.PathValue("slug")
	// A few nanoseconds, other ones for each request: two that a lock lets go at one
	// instant of virtual time don't come back to it at one, where chance would order
	// them.
	apart := time.Duration(s.arrivals.Add(1) % 997)
	req := s.rec.Request()
	defer req.Finish()
	queued := req.Start()
	var a answer
	err := s.o.Executor.Handle(ctx, func(t *exec.Task) {
		req.End(0, Queue, queued)
		defer s.timed(DocRoute)()
		a = s.answer(ctx, t, req, sl, apart, s.o.Gzip && acceptsGzip(r))
	})
	if err == nil {
		err = a.err
	}
	m := req.Start()
	defer func() { req.End(0, Write, m) }()
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set(PathHeader, strings.Join(a.path, ","))
	w.Header().Set("Content-Type", "application/json")
	if s.o.Gzip {
		w.Header().Set("Vary", "Accept-Encoding")
	}
	if a.gzipped {
		w.Header().Set("Content-Encoding", "gzip")
	}
	send(w, a.body)
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // who reads it has gone; there is nobody to tell
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func fail(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	switch {
	case errors.Is(err, ErrNoDocument), errors.Is(err, slug.ErrSlug):
		code = http.StatusNotFound
	case errors.Is(err, exec.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		code = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), code)
}

func acceptsGzip(r *http.Request) bool {
	for enc := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(enc), ";")
		if strings.EqualFold(name, "gzip") && strings.TrimSpace(q) != "q=0" {
			return true
		}
	}
	return false
}

// answer is the handler of a document.
func (s *Service) answer(ctx context.Context, t *exec.Task, req *metrics.Request, sl string, apart time.Duration, zip bool) (a answer) {
	key, err := slug.Key(s.o.Root, sl)
	if err != nil {
		return answer{err: err}
	}
	m := req.Start()
	var path string
	var pulled bool
	t.Wait(func() {
		path, pulled, err = s.o.Locator.Locate(ctx, key)
		if err == nil {
			err = s.charge(ctx, func(c *Charge) time.Duration { return c.Locate + apart })
		}
	})
	req.End(0, Locate, m)
	if err != nil {
		return answer{err: fmt.Errorf("locate %s: %w", sl, err)}
	}
	a.path = []string{"local", "cache"}
	if pulled {
		a.path[0] = "pull"
	}
	built, ok := s.cache.get(sl)
	if !ok {
		a.path[1] = "build"
		if built, err = s.build(ctx, t, req, sl, path); err != nil {
			return answer{err: fmt.Errorf("build %s: %w", sl, err)}
		}
	}
	m = req.Start()
	defer func() { req.End(0, JSON, m) }()
	if a.body, err = json.Marshal(built); err != nil {
		return answer{err: err}
	}
	if err := s.charge(ctx, func(c *Charge) time.Duration { return c.JSON }); err != nil {
		return answer{err: err}
	}
	if zip {
		a.body, a.gzipped = compress(a.body), true
		if err := s.charge(ctx, func(c *Charge) time.Duration { return c.Gzip }); err != nil {
			return answer{err: err}
		}
	}
	return a
}

func compress(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer takes all
	_ = z.Close()
	return out.Bytes()
}

// flight is a build that others may wait for.
type flight struct {
	done  chan struct{} // closed when built and err are there
	built *Built
	err   error
}

// build builds, or waits for whoever builds the same document if that is shared.
// It isn't x/sync/singleflight, which doesn't tell who leads before it calls him:
// the leader computes, the others wait, and a Task has to know which.
func (s *Service) build(ctx context.Context, t *exec.Task, req *metrics.Request, sl, path string) (*Built, error) {
	if s.o.Flight != ShareBuild {
		return s.buildNow(ctx, t, req, sl, path)
	}
	s.mu.Lock()
	f, follows := s.flights[sl]
	if !follows {
		f = &flight{done: make(chan struct{})}
		s.flights[sl] = f
	}
	s.mu.Unlock()
	if follows {
		m := req.Start()
		defer func() { req.End(0, BuildIt, m) }()
		var err error
		t.Wait(func() {
			select {
			case <-f.done:
			case <-ctx.Done():
				err = ctx.Err()
			}
		})
		if err != nil {
			return nil, err
		}
		return f.built, f.err
	}
	// What others wait for goes on when its own caller gives up.
	f.built, f.err = s.buildNow(context.WithoutCancel(ctx), t, req, sl, path)
	s.mu.Lock()
	delete(s.flights, sl)
	s.mu.Unlock()
	close(f.done)
	return f.built, f.err
}

func (s *Service) buildNow(ctx context.Context, t *exec.Task, req *metrics.Request, sl, path string) (built *Built, err error) {
	queued := req.Start()
	herr := t.Heavy(ctx, func(tick func()) {
		req.End(0, Queue, queued)
		m := req.Start()
		defer func() { req.End(0, BuildIt, m) }()
		built, err = s.construct(ctx, sl, path, tick)
	})
	return built, errors.Join(herr, err)
}

// construct reads and builds, unless somebody did so meanwhile.
func (s *Service) construct(ctx context.Context, sl, path string, tick func()) (*Built, error) {
	if built, ok := s.cache.get(sl); ok {
		return built, nil
	}
	src, err := Open(path)
	if err != nil {
		return nil, err
	}
	s.built.Add(1)
	profile := s.o.Profile
	if s.o.Charge != nil {
		profile = Lean // the same result, and its time is charged
	}
	built := Build(src, s.o.Nodes, profile, tick)
	err = s.chargeTicking(ctx, func(c *Charge) time.Duration {
		if s.o.Profile == Lean {
			return c.Lean
		}
		return c.Build
	}, tick)
	if err != nil {
		return nil, err
	}
	s.cache.put(sl, built)
	return built, nil
}

// entry is a document of the listing.
type entry struct {
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// list answers in two steps, each of which waits for its turn.
func (s *Service) list(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	req := s.rec.Request()
	defer req.Finish()
	var out struct {
		Documents []entry `json:"documents"`
		Cached    int     `json:"cached"`
		Bytes     int     `json:"cached_bytes"`
	}
	var errs [2]error
	m := req.Start()
	err := s.o.Executor.Light(ctx, func(*exec.Task) {
		defer s.timed(ListRoute)()
		for _, name := range s.o.Names {
			sl, _ := slug.Of(name) // New has tried
			out.Documents = append(out.Documents, entry{name, sl})
		}
		errs[0] = s.charge(ctx, func(c *Charge) time.Duration { return c.Manifest })
		req.End(0, Manifest, m)
		m = req.Start()
	}, func(*exec.Task) {
		defer s.timed(ListRoute)()
		out.Cached, out.Bytes = s.cache.usage()
		errs[1] = s.charge(ctx, func(c *Charge) time.Duration { return c.Corpus })
		req.End(0, Corpus, m)
	})
	err = errors.Join(err, errs[0], errs[1])
	var body []byte
	if err == nil {
		body, err = json.Marshal(out)
	}
	m = req.Start()
	defer func() { req.End(0, Write, m) }()
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send(w, body)
}

// health does nothing, but takes its turn.
func (s *Service) health(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	var cerr error
	err := s.o.Executor.Light(ctx, func(*exec.Task) {
		defer s.timed(HealthRoute)()
		cerr = s.charge(ctx, func(c *Charge) time.Duration { return c.Health })
	})
	if err = errors.Join(err, cerr); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	send(w, []byte("ok\n"))
}
