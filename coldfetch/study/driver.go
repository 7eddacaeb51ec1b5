//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/common/emu"
	"latlab.example/common/lab"
	"latlab.example/common/laws"
	"latlab.example/common/load"
	"latlab.example/common/metrics"
)

// workload is what users do.
type workload struct {
	users   int
	perUser int
	paths   []string      // that users draw from
	spread  time.Duration // in which they arrive; 0 is all at once
	think   emu.Latency
	health  float64 // requests a second to the health endpoint
	list    float64 // and to the listing
	gzip    bool
	seed    uint64
}

// seen is what users got.
type seen struct {
	docs, health, list load.Report
}

// errProxyTimeout is an answer 504.
var errProxyTimeout = errors.New("the proxy gave up waiting")

// drive runs the workload against a stack and waits for all answers. Health and
// listing are asked in open loops for as long as documents are.
func drive(ctx context.Context, c *http.Client, base string, w workload) (s seen, err error) {
	kinds := []load.Kind{{Name: "proxy timeout", Err: errProxyTimeout}}
	during, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	var errs [2]error
	for i, p := range []struct {
		rate float64
		path string
		to   *load.Report
	}{{w.health, "/api/health", &s.health}, {w.list, "/api/list", &s.list}} {
		if p.rate == 0 {
			continue
		}
		beside.Go(func() {
			o := load.Open{Arrivals: load.Poisson(load.Hold(p.rate, time.Hour)), Options: load.Options{Seed: w.seed + uint64(i) + 1, Kinds: kinds}}
			*p.to, errs[i] = o.Run(during, func(context.Context, load.Request) error {
				return fetch(ctx, c, base+p.path, false) // its own context: what was asked is waited for
			})
		})
	}
	schedule := load.Hold(float64(w.users), time.Hour)
	if w.spread > 0 {
		schedule = load.Schedule{{For: w.spread, To: float64(w.users)}, {For: time.Hour, To: float64(w.users)}}
	}
	docs := load.Closed{Users: schedule, PerUser: w.perUser, Think: w.think, Options: load.Options{Seed: w.seed, Kinds: kinds}}
	s.docs, err = docs.Run(ctx, func(ctx context.Context, r load.Request) error {
		return fetch(ctx, c, base+w.paths[r.Seed%uint64(len(w.paths))], w.gzip)
	})
	stop()
	beside.Wait()
	err = errors.Join(err, errs[0], errs[1])
	for _, r := range []load.Report{s.docs, s.health, s.list} {
		for _, e := range r.Errors {
			if e.Kind != kinds[0].Name {
				err = errors.Join(err, fmt.Errorf("%d requests failed: %s", e.Count, e.First))
			}
		}
	}
	if err == nil && s.docs.Success+s.docs.Failures() == 0 {
		err = errors.New("no document was asked for")
	}
	if err == nil {
		err = little(s.docs)
	}
	return s, err
}

// little holds throughput and mean service time against the requests in flight,
// which were counted another way. Response times won't do: the generator's lag is in
// them, which is before a request is in flight.
func little(r load.Report) error {
	if r.Completed() != r.Success {
		return nil // those that failed were in flight, too, and have no response time
	}
	law := laws.InFlight(laws.Exact(r.PerSec()), laws.Exact(r.Service.Mean()/1e9)).Mid()
	if counted := r.InFlight(); math.Abs(law-counted) > 1e-6*counted+1e-9 {
		return fmt.Errorf("by Little's law %.4f requests were in flight, and %.4f were counted", law, counted)
	}
	return nil
}

// fetch asks for a page and reads all of it.
func fetch(ctx context.Context, c *http.Client, url string, zip bool) (err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if zip {
		r.Header.Set("Accept-Encoding", "gzip") // and so the transport leaves it packed
	}
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	n, err := io.Copy(io.Discard, res.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s broke off after %d bytes: %w", url, n, err)
	case res.StatusCode == http.StatusGatewayTimeout:
		return errProxyTimeout
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return nil
}

// client is for as many users as come.
func client(tr *http.Transport) *http.Client {
	tr.MaxIdleConnsPerHost, tr.DisableCompression = 4096, true
	return &http.Client{Transport: tr}
}

// warm makes each document's file local.
func warm(ctx context.Context, p *pull.Puller, prefix string) error {
	for _, d := range seed.Documents() {
		if _, _, err := p.Pull(ctx, prefix+d.Key()); err != nil {
			return fmt.Errorf("warm the root: %w", err)
		}
	}
	return nil
}

// record puts what was seen from both sides into a trial. A request that the
// proxy gave up counts with the time that was waited, which is a lower bound.
func record(t *lab.Trial, units []lab.Unit, s seen, o observed) {
	docs, health := s.docs.Response, s.health.Response
	docs.Merge(s.docs.Failed)
	health.Merge(s.health.Failed)
	t.Ops, t.Took = int(docs.Count()), time.Duration(docs.Sum())
	t.Stages(o.Stages)
	missed := 0
	for _, tl := range o.Lines {
		line := tl.timeline()
		if line.has(coldfetch.Manifest) {
			continue // the listing's
		}
		if line.has(coldfetch.BuildIt) {
			missed++
		}
		t.Timeline(line.Timeline)
	}
	q := func(d metrics.Dist, at float64) float64 { return float64(d.Quantile(at)) }
	values := map[string]float64{
		p95.Name: q(docs, 0.95), perSec.Name: s.docs.PerSec(),
		healthOwn.Name: q(o.HealthOwn, 0.95),
		lagEvents.Name: float64(o.Turns.Events), lagMax.Name: float64(o.Turns.Max), lagSum.Name: float64(o.Turns.Sum),
		transfer.Name: q(o.Docs.Transfer, 0.95), timeouts.Name: float64(o.Docs.Timeouts + o.Health.Timeouts + o.List.Timeouts),
		misses.Name:   100 * float64(missed) / float64(docs.Count()),
		bytesOut.Name: float64(o.Docs.Bytes) / float64(docs.Count()),
		gets.Name:     float64(o.Gets), builds.Name: float64(o.Builds),
	}
	if health.Count() > 0 {
		values[healthP95.Name], values[healthMax.Name] = q(health, 0.95), float64(health.Max())
	}
	if o.Wall {
		values[spawnLag.Name], values[timerP95.Name] = float64(o.Lag.Dist.Max()), q(o.Timer.Dist, 0.95)
		values[schedP95.Name] = q(o.Sched.Dist, 0.95)
		values[cpuShare.Name] = o.CPUPercent
	}
	for _, u := range units {
		if v, ok := values[u.Name]; ok {
			t.Observe(u, v)
		}
	}
}
