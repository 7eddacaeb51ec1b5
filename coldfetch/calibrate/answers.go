package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/seed"
	"latlab.example/common/emu"
	"latlab.example/common/load"
	"latlab.example/common/metrics"
)

// Answers are what the parts of an answer take, for one user after another.
type Answers struct {
	Nodes  int           `json:"nodes"` // size of a build
	Build  time.Duration `json:"build_ns"`
	Spread float64       `json:"build_spread"` // 95th percentile over median of builds
	JSON   time.Duration `json:"json_ns"`
	Locate time.Duration `json:"locate_ns"` // of a file that is there
	Rest   time.Duration `json:"rest_ns"`   // of a request: HTTP and the proxy
}

// alone is how long one user asks for what is measured.
const alone = 4 * time.Second

// MeasureAnswers asks the service for documents that it must build each time, whose
// files are there. Build and spread are of the median; the rest are means.
func MeasureAnswers(ctx context.Context, t Target, nodes int) (Answers, error) {
	var stages metrics.Snapshot
	got, err := serve(ctx, t, stack{mode: coldfetch.Goroutines, nodes: nodes}, 1, alone, 0, func(s metrics.Snapshot) { stages = s })
	if err != nil {
		return Answers{}, err
	}
	of := func(g metrics.Stage) metrics.Dist { return stages.Stages[g].Dist }
	build := of(coldfetch.BuildIt)
	a := Answers{
		Nodes: nodes, Build: time.Duration(build.Quantile(0.5)), Spread: float64(build.Quantile(0.95)) / float64(max(build.Quantile(0.5), 1)),
		JSON: time.Duration(of(coldfetch.JSON).Mean()), Locate: time.Duration(of(coldfetch.Locate).Mean()),
	}
	a.Rest = max(0, got.mean-time.Duration(build.Mean())-a.JSON-a.Locate)
	return a, nil
}

// stack is a service to measure.
type stack struct {
	mode  coldfetch.Mode
	cache int
	nodes int
}

// answered is what users of a service got.
type answered struct {
	mean   time.Duration
	perSec float64
}

// warmUp is cut from each measurement.
const warmUp = time.Second

// serve starts a service with all files there, and has so many users ask it for
// documents, drawn at random, without thinking. stages, if not nil, gets the
// service's.
func serve(ctx context.Context, t Target, s stack, users int, window time.Duration, randomness uint64, stages func(metrics.Snapshot)) (got answered, err error) {
	rec := metrics.NewRecorder(coldfetch.Stages, metrics.WithSwitch(true))
	dir := filepath.Join(t.Dir, "service")
	run, err := app.Start(app.Config{
		Client: t.Client, Bucket: t.Bucket, Prefix: t.Prefix, Dir: dir, Mode: s.mode, CacheEntries: s.cache, Nodes: s.nodes, Recorder: rec,
	})
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, run.Close(), os.RemoveAll(dir)) }()
	for _, d := range seed.Documents() {
		if _, _, err := run.Puller.Pull(ctx, t.Prefix+d.Key()); err != nil {
			return got, err
		}
	}
	tr := &http.Transport{MaxIdleConnsPerHost: users, DisableCompression: true}
	defer tr.CloseIdleConnections()
	c, paths := &http.Client{Transport: tr}, app.Paths()
	counting, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	reset := make(chan struct{})
	go func() {
		defer close(reset)
		if emu.Sleep.Until(counting, began.Add(warmUp)) == nil {
			rec.Reset()
		}
	}()
	l := load.Closed{
		Users:   load.Hold(float64(users), warmUp+window),
		Options: load.Options{Seed: randomness, Window: load.Window{From: warmUp, To: warmUp + window}},
	}
	report, err := l.Run(ctx, func(ctx context.Context, r load.Request) error {
		return fetch(ctx, c, run.URL+paths[r.Seed%uint64(len(paths))])
	})
	stop()
	<-reset
	run.Quiet()
	switch {
	case err != nil:
		return got, err
	case report.Failures() > 0:
		return got, fmt.Errorf("calibrate: %d requests failed: %s", report.Failures(), report.Errors[0].First)
	case report.Success == 0:
		return got, errors.New("calibrate: no document was answered in the window")
	}
	if stages != nil {
		stages(rec.Snapshot())
	}
	return answered{time.Duration(report.Response.Mean()), report.PerSec()}, nil
}

// fetch asks for a page and reads all of it.
func fetch(ctx context.Context, c *http.Client, url string) (err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return nil
}
