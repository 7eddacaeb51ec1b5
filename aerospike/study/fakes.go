//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/records"
	"latlab.example/common/emu"
	"latlab.example/common/lab"
)

// Typical costs of a request and a key. A real server of version 8 on two cores
// had 10 to 25 us and about 1 us.
const (
	requestCost = 20 * time.Microsecond
	keyCost     = time.Microsecond
)

var assumptions = []string{
	"with costs typical, a request costs 20us and 1us a key on one of the node's workers, whatever is in the records, and requests that find all busy queue in order of arrival; the round trip takes no worker, and is the same for every request",
	"with costs none, the server answers at once, over loopback",
	"client and server share this process and host: allocations are those of both (the server makes none a request), and waits are spun on a core that the client lacks",
	"connections are open before the trial",
}

// openFake starts a server with the records and connects the official client.
func openFake(_ context.Context, a lab.Arm) (lab.Subject, error) {
	cfg := fake.Config{Nodes: nodes.Of(a), Workers: workers.Of(a), Waiter: emu.Spin}
	if costs.Of(a) != "none" {
		cfg.Request, cfg.Key, cfg.RoundTrip = requestCost, keyCost, roundTrip.Of(a)
	}
	c, err := fake.New(cfg)
	if err != nil {
		return nil, err
	}
	t := target{addr: c.Addrs()[0], namespace: "test", close: c.Close, use: func() (fake.Use, bool) { return c.Use(), true }}
	if err = records.Fill(c, t.namespace); err == nil {
		t.client, err = connect(t.addr, a, false)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	t.close = func() error {
		t.client.Close()
		return c.Close()
	}
	return newSubject(t, a)
}

const (
	calibrateFor = 100 * time.Millisecond
	calibrations = 3 // how often a fake may try: a disturbance of the host passes
)

// calibrate runs the arm itself for a while, and looks how well its server kept
// time under that load.
func calibrate(ctx context.Context, a lab.Arm) (string, error) {
	keys := batch.Of(a)
	if aerospike.ModeToggle.Of(a) == aerospike.Single {
		keys *= sets.Of(a)
	}
	return calibrateWith(ctx, a, keys, openFake)
}

// calibrateWith is calibrate for reads of so many keys.
func calibrateWith(ctx context.Context, a lab.Arm, keys int, open lab.Open) (text string, err error) {
	if costs.Of(a) == "none" {
		return "no waits, so none can be late", nil
	}
	s, err := open(ctx, a)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	asked := roundTrip.Of(a) + requestCost + time.Duration(keys/nodes.Of(a))*keyCost
	for try := 1; ; try++ {
		c, err := emu.CalibrateLoad(asked, callers(a), func() error {
			return s.Trial(ctx, &lab.Trial{Plan: lab.Plan{Min: calibrateFor}})
		})
		if err == nil || try == calibrations || !errors.Is(err, emu.ErrOffTolerance) {
			return fmt.Sprintf("answers of about %v ended %v late in the median (allowed: %v) and %v at p99; %d answers, up to %d reads at once, try %d of %d",
				asked, c.P50-c.Asked, c.Tolerance, c.P99-c.Asked, c.Samples, c.Waiters, try, calibrations), err
		}
	}
}
