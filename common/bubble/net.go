package bubble

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"latlab.example/common/emu"
)

// Net is a network in memory. Its connections and listeners wait in a way that
// lets a bubble's clock go on. DialContext fits http.Transport.DialContext and
// the dial functions of other clients, a listener fits http.Server.Serve:
//
//	n := bubble.NewNet(bubble.Link{RTT: 2 * time.Millisecond})
//	l, err := n.Listen("store:80")
//	go server.Serve(l)
//	client := &http.Client{Transport: &http.Transport{DialContext: n.DialContext}}
//	client.Get("http://store/")
//
// Names aren't looked up: what is dialled must be the text that somebody
// listens at. A client that looks up by itself wants an address such as
// 192.0.2.1:5432, or a look-up function that returns its argument.
//
// Make it in the bubble. It is safe for concurrent use. A Net with a zero Link
// works outside, too.
type Net struct {
	link Link

	mu        sync.Mutex         // never held across a wait; guards listeners' fields, too
	links     map[Addr]Link      // guarded by mu
	listeners map[Addr]*listener // guarded by mu
	dials     int                // guarded by mu
}

// Backlog is how many connections may wait to be accepted at a listener. The
// next one waits for a place among them, as Linux has it: there the client asks
// again until there is one. (It asks each second or less often; here it gets
// the place at once.) It is Linux's default.
const Backlog = 4096

// NewNet makes a network whose connections have the link.
func NewNet(l Link) *Net {
	return &Net{link: l, links: make(map[Addr]Link), listeners: make(map[Addr]*listener)}
}

// SetLink gives connections to an address, from now on, a link of their own.
func (n *Net) SetLink(address string, l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[Addr(address)] = l
}

// Listen listens at an address, which is any text without regard to its form;
// clients of http want host:port. An address in use gives EADDRINUSE.
func (n *Net) Listen(address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := Addr(address)
	if n.listeners[a] != nil {
		return nil, opError("listen", a, os.NewSyscallError("bind", syscall.EADDRINUSE))
	}
	l := &listener{net: n, addr: a}
	l.ready.L = &n.mu
	n.listeners[a] = l
	return l, nil
}

// Dial is DialContext without a context.
func (n *Net) Dial(network, address string) (net.Conn, error) {
	return n.DialContext(context.Background(), network, address)
}

// DialContext connects to a listener. It takes a round trip, and waits for a
// place in the backlog. If nobody listens there when it arrives it returns
// ECONNREFUSED after the round trip. If ctx ends before it is connected it
// returns the context's error. All of these are in a *net.OpError. The network
// is tcp, tcp4 or tcp6.
func (n *Net) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	a := Addr(address)
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return nil, opError("dial", a, net.UnknownNetworkError(network))
	}
	link := n.linkTo(a)
	way := func() error { return emu.Wait(ctx, emu.Sleep, link.oneWay()) }
	if err := way(); err != nil {
		return nil, opError("dial", a, err)
	}
	d, err := n.knock(a, link)
	if err == nil {
		err = d.wait(ctx)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		if ended := way(); ended != nil {
			err = ended
		}
	}
	if err != nil {
		return nil, opError("dial", a, err)
	}
	if err := way(); err != nil {
		_ = d.client.Close()
		return nil, opError("dial", a, err)
	}
	return d.client, nil
}

func (n *Net) linkTo(a Addr) Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l, ok := n.links[a]; ok {
		return l
	}
	return n.link
}

var errRefused = os.NewSyscallError("connect", syscall.ECONNREFUSED)

// knock joins the queue at a listener.
func (n *Net) knock(a Addr, link Link) (*dial, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[a]
	if l == nil {
		return nil, errRefused
	}
	n.dials++
	d := &dial{listener: l, answer: make(chan error, 1)}
	d.client, d.server = newConns(link, Addr(fmt.Sprintf("client:%d", n.dials)), a)
	l.queue = append(l.queue, d)
	if len(l.queue) <= Backlog {
		d.answer <- nil
	}
	l.ready.Signal()
	return d, nil
}

// dial is a connection that isn't accepted yet.
type dial struct {
	listener       *listener
	client, server *Conn
	answer         chan error // one message: whether it has a place in the backlog
}

// wait waits for a place in the backlog.
func (d *dial) wait(ctx context.Context) error {
	select {
	case err := <-d.answer:
		return err
	case <-ctx.Done():
	}
	n := d.listener.net
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case err := <-d.answer: // at the same instant
		return err
	default:
	}
	q := d.listener.queue
	i := slices.Index(q, d)
	d.listener.queue = slices.Delete(q, i, i+1)
	return ctx.Err()
}

// listener is a net.Listener of a Net.
type listener struct {
	net  *Net
	addr Addr

	// Guarded by net.mu:
	queue  []*dial // the first Backlog of them have an answer
	closed bool
	ready  sync.Cond
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	for {
		if l.closed {
			return nil, opError("accept", l.addr, net.ErrClosed)
		}
		if len(l.queue) > 0 {
			break
		}
		l.ready.Wait()
	}
	d := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	if len(l.queue) >= Backlog {
		l.queue[Backlog-1].answer <- nil
	}
	return d.server, nil
}

// Close stops listening. Connections that nobody accepted are reset, or
// refused if they were waiting for a place.
func (l *listener) Close() error {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.closed {
		return opError("close", l.addr, net.ErrClosed)
	}
	l.closed = true
	delete(l.net.listeners, l.addr)
	for i, d := range l.queue {
		if i < Backlog {
			d.server.reset()
		} else {
			d.answer <- errRefused
		}
	}
	l.queue = nil
	l.ready.Broadcast()
	return nil
}

// Addr is what was given to Listen.
func (l *listener) Addr() net.Addr { return l.addr }

func opError(op string, a Addr, err error) error {
	return &net.OpError{Op: op, Net: a.Network(), Addr: a, Err: err}
}
