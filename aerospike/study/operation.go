//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/predict"
	"latlab.example/common/lab"
	"latlab.example/common/metrics"
)

// poolWorkers is the size of the pool that the service's official reader runs on.
const poolWorkers = 16

// stagesOf are the arm's: those of the service where a service may stand around
// the read.
func stagesOf(a lab.Arm) *metrics.StageSet {
	if layered(a) {
		return predict.Stages
	}
	return aerospike.Stages
}

// policyOf is the arm's. A late answer is a result here, and no error.
func policyOf(a lab.Arm) *as.BatchPolicy {
	p := as.NewBatchPolicy()
	p.TotalTimeout = 10 * time.Second
	p.AllowInline = inline.Of(a)
	return p
}

// operation is what an arm times: one answer, in whatever layer. stop ends what
// it runs on.
func (s *subject) operation(client *as.Client, seed uint64) (op func(context.Context) error, stop func() error, err error) {
	if layer.Of(s.arm) != LayerA {
		return s.service(client, seed)
	}
	p, pool, err := pipeline(client, s.arm, s.namespace, s.rec)
	if err != nil {
		return nil, nil, err
	}
	q := ask(s.arm, s.prefix, seed)
	return func(ctx context.Context) error {
			_, err := p.Read(ctx, q)
			return err
		}, func() error {
			if pool != nil {
				pool.Close()
			}
			return nil
		}, nil
}

// pipeline is the arm's, and the pool that its reader runs on, if it has one.
func pipeline(client *as.Client, a lab.Arm, namespace string, rec *metrics.Recorder) (p *aerospike.Pipeline, pool *aerospike.Executor, err error) {
	specs, bins := specsOf(a)
	var reader aerospike.Reader
	switch name := aerospike.ReaderToggle.Of(a); name {
	case aerospike.UseLazy:
		reader = aerospike.Lazy{Client: client, Policy: policyOf(a), Bins: bins}
	default:
		reader = aerospike.Official{Client: client, Policy: policyOf(a), Bins: bins, Operate: name == aerospike.UseOperate}
	}
	if n := aerospike.ExecutorToggle.Of(a); n > 0 {
		pool = aerospike.NewExecutor(reader, n)
		reader = pool
	}
	p, err = aerospike.New(aerospike.Options{
		Namespace: namespace, Reader: reader, Mode: aerospike.ModeToggle.Of(a), Form: aerospike.FormToggle.Of(a),
		Columns: specs, Limit: aerospike.LimitToggle.Of(a), Order: aerospike.OrderToggle.Of(a), Recorder: rec,
	})
	if err != nil && pool != nil {
		pool.Close()
	}
	return p, pool, err
}

// service runs the service on loopback, and asks it from here.
func (s *subject) service(client *as.Client, seed uint64) (op func(context.Context) error, stop func() error, err error) {
	a := s.arm
	svc, err := predict.New(predict.Options{
		Client: client, Policy: policyOf(a), Namespace: s.namespace, Prefix: s.prefix, Workers: poolWorkers,
		Inference: inference.Of(a), Recorder: s.rec,
	})
	if err != nil {
		return nil, nil, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		svc.Close()
		return nil, nil, fmt.Errorf("listen on loopback: %w", err)
	}
	server := &http.Server{Handler: svc, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: concurrency.Of(a)}
	caller, base := &http.Client{Transport: transport}, "http://"+l.Addr().String()
	want := predict.Ask{
		Mode: aerospike.ModeToggle.Of(a), Reader: aerospike.ReaderToggle.Of(a), Form: aerospike.FormToggle.Of(a),
		Sets: sets.Of(a), Keys: batch.Of(a), Hits: hits.Of(a), Seed: seed, SkipInference: layer.Of(a) == LayerB,
	}
	op = func(ctx context.Context) error {
		answer, err := svc.Get(ctx, caller, base, want)
		if err == nil && answer.Partial != "" {
			err = errors.New(answer.Partial)
		}
		return err
	}
	stop = func() error {
		transport.CloseIdleConnections()
		err := server.Close()
		if serr := <-ended; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		svc.Close()
		return err
	}
	return op, stop, nil
}
