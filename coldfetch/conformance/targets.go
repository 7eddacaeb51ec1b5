package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/store"
)

// target is a server to ask.
type target struct {
	name, kind string // kind: fake or real
	store.Account
	bucket string
	prefix string // of keys; empty or with a slash at its end
	dial   func(context.Context, string, string) (net.Conn, error)
	close  func() error
}

// transport is a client's own, so that it can be closed.
func (t *target) transport() *http.Transport {
	return &http.Transport{DialContext: t.dial, DisableCompression: true, MaxIdleConnsPerHost: 16}
}

// open starts the fakes, and the real server if there is one; missing says why not.
func open(ctx context.Context) (all []*target, missing, err error) {
	for _, virtual := range []bool{false, true} {
		t, err := openFake(virtual)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll(all))
		}
		all = append(all, t)
	}
	p, err := store.Open(ctx)
	if unavailable(err) {
		return all, err, nil
	} else if err != nil {
		return nil, nil, errors.Join(err, closeAll(all))
	}
	return append(all, &target{
		name: p.Real, kind: "real", Account: p.Account, bucket: p.Bucket, prefix: p.Prefix,
		dial: new(net.Dialer).DialContext, close: p.Close,
	}), nil, nil
}

func closeAll(all []*target) (err error) {
	for _, t := range all {
		err = errors.Join(err, t.close())
	}
	return err
}

const fakeBucket = "conformance"

func openFake(virtual bool) (*target, error) {
	s, err := fake.New(fake.Config{Buckets: []string{fakeBucket}, Domain: "s3.test"})
	if err != nil {
		return nil, err
	}
	addr, err := s.Start("")
	if err != nil {
		return nil, err
	}
	t := &target{
		name: "fake", kind: "fake", bucket: fakeBucket, close: s.Close,
		Account: store.Account{Endpoint: addr, AccessKey: fake.DefaultAccessKey, SecretKey: fake.DefaultSecretKey, Region: fake.DefaultRegion},
		dial:    new(net.Dialer).DialContext,
	}
	if virtual {
		// Names under s3.test lead to the fake.
		t.name, t.Virtual, t.Endpoint = "fake, virtual host", true, "s3.test:80"
		t.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	}
	return t, nil
}
