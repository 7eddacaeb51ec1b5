package fake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a fake S3 server. It is an http.Handler, but one made by [New] alone
// can't tell connections apart: it then charges no Connect, and breaks a
// connection in an orderly way where a fault says reset. Its methods may be
// called concurrently.
type Server struct {
	cfg   Config
	store *store
	pacer *pacer
	use   use
	ids   atomic.Uint64
	http  *http.Server

	mu     sync.Mutex
	closed bool           // guarded by mu
	conns  sync.WaitGroup // those of http
	loops  sync.WaitGroup // calls of Serve
}

// Use is what a server was asked since it was made, refused requests left out.
type Use struct {
	Gets, Heads, Puts, Lists, Deletes uint64
	Multipart                         uint64 // create, part, complete and abort
	Connections                       uint64
	BytesOut                          int64 // of objects
}

type use struct {
	gets, heads, puts, lists, deletes, multipart, conns atomic.Uint64
	bytes                                               atomic.Int64
}

func (u *use) count(op string) {
	switch op {
	case opGet:
		u.gets.Add(1)
	case opHead:
		u.heads.Add(1)
	case opPut:
		u.puts.Add(1)
	case opList:
		u.lists.Add(1)
	case opDelete:
		u.deletes.Add(1)
	case opCreate, opPart, opComplete, opAbort:
		u.multipart.Add(1)
	}
}

// conn is a connection that knows whether it was used.
type conn struct {
	net.Conn
	used atomic.Bool
}

// New makes a server. It listens nowhere yet. The error wraps ErrConfig, or
// emu.ErrUnknownOp for a fault at an operation that isn't there.
func New(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, store: newStore(cfg.Buckets), pacer: newPacer(&cfg)}
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, &conn{Conn: c})
		},
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.use.conns.Add(1)
				s.conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.conns.Done()
			}
		},
	}
	return s, nil
}

// Start listens on a TCP address, in the background, and returns the address; an
// empty one is a free port of 127.0.0.1.
func (s *Server) Start(addr string) (string, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("fake: %w; name a free address", err)
	}
	s.Serve(l)
	return l.Addr().String(), nil
}

// Serve takes connections from a listener, in the background, until Close. It
// closes the listener.
func (s *Server) Serve(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = l.Close()
		return
	}
	s.loops.Go(func() { _ = s.http.Serve(l) }) // it always ends with an error, ErrServerClosed if all is well
}

// Close breaks all connections, and waits for their goroutines.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close()
	s.loops.Wait()
	// A connection may have come in while the others were closed.
	err = errors.Join(err, s.http.Close())
	s.conns.Wait()
	return err
}

// Use is what the server was asked so far.
func (s *Server) Use() Use {
	u := &s.use
	return Use{
		Gets: u.gets.Load(), Heads: u.heads.Load(), Puts: u.puts.Load(), Lists: u.lists.Load(), Deletes: u.deletes.Load(),
		Multipart: u.multipart.Load(), Connections: u.conns.Load(), BytesOut: u.bytes.Load(),
	}
}

// Put stores an object without a request, as a seeder that is nobody's client.
// The server keeps body, which must not change any more. The error is that of a
// bucket that isn't there.
func (s *Server) Put(bucket, key string, body []byte) error {
	o := &object{body: body, etag: etagOf(body), mod: now(), meta: http.Header{}, sum: sum{defaultSum, sumOf(defaultSum, body)}}
	if f := s.store.put(bucket, key, o, http.Header{}); f != nil {
		return fmt.Errorf("fake: put %s/%s: %s", bucket, key, f.code)
	}
	return nil
}

func (s *Server) requestID() string { return "latlab-" + strconv.FormatUint(s.ids.Add(1), 16) }
