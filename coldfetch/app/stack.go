// Package app puts the service, its puller and a proxy together and runs them,
// for any load tool ([Serve], the command behind `latlab app coldfetch`) and for
// the study's rigs ([Start]).
package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/exec"
	"latlab.example/coldfetch/proxy"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/metrics"
)

// Config says what to start. Client and Bucket are needed.
type Config struct {
	Client *minio.Client // its owner closes its transport's idle connections
	Bucket string
	Prefix string // before all keys: empty, or ends with a slash

	Dir  string // of pulled files; a temporary folder, removed by Close, if empty
	Sync pull.Sync

	Mode         coldfetch.Mode // Loop if empty
	Flight       coldfetch.Flight
	CacheEntries int
	Gzip         bool
	Profile      coldfetch.BuildProfile
	Nodes        int
	ProxyBuffer  int // bytes; see proxy.Options

	Recorder     *metrics.Recorder // of coldfetch.Stages; nil makes one
	PullRecorder *metrics.Recorder // of pull.Stages; nil makes one
	Charge       *coldfetch.Charge // in a bubble

	// Listen listens for the part of that name, "service" or "proxy"; nil takes
	// free ports of loopback. Dial is how the proxy reaches the service; nil is the
	// network.
	Listen func(part string) (net.Listener, error)
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	// Around, if there, wraps the proxy's handler.
	Around func(h http.Handler, s *Stack) http.Handler
}

// Stack is a service that runs, with a proxy in front.
type Stack struct {
	Service  *coldfetch.Service
	Executor exec.Executor
	Puller   *pull.Puller
	Proxy    *proxy.Proxy
	Pulls    *metrics.Recorder // of pull.Stages
	Direct   string            // the service's URL, past the proxy
	URL      string            // the proxy's

	open  sync.WaitGroup // requests that the service or the proxy is at
	dir   string         // removed by Close; "" is the caller's
	close []func() error
}

// puller is a Locator that pulls.
type puller struct{ *pull.Puller }

func (p puller) Locate(ctx context.Context, key string) (string, bool, error) {
	path, stats, err := p.Pull(ctx, key)
	if errors.Is(err, pull.ErrNotFound) {
		err = fmt.Errorf("%w: %w", coldfetch.ErrNoDocument, err)
	}
	return path, !stats.Hit, err
}

// Start starts a stack. The caller closes it.
func Start(c Config) (_ *Stack, err error) {
	s := &Stack{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "latlab-coldfetch-"); err != nil {
			return nil, err
		}
		s.dir = c.Dir
	}
	if c.Mode == "" {
		c.Mode = coldfetch.Loop
	}
	if c.PullRecorder == nil {
		c.PullRecorder = metrics.NewRecorder(pull.Stages)
	}
	if c.Listen == nil {
		c.Listen = func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	}
	s.Pulls = c.PullRecorder
	s.Puller, err = pull.New(pull.Options{
		Client: c.Client, Bucket: c.Bucket, Dir: c.Dir, Sync: c.Sync, Recorder: c.PullRecorder,
		Herd: c.Flight == coldfetch.Alone || c.Flight == "",
	})
	if err != nil {
		return nil, err
	}
	s.Executor = c.Mode.Executor()
	s.close = append(s.close, func() error { s.Executor.Close(); return nil })
	s.Service, err = coldfetch.New(coldfetch.Options{
		Locator: puller{s.Puller}, Executor: s.Executor, Names: seed.Names(), Root: c.Prefix + seed.Root, Recorder: c.Recorder,
		Nodes: c.Nodes, Profile: c.Profile, Flight: c.Flight, CacheEntries: c.CacheEntries, Gzip: c.Gzip, Charge: c.Charge,
	})
	if err != nil {
		return nil, err
	}
	if s.Direct, err = s.serve(c, "service", s.Service); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.Direct)
	if err != nil {
		return nil, err
	}
	s.Proxy, err = proxy.New(proxy.Options{
		Upstream: u, Buffer: c.ProxyBuffer, Transport: &http.Transport{DialContext: c.Dial, MaxIdleConnsPerHost: 1024},
		Route: func(r *http.Request) string { return string(RouteOf(r.URL.Path)) },
	})
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, func() error { s.Proxy.Close(); return nil })
	front := http.Handler(s.Proxy)
	if c.Around != nil {
		front = c.Around(front, s)
	}
	s.URL, err = s.serve(c, "proxy", front)
	return s, err
}

// RouteOf is the route of a URL's path.
func RouteOf(path string) coldfetch.Route {
	switch path {
	case "/api/health":
		return coldfetch.HealthRoute
	case "/api/list":
		return coldfetch.ListRoute
	}
	return coldfetch.DocRoute
}

// serve runs a handler until Close, which waits for it.
func (s *Stack) serve(c Config, part string, h http.Handler) (string, error) {
	l, err := c.Listen(part)
	if err != nil {
		return "", fmt.Errorf("listen for the %s: %w", part, err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		defer s.open.Done()
		h.ServeHTTP(w, r)
	})}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) }) // ends with ErrServerClosed
	s.close = append(s.close, func() error {
		err := server.Close()
		done.Wait()
		return err
	})
	return "http://" + l.Addr().String(), nil
}

// Quiet waits until the requests that came have been dealt with: a client has its
// answer a little before proxy and service have noted what it took. None may come
// meanwhile.
func (s *Stack) Quiet() { s.open.Wait() }

// Turns are those of the loop, where there is one.
func (s *Stack) Turns() exec.Turns {
	if l, ok := s.Executor.(interface{ Turns() exec.Turns }); ok {
		return l.Turns()
	}
	return exec.Turns{}
}

// Close ends the stack, the last started first, and removes its folder if Start
// made it. Requests under way are broken off.
func (s *Stack) Close() error {
	var err error
	for i := len(s.close) - 1; i >= 0; i-- {
		err = errors.Join(err, s.close[i]())
	}
	s.close = nil
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// Client makes a client of a store with a transport of its own, which the caller
// closes. dial may be nil.
func Client(a store.Account, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*minio.Client, *http.Transport, error) {
	tr, err := minio.DefaultTransport(a.Secure)
	if err != nil {
		return nil, nil, err
	}
	if dial != nil {
		tr.DialContext = dial
	}
	tr.Proxy = nil // a store is reached directly
	lookup := minio.BucketLookupPath
	if a.Virtual {
		lookup = minio.BucketLookupDNS
	}
	if a.Region == "" {
		a.Region = "us-east-1"
	}
	c, err := minio.New(a.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(a.AccessKey, a.SecretKey, a.Token), Secure: a.Secure, Region: a.Region,
		BucketLookup: lookup, Transport: tr,
	})
	return c, tr, err
}

// Paths are the URL paths of all documents, in the order of seed.Documents.
func Paths() []string {
	var all []string
	for _, d := range seed.Documents() {
		all = append(all, "/api/doc/"+url.PathEscape(d.Slug()))
	}
	return all
}

// JoinPrefix is a prefix in the form that Config and seed.Fill take.
func JoinPrefix(p string) string {
	if p = strings.Trim(p, "/"); p != "" {
		p += "/"
	}
	return p
}
