// Package shop is a small closed workload in a bubble, for the tests of
// package bubble and for the command that they build: users of a real
// http.Client ask a real http.Server whose work is charged to a bubble.CPU.
package shop

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"latlab.example/common/bubble"
	"latlab.example/common/emu"
)

// Load is who asks and for how long.
type Load struct {
	Users int
	Span  time.Duration // no request begins later, in virtual time
	Think time.Duration // mean of the pause between requests, exponential
	Work  time.Duration // mean of the server's work for a request, exponential, up to ten times that
	Cores int
	Link  bubble.Link
	Seed  uint64
}

// Standard is 150 users for 120 s, with keep-alive over a link of 2 ms. Three
// of the four cores are busy.
func Standard() Load {
	return Load{
		Users: 150, Span: 120 * time.Second, Think: time.Second, Work: 20 * time.Millisecond, Cores: 4,
		Link: bubble.Link{RTT: 2 * time.Millisecond, BytesPerSec: 125_000_000}, Seed: 1,
	}
}

// Figures are what came out. Equal figures mean that every user saw the same
// response times in the same order.
type Figures struct {
	Requests int
	Total    time.Duration // of all response times
	Busy     time.Duration // of all cores
	Hash     uint64        // of each user's response times
}

func (f Figures) String() string {
	return fmt.Sprintf("%d requests, mean %v, busy %v, hash %016x", f.Requests, f.Total/time.Duration(max(f.Requests, 1)), f.Busy, f.Hash)
}

// Run runs the load in a bubble of its own.
func Run(ctx context.Context, l Load) (f Figures, err error) {
	err = bubble.Run(ctx, func(ctx context.Context) error {
		f, err = l.run(ctx)
		return err
	})
	return f, err
}

func (l Load) run(ctx context.Context) (f Figures, err error) {
	latency, err := emu.CappedExponential(l.Work, 10*l.Work)
	if err != nil {
		return f, err
	}
	works := emu.NewSampler(latency, l.Seed)
	cpu := bubble.NewCPU(l.Cores)
	page := make([]byte, 2000)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := strconv.ParseUint(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// The work depends on the user and on the number of his request.
		if cpu.Use(r.Context(), works.Next(user)) == nil {
			_, _ = w.Write(page)
		}
	})}
	net := bubble.NewNet(l.Link)
	listener, err := net.Listen("shop:80")
	if err != nil {
		return f, err
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	transport := &http.Transport{DialContext: net.DialContext, MaxIdleConnsPerHost: l.Users}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	times := make([][]time.Duration, l.Users)
	errs := make([]error, l.Users)
	end := time.Now().Add(l.Span)
	var all sync.WaitGroup
	for u := range l.Users {
		all.Go(func() { times[u], errs[u] = l.user(ctx, client, u, end) })
	}
	all.Wait()

	hash := fnv.New64a()
	for u := range times {
		if errs[u] != nil {
			return f, fmt.Errorf("user %d: %w", u, errs[u])
		}
		for _, d := range times[u] {
			f.Requests++
			f.Total += d
			_ = binary.Write(hash, binary.LittleEndian, d)
		}
	}
	f.Busy, f.Hash = cpu.Busy(), hash.Sum64()
	return f, nil
}

// user thinks, asks and waits for the answer, in turn. Its random stream is
// its own, so that no other user changes it.
func (l Load) user(ctx context.Context, client *http.Client, u int, end time.Time) (times []time.Duration, err error) {
	r := rand.New(rand.NewPCG(l.Seed, uint64(u)))
	url := "http://shop/" + strconv.Itoa(u)
	for {
		time.Sleep(time.Duration(r.ExpFloat64() * float64(l.Think)))
		start := time.Now()
		if ctx.Err() != nil || start.After(end) {
			return times, context.Cause(ctx)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return times, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return times, err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || n != 2000 {
			return times, fmt.Errorf("%d bytes, status %s: %w", n, resp.Status, err)
		}
		times = append(times, time.Since(start))
	}
}
