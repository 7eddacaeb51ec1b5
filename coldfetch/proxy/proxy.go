// Package proxy is a reverse proxy in front of a service that records what the
// client's side saw: how long the service took until its last byte
// (upstream), and what it took after that to hand the answer on (transfer).
// Beside the service's own clock this is the study's second table.
//
// It is net/http/httputil's proxy with three additions: times by route, a read
// timeout whose victims are counted as such, and a buffer.
package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/common/metrics"
)

// ReadTimeout is the default of a proxy in wide use. A time near it is
// censored: the request took so long or longer.
const ReadTimeout = 60 * time.Second

// Options shape a proxy.
type Options struct {
	Upstream *url.URL
	// Transport reaches the service; the proxy closes its idle connections. nil
	// makes one that keeps as many connections as come.
	Transport *http.Transport
	// Buffer is how much of an answer the proxy takes from the service as fast as
	// it comes, for a client who is slower; 0 passes on as the client reads.
	Buffer int
	// Timeout is for the service to begin its answer; ReadTimeout if zero.
	Timeout time.Duration
	// Route names what a request is counted under; nil is its path.
	Route func(*http.Request) string
}

// Seen is what the proxy saw of a route.
type Seen struct {
	Total    metrics.Dist // from the request's arrival to the answer's last byte
	Upstream metrics.Dist // of it, until the service's last byte came
	Transfer metrics.Dist // the rest
	Timeouts uint64       // answered 504; they aren't in the distributions
	Failures uint64       // the service couldn't be reached or broke off; likewise
	Gone     uint64       // the client left first; likewise
	Bytes    uint64       // of bodies, as the service sent them
}

// Proxy is an http.Handler. It may be used by any number of goroutines.
type Proxy struct {
	o     Options
	proxy httputil.ReverseProxy

	mu     sync.Mutex
	routes map[string]*counts // guarded by mu
}

type counts struct {
	total, upstream, transfer       metrics.Histogram
	timeouts, failures, gone, bytes atomic.Uint64
}

// New makes a proxy.
func New(o Options) (*Proxy, error) {
	if o.Upstream == nil || o.Upstream.Host == "" {
		return nil, errors.New("proxy: name the service: http://host:port")
	}
	if o.Buffer < 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("proxy: buffer %d and timeout %v can't be negative", o.Buffer, o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = ReadTimeout
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{MaxIdleConnsPerHost: 1024}
	}
	o.Transport.DisableCompression = true // what the client accepts is passed on
	if o.Route == nil {
		o.Route = func(r *http.Request) string { return r.URL.Path }
	}
	p := &Proxy{o: o, routes: make(map[string]*counts)}
	p.proxy = httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(o.Upstream) },
		Transport:      o.Transport,
		ModifyResponse: p.watch,
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { p.failed(w, r, err) },
	}
	return p, nil
}

// Close closes connections to the service that nobody uses.
func (p *Proxy) Close() { p.o.Transport.CloseIdleConnections() }

// Seen is what was seen of a route so far.
func (p *Proxy) Seen(route string) Seen {
	c := p.route(route)
	return Seen{
		Total: c.total.Snapshot(), Upstream: c.upstream.Snapshot(), Transfer: c.transfer.Snapshot(),
		Timeouts: c.timeouts.Load(), Failures: c.failures.Load(), Gone: c.gone.Load(), Bytes: c.bytes.Load(),
	}
}

func (p *Proxy) route(name string) *counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.routes[name]
	if c == nil {
		c = new(counts)
		p.routes[name] = c
	}
	return c
}

// visit is one request under way. Its goroutine alone uses it, but for the timer
// and the filler of the buffer, which use the fields that say so.
type visit struct {
	counts *counts
	began  time.Time
	failed bool
	last   atomic.Int64 // nanoseconds from began until the service's last byte; 0 is not yet
}

type visitKey struct{}

// errTimeout is the cause of a request's end at the read timeout.
var errTimeout = errors.New("the service didn't answer in time")

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &visit{counts: p.route(p.o.Route(r)), began: time.Now()}
	ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), visitKey{}, v))
	defer cancel(nil)
	timer := time.AfterFunc(p.o.Timeout, func() { cancel(errTimeout) })
	defer timer.Stop()
	ctx = context.WithValue(ctx, timerKey{}, timer)
	defer func() {
		if e := recover(); e != nil { // httputil breaks off so when the body fails
			if !v.failed {
				p.count(v, r.WithContext(ctx), errors.New("the answer broke off"))
			}
			panic(e)
		}
	}()
	p.proxy.ServeHTTP(w, r.WithContext(ctx))
	if v.failed {
		return
	}
	total, last := int64(time.Since(v.began)), v.last.Load()
	if last == 0 { // without a body, or with one that the client left
		last = total
	}
	v.counts.total.Record(total)
	v.counts.upstream.Record(last)
	v.counts.transfer.Record(total - last)
}

type timerKey struct{}

// watch stops the timer, and takes the time of the service's last byte.
func (p *Proxy) watch(res *http.Response) error {
	ctx := res.Request.Context()
	v := ctx.Value(visitKey{}).(*visit)
	ctx.Value(timerKey{}).(*time.Timer).Stop()
	res.Body = &timedBody{ReadCloser: res.Body, v: v}
	if p.o.Buffer > 0 {
		res.Body = newBuffer(res.Body, p.o.Buffer)
	}
	return nil
}

func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	v := r.Context().Value(visitKey{}).(*visit)
	code := p.count(v, r, err)
	http.Error(w, err.Error(), code)
}

func (p *Proxy) count(v *visit, r *http.Request, err error) (code int) {
	v.failed = true
	switch cause := context.Cause(r.Context()); {
	case errors.Is(cause, errTimeout):
		v.counts.timeouts.Add(1)
		return http.StatusGatewayTimeout
	case cause != nil, errors.Is(err, net.ErrClosed):
		v.counts.gone.Add(1)
	default:
		v.counts.failures.Add(1)
	}
	return http.StatusBadGateway
}

// timedBody notes when the service's body ended.
type timedBody struct {
	io.ReadCloser
	v *visit
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.v.counts.bytes.Add(uint64(n))
	if err == io.EOF {
		b.v.last.CompareAndSwap(0, max(int64(time.Since(b.v.began)), 1))
	}
	return n, err
}

// buffer reads ahead, up to its size.
type buffer struct {
	body  io.ReadCloser
	ready chan []byte // what was read and not yet passed on
	err   error       // of body; set before ready is closed
	now   bytes.Reader
	stop  chan struct{} // closed by Close
	once  sync.Once
	ended chan struct{} // closed when the filler has ended
}

const piece = 32 << 10

func newBuffer(body io.ReadCloser, size int) *buffer {
	b := &buffer{body: body, ready: make(chan []byte, max(size/piece, 1)), stop: make(chan struct{}), ended: make(chan struct{})}
	go b.fill()
	return b
}

func (b *buffer) fill() {
	defer close(b.ended)
	defer close(b.ready)
	for {
		p := make([]byte, piece)
		n := 0
		var err error
		for n < piece && err == nil {
			var k int
			k, err = b.body.Read(p[n:])
			n += k
		}
		if n > 0 {
			select {
			case b.ready <- p[:n]:
			case <-b.stop:
				return
			}
		}
		if err != nil {
			b.err = err
			return
		}
	}
}

func (b *buffer) Read(p []byte) (int, error) {
	for b.now.Len() == 0 {
		next, ok := <-b.ready
		if !ok {
			return 0, b.err
		}
		b.now.Reset(next)
	}
	return b.now.Read(p)
}

// Close ends the filler, also one that waits for the service.
func (b *buffer) Close() error {
	b.once.Do(func() { close(b.stop) })
	err := b.body.Close()
	<-b.ended
	return err
}
