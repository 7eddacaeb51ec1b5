//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"latlab.example/common/emu"
	"latlab.example/common/load"
)

func main() {
	server := flag.Bool("server", false, "be the server under load (the command starts it by itself)")
	rate := flag.Int("rate", 1000, "requests a second")
	length := flag.Duration("time", time.Second, "time of one run")
	rounds := flag.Int("rounds", 30, "runs of each generator")
	spin := flag.Bool("spin", false, "run load with emu.Spin too; on few cores that disturbs the server")
	flag.Parse()
	var err error
	if *server {
		err = serve()
	} else {
		generators := []generator{{"vegeta", byVegeta}, {"load", withWaiter(emu.Sleep)}}
		if *spin {
			generators = append(generators, generator{"load, spin", withWaiter(emu.Spin)})
		}
		err = compare(os.Stdout, generators, *rate, *length, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// serve answers with a kilobyte on a free port, which it prints, until its input
// is closed.
func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/\n", l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	answer := make([]byte, 1024)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(answer) }))
}

// startServer starts the server in a process of its own.
func startServer() (url string, stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(exe, "-server")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	if _, err := fmt.Fscanln(out, &url); err != nil {
		stop()
		return "", nil, fmt.Errorf("the server gave no address: %w", err)
	}
	return url, stop, nil
}

// result is what a generator did in one run. Times are in seconds.
type result struct {
	rate, p50, p99 float64 // of the time from the actual start of a request
	cpu            float64 // of this process
	lag            float64 // mean lateness of a request; vegeta doesn't tell
	requests       int
}

// generator makes rate requests a second for so long.
type generator struct {
	name string
	run  func(url string, rate int, length time.Duration) (result, error)
}

// withWaiter is package load with a waiter.
func withWaiter(w emu.Waiter) func(string, int, time.Duration) (result, error) {
	return func(url string, rate int, length time.Duration) (result, error) {
		return byLoad(url, rate, length, w)
	}
}

// client is a new HTTP client with the settings that vegeta has by default.
func client() *http.Client {
	return &http.Client{
		Timeout: vegeta.DefaultTimeout,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: vegeta.DefaultConnections,
		},
	}
}

func byVegeta(url string, rate int, length time.Duration) (result, error) {
	c := client()
	defer c.CloseIdleConnections()
	// MaxBody 0: answers are read and dropped, as below.
	attacker := vegeta.NewAttacker(vegeta.Client(c), vegeta.MaxBody(0))
	targets := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: url})
	var m vegeta.Metrics
	for r := range attacker.Attack(targets, vegeta.Rate{Freq: rate, Per: time.Second}, length, "peers") {
		m.Add(r)
	}
	m.Close()
	if m.Success < 1 {
		return result{}, fmt.Errorf("vegeta: %v", m.Errors)
	}
	return result{p50: m.Latencies.P50.Seconds(), p99: m.Latencies.P99.Seconds(), requests: int(m.Requests)}, nil
}

var errStatus = errors.New("the server refused")

func byLoad(url string, rate int, length time.Duration, w emu.Waiter) (result, error) {
	c := client()
	defer c.CloseIdleConnections()
	rep, err := load.Open{
		Arrivals: load.Even(load.Hold(float64(rate), length)), Waiter: w,
		Options: load.Options{Kinds: []load.Kind{{Name: "status", Err: errStatus}}},
	}.Run(context.Background(), func(ctx context.Context, _ load.Request) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%w: %s", errStatus, resp.Status)
		}
		return nil
	})
	if err != nil {
		return result{}, err
	}
	if rep.Failures() > 0 {
		return result{}, fmt.Errorf("load: %v", rep.Errors)
	}
	return result{
		p50: float64(rep.Service.Quantile(0.5)) / 1e9, p99: float64(rep.Service.Quantile(0.99)) / 1e9,
		lag: rep.Lag.Mean() / 1e9, requests: int(rep.Success),
	}, nil
}

// cpu is the CPU time of this process, user and system, in seconds.
func cpu() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), nil
}

// measure times one run.
func (g generator) measure(url string, rate int, length time.Duration) (result, error) {
	before, err := cpu()
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	r, err := g.run(url, rate, length)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", g.name, err)
	}
	r.rate = float64(r.requests) / time.Since(begin).Seconds()
	after, err := cpu()
	r.cpu = after - before
	return r, err
}

// columns of the table.
var columns = []struct {
	name string
	of   func(result) float64
}{
	{"rate/s", func(r result) float64 { return r.rate }},
	{"p50 us", func(r result) float64 { return r.p50 * 1e6 }},
	{"p99 us", func(r result) float64 { return r.p99 * 1e6 }},
	{"CPU ms", func(r result) float64 { return r.cpu * 1e3 }},
}

// compare runs all generators in rounds and writes the table. Ratios are to the
// first generator.
func compare(w io.Writer, generators []generator, rate int, length time.Duration, rounds int) error {
	url, stop, err := startServer()
	if err != nil {
		return err
	}
	defer stop()
	results := make([][]result, len(generators))
	for round := range rounds {
		for i := range generators {
			i = (i + round) % len(generators) // another one begins each round
			r, err := generators[i].measure(url, rate, length)
			if err != nil {
				return err
			}
			results[i] = append(results[i], r)
		}
	}
	fmt.Fprintf(w, "%d/s for %v, %d rounds: medians; ratios to %s in the same round, with quartiles\n\n", rate, length, rounds, generators[0].name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\trequests\tlag us\t")
	for _, c := range columns {
		fmt.Fprintf(t, "%s\tratio\t", c.name)
	}
	fmt.Fprintln(t)
	for i, g := range generators {
		lag := "not told"
		if i > 0 {
			lag = fmt.Sprintf("%.0f", quantile(results[i], 0.5, func(_ int, r result) float64 { return r.lag * 1e6 }))
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t", g.name, results[i][0].requests, lag)
		for _, c := range columns {
			ratio := func(round int, r result) float64 { return c.of(r) / c.of(results[0][round]) }
			fmt.Fprintf(t, "%.4g\t%.3f (%.2f-%.2f)\t", quantile(results[i], 0.5, func(_ int, r result) float64 { return c.of(r) }),
				quantile(results[i], 0.5, ratio), quantile(results[i], 0.25, ratio), quantile(results[i], 0.75, ratio))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// quantile of what of says of each round, between neighbours if need be.
func quantile(rounds []result, q float64, of func(round int, r result) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(i, r)
	}
	slices.Sort(values)
	at := q * float64(len(values)-1)
	i := int(at)
	if i+1 == len(values) {
		return values[i]
	}
	return values[i] + (at-float64(i))*(values[i+1]-values[i])
}
