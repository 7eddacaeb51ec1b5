//go:build !js

package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"latlab.example/coldfetch/app"
	"latlab.example/coldfetch/probe"
	"latlab.example/coldfetch/store"
	"latlab.example/common/child"
)

// Functions of this program's children.
const (
	serviceFunc   = "coldfetch.service"
	neighbourFunc = "coldfetch.neighbour"
)

func init() {
	child.Register(serviceFunc, serveStack)
	child.Register(neighbourFunc, beNeighbour)
}

// order is what the service's process is told first.
type order struct {
	Setting setting
	Account store.Account
	Bucket  string
	Prefix  string
}

// ready is its answer.
type ready struct{ URL string }

// probeEvery is the interval of the probes in the service's process. They are part
// of what they measure: at 10 ms, under an interpreter lock whose turn comes every
// 30, the probe alone would fill the loop.
const probeEvery = 50 * time.Millisecond

// serveStack is the service's process. It reads an order, writes where it is, and
// runs until a second line; then it writes what it saw.
func serveStack(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	read, write := json.NewDecoder(in), json.NewEncoder(out)
	var o order
	if err := read.Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	mc, tr, err := app.Client(o.Account, nil)
	if err != nil {
		return err
	}
	defer tr.CloseIdleConnections()
	kept := &lines{}
	cfg := o.Setting.config()
	cfg.Client, cfg.Bucket, cfg.Prefix, cfg.Recorder = mc, o.Bucket, o.Prefix, kept.recorder()
	if cfg.Dir, err = realDir(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cfg.Dir)) }()
	s, err := app.Start(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.Setting.Warm {
		if err := warm(ctx, s.Puller, o.Prefix); err != nil {
			return err
		}
	}
	if err := write.Encode(ready{s.URL}); err != nil {
		return err
	}
	lag, timer, sched := probe.StartLag(ctx, s.Executor, probeEvery), probe.StartTimer(ctx, probeEvery), probe.StartScheduler()
	var again any
	if err := read.Decode(&again); err != nil { // the parent has ended, or has no question
		_, _, _ = lag.Stop(), timer.Stop(), sched.Stop()
		return err
	}
	seen := observe(s, kept)
	seen.Lag, seen.Timer, seen.Sched = lag.Stop(), timer.Stop(), sched.Stop()
	return write.Encode(seen)
}

// duty is a neighbour's cycle: it computes for a part of it and then rests.
const duty = 10 * time.Millisecond

// beNeighbour takes so many percent of one core until its input ends.
func beNeighbour(_ context.Context, in io.Reader, out io.Writer) error {
	var percent int
	read := json.NewDecoder(in)
	if err := read.Decode(&percent); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, in)
	}()
	if err := json.NewEncoder(out).Encode(percent); err != nil {
		return err
	}
	busy := duty * time.Duration(percent) / 100
	tick := time.NewTicker(duty)
	defer tick.Stop()
	for {
		for began := time.Now(); time.Since(began) < busy; {
		}
		select {
		case <-ended:
			return nil
		case <-tick.C:
		}
	}
}

// process is a child with the lines that are exchanged with it.
type process struct {
	*child.Process
	write *json.Encoder
	read  *json.Decoder
}

// begin starts a child, sends it the first line and reads its answer.
func begin(ctx context.Context, name string, l child.Limits, first, answer any) (*process, error) {
	p, err := child.Start(ctx, name, l)
	if err != nil {
		return nil, err
	}
	c := &process{p, json.NewEncoder(p.In), json.NewDecoder(p.Out)}
	sent := c.write.Encode(first)
	if err := c.read.Decode(answer); err != nil {
		// Why it failed is in its own error, if it ended.
		return nil, errors.Join(p.Wait(), sent, err)
	}
	return c, nil
}

// end waits for a child that was told all.
func (p *process) end() error {
	_, err := io.Copy(io.Discard, p.Out)
	return errors.Join(err, p.Wait())
}
