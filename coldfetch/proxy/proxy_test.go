package proxy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"latlab.example/coldfetch/proxy"
	"latlab.example/common/bubble"
)

// stack is a service, a proxy in front of it and a client, in a bubble.
type stack struct {
	client *http.Client
	proxy  *proxy.Proxy
}

// run makes a stack whose client has that link to the proxy.
func run(t *testing.T, link bubble.Link, o proxy.Options, service http.HandlerFunc, f func(context.Context, stack)) {
	t.Helper()
	err := bubble.Run(t.Context(), func(ctx context.Context) error {
		n := bubble.NewNet(bubble.Link{})
		n.SetLink("proxy:80", link)
		serve := func(addr string, h http.Handler) func() {
			l, err := n.Listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: h}
			done := make(chan struct{})
			go func() { defer close(done); _ = s.Serve(l) }() // ends with ErrServerClosed
			return func() { _ = s.Close(); <-done }           // closes what it can
		}
		defer serve("service:80", service)()
		var err error
		o.Upstream = &url.URL{Scheme: "http", Host: "service:80"}
		o.Transport = &http.Transport{DialContext: n.DialContext}
		p, err := proxy.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		defer serve("proxy:80", p)()
		tr := &http.Transport{DialContext: n.DialContext}
		defer tr.CloseIdleConnections()
		f(ctx, stack{&http.Client{Transport: tr}, p})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s stack) get(ctx context.Context, t *testing.T, path string) (int, []byte, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://proxy:80"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, b, err
}

func near(got int64, want time.Duration) bool {
	d := time.Duration(got) - want
	return -d < want/50 && d < want/50
}

// With a buffer the service is done at once and the rest is transfer; without
// one a slow client keeps the service busy, which then looks slow itself.
func TestUpstreamAndTransfer(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	for _, test := range []struct {
		buffer             int
		upstream, transfer time.Duration
	}{
		{2 << 20, 100 * time.Millisecond, time.Second},
		{0, 1100 * time.Millisecond, 0},
	} {
		// The client reads 1 MiB a second, over a connection that holds little.
		run(t, bubble.Link{BytesPerSec: 1 << 20, Buffer: 64 << 10}, proxy.Options{Buffer: test.buffer}, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(100 * time.Millisecond)
			// Without a length httputil flushes by a timer that waits at a mutex, which
			// stops the clock of a bubble.
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}, func(ctx context.Context, s stack) {
			code, b, err := s.get(ctx, t, "/x")
			if err != nil || code != http.StatusOK || sha256.Sum256(b) != sha256.Sum256(body) {
				t.Fatalf("%d, %d bytes, %v", code, len(b), err)
			}
			seen := s.proxy.Seen("/x")
			if seen.Total.Count() != 1 || !near(seen.Total.Max(), 1100*time.Millisecond) && seen.Total.Max() < int64(time.Second) {
				t.Errorf("buffer %d: total %v", test.buffer, time.Duration(seen.Total.Max()))
			}
			up, tr := time.Duration(seen.Upstream.Max()), time.Duration(seen.Transfer.Max())
			// The last piece is in flight when the proxy is done with it.
			if slack := 150 * time.Millisecond; up < test.upstream-slack || up > test.upstream+slack || tr < test.transfer-slack || tr > test.transfer+slack {
				t.Errorf("buffer %d: upstream %v, transfer %v, want %v and %v", test.buffer, up, tr, test.upstream, test.transfer)
			}
			if seen.Bytes != uint64(len(body)) {
				t.Errorf("%d bytes", seen.Bytes)
			}
		})
	}
}

// Who waits longer than the timeout is counted, not timed.
func TestTimeoutsAreCounted(t *testing.T) {
	run(t, bubble.Link{}, proxy.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(2 * proxy.ReadTimeout):
		case <-r.Context().Done():
		}
	}, func(ctx context.Context, s stack) {
		began := time.Now()
		code, _, err := s.get(ctx, t, "/x")
		if took := time.Since(began); err != nil || code != http.StatusGatewayTimeout || took != proxy.ReadTimeout {
			t.Errorf("%d after %v, %v", code, took, err)
		}
		if seen := s.proxy.Seen("/x"); seen.Timeouts != 1 || seen.Total.Count() != 0 || seen.Failures+seen.Gone != 0 {
			t.Errorf("%+v", seen)
		}
	})
}

// An answer that breaks off reaches the client as broken, with a buffer too, and
// counts as a failure; a client who leaves counts as gone.
func TestBroken(t *testing.T) {
	for _, size := range []int{0, 1 << 20} {
		run(t, bubble.Link{}, proxy.Options{Buffer: size}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-r.Context().Done()
				return
			}
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 40000))
			panic(http.ErrAbortHandler)
		}, func(ctx context.Context, s stack) {
			if _, b, err := s.get(ctx, t, "/x"); err == nil {
				t.Errorf("buffer %d: a whole answer of %d bytes", size, len(b))
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, _, err := s.get(short, t, "/slow"); err == nil {
				t.Error("an answer to a client who left")
			}
			time.Sleep(time.Millisecond) // the proxy learns of it
			if x, slow := s.proxy.Seen("/x"), s.proxy.Seen("/slow"); x.Failures != 1 || x.Total.Count() != 0 || slow.Gone != 1 {
				t.Errorf("buffer %d: %+v, %+v", size, x, slow)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "x"}
	for _, o := range []proxy.Options{{}, {Upstream: u, Buffer: -1}, {Upstream: u, Timeout: -1}} {
		if _, err := proxy.New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
