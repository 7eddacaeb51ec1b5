package bubble

import (
	"cmp"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Addr is the address of an end of a connection, usually host:port. Nothing
// is looked up. Its network is "tcp", as that is what clients ask for.
type Addr string

// Network returns "tcp".
func (Addr) Network() string { return "tcp" }

func (a Addr) String() string { return string(a) }

// Conn is an end of a connection in memory. It behaves as a TCP connection
// does and returns the same errors: io.EOF, and a *net.OpError with
// net.ErrClosed, os.ErrDeadlineExceeded, EPIPE or ECONNRESET in it. The reset
// comes behind the data that were sent before, so none are lost by chance. All
// methods may be called from several goroutines at once.
//
// It has a buffer, where net.Pipe has none. There a Write waits for the other
// end's Read, so that two ends that both write first hang (a server that
// answers before it has read all, a database client that sends a batch), and a
// write deadline means something else than on a network.
type Conn struct {
	in, out       *half
	local, remote Addr
	shut          atomic.Bool // Close was called
}

var (
	_ net.Conn = (*Conn)(nil)
	_ net.Addr = Addr("")
)

// newConns makes the two ends.
func newConns(l Link, client, server Addr) (c, s *Conn) {
	up, down := newHalf(l), newHalf(l)
	return &Conn{in: down, out: up, local: client, remote: server},
		&Conn{in: up, out: down, local: server, remote: client}
}

// Read waits until bytes have arrived and returns what fits.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	return n, c.wrap("read", err)
}

// Write returns when all bytes are in the buffer.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	return n, c.wrap("write", err)
}

// Close ends both directions. What was written still arrives. If bytes for
// this end were on the way or unread, the other end gets a reset behind them.
func (c *Conn) Close() error {
	if c.shut.Swap(true) {
		return c.wrap("close", net.ErrClosed)
	}
	end := io.EOF
	if c.in.closeRead(net.ErrClosed, true) {
		end = os.NewSyscallError("read", syscall.ECONNRESET)
	}
	c.out.closeWrite(net.ErrClosed, end)
	return nil
}

// reset ends both directions as a host does that knows nothing of the
// connection.
func (c *Conn) reset() {
	c.shut.Store(true)
	c.in.closeRead(net.ErrClosed, true)
	c.out.closeWrite(net.ErrClosed, os.NewSyscallError("read", syscall.ECONNRESET))
}

// CloseWrite tells the other end that nothing more comes. Reading goes on.
func (c *Conn) CloseWrite() error {
	if c.shut.Load() {
		return c.wrap("close", net.ErrClosed)
	}
	c.out.closeWrite(os.NewSyscallError("write", syscall.EPIPE), io.EOF)
	return nil
}

// CloseRead makes Read return io.EOF and drops what comes in. The other end
// isn't told. Writing goes on.
func (c *Conn) CloseRead() error {
	if c.shut.Load() {
		return c.wrap("close", net.ErrClosed)
	}
	c.in.closeRead(io.EOF, false)
	return nil
}

// LocalAddr is this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end's address. On the side that dialled it is what
// was dialled, so that it can be dialled again.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return cmp.Or(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the instant from which on Read fails, also one that
// waits, and also if bytes are there. The zero time means never.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.shut.Load() {
		return c.wrap("set", net.ErrClosed)
	}
	c.in.setDeadline(&c.in.read, t)
	return nil
}

// SetWriteDeadline sets the instant from which on Write fails, also one that
// waits. The zero time means never.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if c.shut.Load() {
		return c.wrap("set", net.ErrClosed)
	}
	c.out.setDeadline(&c.out.write, t)
	return nil
}

// wrap makes the error that package net would return.
func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // io.EOF itself must pass unwrapped, as package net does it
		return err
	}
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}
