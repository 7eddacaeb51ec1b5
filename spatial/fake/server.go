package fake

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"latlab.example/common/emu"
)

// Server is a fake PostgreSQL that listens. Its methods may be called
// concurrently.
type Server struct {
	cfg     Config
	cpu     CPU
	holds   *emu.Sampler  // nil without Config.Hold
	shared  chan *backend // those of Config.Backends that are free; nil without
	answers answers

	changing chan struct{} // a lock of Stop and Start from end to end; a mutex would stop a bubble's clock

	mu       sync.Mutex
	addr     string                // guarded by mu
	listener net.Listener          // guarded by mu; nil while it is stopped
	ctx      context.Context       // guarded by mu: ends with Stop
	stop     context.CancelFunc    // guarded by mu
	conns    map[net.Conn]struct{} // guarded by mu: of all kinds
	sessions map[uint32]*session   // guarded by mu: connections with a backend, by pid
	lastPID  uint32                // guarded by mu
	secrets  uint64                // guarded by mu
	use      Use                   // guarded by mu
	running  sync.WaitGroup        // everything that was started since Start
}

// Use is what a server was asked since it was made.
type Use struct {
	Accepted   int           // connections of all kinds
	Sessions   int           // those that got in
	Refused    int           // those that didn't, for the limit
	Cancels    int           // cancel requests
	Open       int           // connections that are open now, of all kinds
	MostOpen   int           // the most at one time
	Statements int           // that were run, empty ones excepted
	Failed     int           // that ended with an error
	Rows       int           // that were sent
	CPU        time.Duration // that was asked for
}

// New starts a server. Close it.
func New(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, cpu: cfg.CPU, conns: map[net.Conn]struct{}{}, sessions: map[uint32]*session{}, changing: make(chan struct{}, 1)}
	s.answers.init()
	if s.cpu == nil {
		s.cpu = newCores(cfg.Cores, cfg.Waiter)
	}
	if cfg.Hold != nil {
		s.holds = emu.NewSampler(cfg.Hold, cfg.Seed)
	}
	if cfg.Backends > 0 {
		s.shared = make(chan *backend, cfg.Backends)
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	return s, nil
}

// Start lets a stopped server listen again, at the same address and with new
// backends. It does nothing if it listens already.
func (s *Server) Start() error {
	s.changing <- struct{}{}
	defer func() { <-s.changing }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	l, err := s.listen()
	if err != nil {
		return fmt.Errorf("fake: listen: %w", err)
	}
	s.listener, s.addr = l, l.Addr().String()
	s.ctx, s.stop = context.WithCancel(context.Background())
	for len(s.shared) > 0 {
		<-s.shared
	}
	for range cap(s.shared) {
		s.shared <- newBackend()
	}
	s.running.Add(1)
	go s.accept(l)
	return nil
}

// listen needs mu.
func (s *Server) listen() (net.Listener, error) {
	if s.cfg.Listen != nil {
		return s.cfg.Listen()
	}
	addr := s.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
}

// Stop ends the server as a fast shutdown does: statements are aborted,
// connections told so (57P01) and closed, and new ones are refused by the
// network. It returns when nothing runs any more.
func (s *Server) Stop() error {
	s.changing <- struct{}{}
	defer func() { <-s.changing }()
	s.mu.Lock()
	l := s.listener
	if l == nil {
		s.mu.Unlock()
		return nil
	}
	s.listener = nil
	s.stop()
	err := l.Close()
	for c := range s.conns {
		hangUp(c)
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// farewell is how long a client that doesn't read may keep a connection open
// that the server wants to close.
const farewell = time.Second

// hangUp makes a connection's session stop reading, and soon writing.
func hangUp(c net.Conn) {
	_ = c.SetReadDeadline(time.Unix(1, 0)) // a connection that refuses is closed already
	_ = c.SetWriteDeadline(time.Now().Add(farewell))
}

// Close stops the server for good.
func (s *Server) Close() error { return s.Stop() }

// Addr is where it listens, or did: host:port.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// DSN is a connection string for pgx and psql.
func (s *Server) DSN() string {
	return "postgres://latlab@" + s.Addr() + "/latlab?sslmode=disable"
}

// Use says what the server was asked.
func (s *Server) Use() Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.use
}

func (s *Server) accept(l net.Listener) {
	defer s.running.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			return // the listener was closed
		}
		s.mu.Lock()
		if s.listener != l {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.conns[conn] = struct{}{}
		s.use.Accepted++
		s.use.Open++
		s.use.MostOpen = max(s.use.MostOpen, s.use.Open)
		ctx := s.ctx
		s.running.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.running.Done()
			newSession(s, conn).run(ctx)
			_ = conn.Close() // what matters was written and flushed
			s.mu.Lock()
			delete(s.conns, conn)
			s.use.Open--
			s.mu.Unlock()
		}()
	}
}

// admit gives a session a process id, unless there are too many.
func (s *Server) admit(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= s.cfg.MaxConns {
		s.use.Refused++
		return false
	}
	s.use.Sessions++
	s.lastPID++
	x.pid = s.lastPID
	s.secrets = s.secrets*6364136223846793005 + 1442695040888963407
	x.secret = uint32(s.secrets >> 32)
	s.sessions[x.pid] = x
	return true
}

func (s *Server) dismiss(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, x.pid)
}

// session finds a connection by its process id.
func (s *Server) session(pid uint32) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[pid]
}

// count adds to what the server was asked.
func (s *Server) count(f func(*Use)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.use)
}

// later calls f when the delay is over, or not if the server stops before.
func (s *Server) later(ctx context.Context, delay time.Duration, f func()) {
	if delay <= 0 {
		f()
		return
	}
	// Called by a session, which is counted: so running can't be zero here.
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		if emu.Wait(ctx, s.cfg.Waiter, delay) == nil {
			f()
		}
	}()
}
