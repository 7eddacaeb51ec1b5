// Package aerotest has what this module's tests share: fakes and clients that end
// with their test.
package aerotest

import (
	"net"
	"strconv"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"go.uber.org/goleak"

	"latlab.example/aerospike/fake"
)

// Start runs a fake until the end of the test, and looks for goroutines left
// behind.
func Start(t testing.TB, cfg fake.Config) *fake.Cluster {
	t.Helper()
	leak := goleak.IgnoreCurrent()
	c, err := fake.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := goleak.Find(leak); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Connect makes a client until the end of the test. It tends often, so that it
// sees soon what a test does to the cluster, and has connections open.
func Connect(t testing.TB, addr string) *as.Client {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	p := as.NewClientPolicy()
	p.TendInterval = 20 * time.Millisecond
	client, aerr := as.NewClientWithPolicy(p, host, n)
	if aerr != nil {
		t.Fatal(aerr)
	}
	t.Cleanup(client.Close)
	if _, aerr := client.WarmUp(20); aerr != nil {
		t.Fatal(aerr)
	}
	return client
}

// Patient is a policy that waits longer than any busy test machine makes it.
func Patient() *as.BatchPolicy {
	p := as.NewBatchPolicy()
	p.TotalTimeout = 20 * time.Second
	return p
}

// Key is a key of namespace test.
func Key(t testing.TB, set, user string) *as.Key {
	t.Helper()
	k, err := as.NewKey("test", set, user)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
