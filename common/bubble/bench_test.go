package bubble_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"latlab.example/common/bubble"
)

// All of these are wall-clock costs.

// An empty bubble.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if err := bubble.Run(context.Background(), func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// One wait, by the number of goroutines that wait in turn.
func BenchmarkWait(b *testing.B) {
	for _, waiters := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			run(b, func(context.Context) error {
				var all sync.WaitGroup
				for w := range waiters {
					all.Go(func() {
						for i := w; i < b.N; i += waiters {
							time.Sleep(time.Duration(1000 + w))
						}
					})
				}
				all.Wait()
				return nil
			})
		})
	}
}

// One CPU.Use, by the number of users.
func BenchmarkCPU(b *testing.B) {
	for _, users := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("users=%d", users), func(b *testing.B) {
			run(b, func(ctx context.Context) error {
				cpu := bubble.NewCPU(4)
				var all sync.WaitGroup
				for u := range users {
					all.Go(func() {
						for i := u; i < b.N; i += users {
							_ = cpu.Use(ctx, time.Duration(1000+u))
						}
					})
				}
				all.Wait()
				return nil
			})
		})
	}
}

// A byte there and back, in a bubble, beside net.Pipe.
func BenchmarkEcho(b *testing.B) {
	for _, kind := range []string{"net.Pipe", "plain", "rtt"} {
		b.Run("conn="+kind, func(b *testing.B) {
			run(b, func(ctx context.Context) (err error) {
				client, server := net.Pipe()
				if kind != "net.Pipe" {
					l := bubble.Link{}
					if kind == "rtt" {
						l.RTT = time.Millisecond
					}
					if client, server, err = connect(ctx, l); err != nil {
						return err
					}
				}
				go func() {
					var buf [1]byte
					for {
						if _, err := server.Read(buf[:]); err != nil {
							return
						}
						if _, err := server.Write(buf[:]); err != nil {
							return
						}
					}
				}()
				defer server.Close()
				defer client.Close()
				var buf [1]byte
				for range b.N {
					if _, err := client.Write(buf[:]); err != nil {
						return err
					}
					if _, err := client.Read(buf[:]); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// A GET of 1 kB with keep-alive: in a bubble, and over a real socket of this
// host for comparison.
func BenchmarkGet(b *testing.B) {
	body := make([]byte, 1000)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	gets := func(client *http.Client, url string, n int) error {
		for range n {
			resp, err := client.Get(url)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, l := range map[string]bubble.Link{"plain": {}, "rtt": {RTT: time.Millisecond}} {
		b.Run("net=bubble/link="+name, func(b *testing.B) {
			run(b, func(context.Context) error {
				n := bubble.NewNet(l)
				listener, err := n.Listen("a:80")
				if err != nil {
					return err
				}
				server := &http.Server{Handler: handler}
				go func() { _ = server.Serve(listener) }()
				defer server.Close()
				transport := &http.Transport{DialContext: n.DialContext}
				defer transport.CloseIdleConnections()
				return gets(&http.Client{Transport: transport}, "http://a/", b.N)
			})
		})
	}
	b.Run("net=socket", func(b *testing.B) {
		server := httptest.NewServer(handler)
		defer server.Close()
		if err := gets(server.Client(), server.URL, b.N); err != nil {
			b.Fatal(err)
		}
	})
}

func run(b *testing.B, f func(context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	if err := bubble.Run(context.Background(), f); err != nil {
		b.Fatal(err)
	}
}
