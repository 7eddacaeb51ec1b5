package fake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"latlab.example/common/emu"
)

// Why a session or a statement ends early.
var (
	errClosed     = errors.New("the connection is to be closed")
	errCanceled   = errors.New("canceled")
	errTerminated = errors.New("terminated")
)

// A backend has what outlives a transaction. Behind a pooler it isn't the
// connection's own.
type backend struct {
	prepared map[string]*plan
}

func newBackend() *backend { return &backend{prepared: map[string]*plan{}} }

// session is a connection. All but interrupt and terminate is called by its own
// goroutine.
type session struct {
	server *Server
	conn   net.Conn
	in     *pgproto3.Backend // receives; what is sent goes through out
	out    []byte

	pid, secret uint32
	ctx         context.Context
	backend     *backend
	status      byte // I: idle, T: in a transaction, E: in a failed one
	portals     map[string]*portal
	skipping    bool // up to the next Sync, after an error

	mu     sync.Mutex
	cancel context.CancelCauseFunc // guarded by mu: of the statement that runs, else nil
}

const maxMessage = 4 << 20

func newSession(s *Server, conn net.Conn) *session {
	in := pgproto3.NewBackend(conn, conn)
	in.SetMaxBodyLen(maxMessage)
	return &session{server: s, conn: conn, in: in, status: 'I', portals: map[string]*portal{}}
}

func (x *session) run(ctx context.Context) {
	x.ctx = ctx
	if !x.start() {
		return
	}
	defer x.server.dismiss(x)
	defer x.release()
	for {
		msg, err := x.in.Receive()
		if err == nil {
			err = x.handle(msg)
		}
		switch {
		case err == nil:
		case errors.Is(err, errClosed):
			return
		case x.ctx.Err() != nil || errors.Is(err, errTerminated) || isTimeout(err): // nothing else sets a deadline
			x.send(fatal(codeShutdown, "terminating connection due to administrator command"))
			_ = x.flush() // the client may be gone
			return
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed):
			return
		default:
			x.send(fatal(codeProtocol, "%s", err))
			_ = x.flush() // the client may be gone
			return
		}
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// start is all up to the first ReadyForQuery. It is false if the connection
// never gets there.
func (x *session) start() bool {
	for {
		msg, err := x.in.ReceiveStartupMessage()
		if err != nil {
			return false
		}
		switch msg := msg.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := x.conn.Write([]byte{'N'}); err != nil {
				return false
			}
		case *pgproto3.CancelRequest:
			x.cancelOther(msg)
			return false
		case *pgproto3.StartupMessage:
			return x.greet(msg)
		default:
			return false
		}
	}
}

func (x *session) cancelOther(msg *pgproto3.CancelRequest) {
	s := x.server
	s.count(func(u *Use) { u.Cancels++ })
	delay := s.cfg.CancelDelay
	if f, ok := s.cfg.Faults.Next("cancel"); ok {
		if f.Kind != emu.Slow {
			return
		}
		delay += f.Delay
	}
	other := s.session(msg.ProcessID)
	if other == nil || len(msg.SecretKey) != 4 || binary.BigEndian.Uint32(msg.SecretKey) != other.secret {
		return
	}
	s.later(x.ctx, delay, other.interrupt)
}

func (x *session) greet(msg *pgproto3.StartupMessage) bool {
	s := x.server
	refuse := func(e *pgproto3.ErrorResponse) bool {
		x.send(e)
		_ = x.flush() // the client may be gone
		return false
	}
	if f, ok := s.cfg.Faults.Next("connect"); ok {
		switch f.Kind {
		case emu.Slow:
			if emu.Wait(x.ctx, s.cfg.Waiter, f.Delay) != nil {
				return false
			}
		case emu.Reset, emu.Torn:
			x.reset()
			return false
		case emu.Short:
			x.silence()
			return false
		default:
			return refuse(fatal(codeStarting, "the database system is starting up"))
		}
	}
	if msg.ProtocolVersion != pgproto3.ProtocolVersion30 {
		x.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: pgproto3.ProtocolVersion30})
	}
	if !s.admit(x) {
		return refuse(fatal(codeTooMany, "sorry, too many clients already"))
	}
	if s.cpu.Use(x.ctx, s.cfg.Cost.Connect) != nil {
		s.dismiss(x)
		return refuse(fatal(codeShutdown, "terminating connection due to administrator command"))
	}
	x.send(&pgproto3.AuthenticationOk{})
	for _, p := range [...][2]string{
		{"application_name", msg.Parameters["application_name"]},
		{"client_encoding", "UTF8"},
		{"DateStyle", "ISO, MDY"},
		{"integer_datetimes", "on"},
		{"server_encoding", "UTF8"},
		{"server_version", serverVersion},
		{"standard_conforming_strings", "on"},
		{"TimeZone", "UTC"},
	} {
		x.send(&pgproto3.ParameterStatus{Name: p[0], Value: p[1]})
	}
	x.send(&pgproto3.BackendKeyData{ProcessID: x.pid, SecretKey: binary.BigEndian.AppendUint32(nil, x.secret)})
	if x.ready() != nil {
		s.dismiss(x)
		return false
	}
	return true
}

func (x *session) send(msg pgproto3.BackendMessage) {
	b, err := msg.Encode(x.out)
	if err != nil { // only what is larger than a message can be
		b, _ = fatal(codeProtocol, "the answer can't be sent: %s", err).Encode(x.out) // is never so large
	}
	x.out = b
}

func (x *session) flush() error {
	if len(x.out) == 0 {
		return nil
	}
	_, err := x.conn.Write(x.out)
	x.out = x.out[:0]
	if err != nil {
		return errors.Join(errClosed, err)
	}
	return nil
}

// full flushes when so much is waiting that a client may as well begin to read.
func (x *session) full() error {
	if len(x.out) < 64<<10 {
		return nil
	}
	return x.flush()
}

// ready ends a transaction, if one isn't open, and a round trip.
func (x *session) ready() error {
	if x.status == 'I' {
		clear(x.portals)
		x.release()
	}
	x.send(&pgproto3.ReadyForQuery{TxStatus: x.status})
	return x.flush()
}

// acquire gets a backend, and release gives it back.
func (x *session) acquire() error {
	switch {
	case x.backend != nil:
	case x.server.shared == nil:
		x.backend = newBackend()
	default:
		select {
		case x.backend = <-x.server.shared:
		case <-x.ctx.Done():
			return errTerminated
		}
	}
	return nil
}

func (x *session) release() {
	if x.server.shared != nil && x.backend != nil {
		x.server.shared <- x.backend
		x.backend = nil
	}
}

// reset breaks the connection, without an orderly end where there is one to
// leave out.
func (x *session) reset() {
	if tcp, ok := x.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // then Close sends a reset
	}
}

// silence waits until the client gives up or the server stops.
func (x *session) silence() { _, _ = io.Copy(io.Discard, x.conn) }

// interrupt is the signal of a cancel request. It hits the statement that runs,
// and nothing if none does.
func (x *session) interrupt() { x.abort(errCanceled) }

// terminate ends the session.
func (x *session) terminate() {
	x.abort(errTerminated)
	hangUp(x.conn)
}

func (x *session) abort(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cancel != nil {
		x.cancel(why)
	}
}

// statementContext is cancelled by interrupt and terminate until done is called.
func (x *session) statementContext() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(x.ctx)
	x.mu.Lock()
	x.cancel = cancel
	x.mu.Unlock()
	return ctx, func() {
		x.mu.Lock()
		x.cancel = nil
		x.mu.Unlock()
		cancel(nil)
	}
}

// handle answers a message. An error that isn't a SQL error ends the session.
func (x *session) handle(msg pgproto3.FrontendMessage) error {
	switch msg := msg.(type) {
	case *pgproto3.Terminate:
		return errClosed
	case *pgproto3.Sync:
		x.skipping = false
		return x.ready()
	case *pgproto3.Flush:
		return x.flush()
	case *pgproto3.Query:
		if err := x.acquire(); err != nil {
			return err
		}
		if err := x.simple(msg.String); err != nil {
			return err
		}
		return x.ready()
	}
	if x.skipping {
		return nil
	}
	if err := x.acquire(); err != nil {
		return err
	}
	var fail *pgproto3.ErrorResponse
	var err error
	switch msg := msg.(type) {
	case *pgproto3.Parse:
		fail = x.parse(msg)
	case *pgproto3.Bind:
		fail = x.bind(msg)
	case *pgproto3.Describe:
		fail = x.describe(msg)
	case *pgproto3.Execute:
		fail, err = x.execute(msg)
	case *pgproto3.Close:
		if msg.ObjectType == 'S' {
			delete(x.backend.prepared, msg.Name)
		} else {
			delete(x.portals, msg.Name)
		}
		x.send(&pgproto3.CloseComplete{})
	default:
		return fmt.Errorf("the fake doesn't take messages of type %s", strings.TrimPrefix(fmt.Sprintf("%T", msg), "*pgproto3."))
	}
	if fail != nil {
		x.skipping = true
		return x.fail(fail)
	}
	return err
}

// fail sends a SQL error and fails the transaction.
func (x *session) fail(e *pgproto3.ErrorResponse) error {
	x.server.count(func(u *Use) { u.Failed++ })
	if x.status == 'T' {
		x.status = 'E'
	}
	if e.Severity == "FATAL" {
		x.send(e)
		_ = x.flush() // the client may be gone
		return errClosed
	}
	x.send(e)
	return nil
}

// passed is how long ago the waiter had this time.
func (x *session) passed(since time.Time) time.Duration {
	return x.server.cfg.Waiter.Now().Sub(since)
}
