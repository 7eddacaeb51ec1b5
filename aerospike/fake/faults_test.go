package fake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/types"

	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/aerospike/wire"
	"latlab.example/common/emu"
	"latlab.example/common/emu/sleepcheck"
)

func TestNoSleep(t *testing.T) {
	found, err := sleepcheck.Find(".")
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// load puts n records with bin n under set s and returns their keys.
func load(t *testing.T, c *fake.Cluster, n int) []*as.Key {
	t.Helper()
	keys := make([]*as.Key, n)
	for i := range keys {
		keys[i] = key(t, "test", "s", i)
		if err := c.Put("test", wire.Digest(keys[i].Digest()), fake.Bin{Name: "n", Value: i}); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// Each fault acts on its call, and the call after it is right again.
func TestFaultsActOnSchedule(t *testing.T) {
	for _, test := range []struct {
		faults string
		code   types.ResultCode // of the second batch; OK is no error
	}{
		{"batch:error@2", types.SERVER_ERROR},
		{"node0.batch:error@2", types.SERVER_ERROR},
		{"key:error@15", types.SERVER_ERROR},
		{"batch:reset@2", types.NETWORK_ERROR},
		{"batch:torn@2", types.NETWORK_ERROR},
		{"batch:short@2", types.TIMEOUT},
		{"batch:slow(1ms)@2", types.OK},
		{"key:slow(1ms)@15", types.OK},
	} {
		t.Run(test.faults, func(t *testing.T) {
			faults, err := emu.ParseFaults(test.faults)
			if err != nil {
				t.Fatal(err)
			}
			c := aerotest.Start(t, fake.Config{Faults: faults, Waiter: emu.Spin})
			keys := load(t, c, 10)
			client := aerotest.Connect(t, c.Addrs()[0])
			p := as.NewBatchPolicy()
			p.MaxRetries = 1
			p.TotalTimeout = 10 * time.Second
			if test.code == types.TIMEOUT {
				p.SocketTimeout = 300 * time.Millisecond
			}
			for call := 1; call <= 3; call++ {
				recs, err := client.BatchGet(p, keys)
				if call == 2 && test.code != types.OK {
					if err == nil || !err.Matches(test.code) {
						t.Errorf("call %d: %v, want code %d", call, err, test.code)
					}
					continue
				}
				if err != nil {
					t.Fatalf("call %d: %v", call, err)
				}
				for i, r := range recs {
					if value(r, "n") != i {
						t.Errorf("call %d, row %d: %v", call, i, r)
					}
				}
			}
		})
	}
}

// until asks again and again until ok, since clients tend in their own time.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happened: " + what)
		}
	}
}

func TestTheClusterChanges(t *testing.T) {
	c := aerotest.Start(t, fake.Config{Nodes: 3, Replicas: 2})
	keys := load(t, c, 300)
	client := aerotest.Connect(t, c.Addrs()[0])
	whole := func() bool {
		recs, err := client.BatchGet(nil, keys)
		if err != nil {
			return false
		}
		for i, r := range recs {
			if value(r, "n") != i {
				t.Fatalf("row %d: %v", i, r)
			}
		}
		return true
	}
	until(t, "all rows at first", whole)
	if err := c.Leave(1); err != nil {
		t.Fatal(err)
	}
	until(t, "two nodes", func() bool { return len(client.GetNodes()) == 2 })
	until(t, "all rows without node 1", whole)
	if err := c.Return(1); err != nil {
		t.Fatal(err)
	}
	until(t, "three nodes again", func() bool { return len(client.GetNodes()) == 3 })
	c.Rename(2, "OTHER")
	until(t, "the new name", func() bool {
		for _, n := range client.GetNodes() {
			if n.GetName() == "OTHER" {
				return len(client.GetNodes()) == 3
			}
		}
		return false
	})
	until(t, "all rows with the new name", whole)

	away := keys[7].PartitionId()
	c.Unavailable(away, true)
	if _, err := client.Get(nil, keys[7]); err == nil || !err.Matches(types.PARTITION_UNAVAILABLE) {
		t.Errorf("an unavailable partition: %v", err)
	}
	c.Unavailable(away, false)
	if _, err := client.Get(nil, keys[7]); err != nil {
		t.Error(err)
	}
}

func TestMisses(t *testing.T) {
	c := aerotest.Start(t, fake.Config{Misses: 0.3, Seed: 5})
	keys := load(t, c, 2000)
	client := aerotest.Connect(t, c.Addrs()[0])
	count := func() (missed int) {
		recs, err := client.BatchGet(nil, keys)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			if r == nil {
				missed++
			}
		}
		return missed
	}
	first := count()
	if first < 500 || first > 700 {
		t.Errorf("%d of 2000 missed, want about 600", first)
	}
	if again := count(); again != first {
		t.Errorf("%d missed, then %d", first, again)
	}
}

// A request takes its costs, and one worker serves one request at a time.
func TestCosts(t *testing.T) {
	c := aerotest.Start(t, fake.Config{Request: 2 * time.Millisecond, Key: 100 * time.Microsecond, RoundTrip: time.Millisecond, Workers: 1, Waiter: emu.Spin})
	keys := load(t, c, 10)
	client := aerotest.Connect(t, c.Addrs()[0])
	began := time.Now()
	const calls = 4
	done := make(chan error, calls)
	for range calls {
		go func() {
			_, err := client.BatchGet(nil, keys)
			if err != nil {
				done <- err
				return
			}
			done <- nil
		}()
	}
	for range calls {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if took, least := time.Since(began), calls*3*time.Millisecond+time.Millisecond; took < least {
		t.Errorf("%d requests of 3 ms on one worker took %v, want at least %v", calls, took, least)
	}
	if use := c.Use(); use.Requests != calls || use.Keys != calls*10 || use.Queued <= 0 {
		t.Errorf("use: %+v", use)
	}
}

// What isn't understood closes the connection or is answered with a code; the
// cluster goes on.
func TestHostileBytes(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	frame := func(body []byte) []byte {
		return append(wire.AppendFrame(nil, wire.TypeMessage, len(body)), body...)
	}
	batch := func(data []byte) []byte {
		return frame(wire.Message{Header: wire.Header{Info1: wire.BatchBit}, List: []wire.Field{{Type: wire.FieldBatch, Data: data}}}.Append(nil))
	}
	for _, test := range []struct {
		name string
		in   []byte
		code int // -1: the connection closes
	}{
		{"noise", []byte("GET / HTTP/1.1\r\n\r\n"), -1},
		{"an absurd size", []byte{2, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -1},
		{"half a message", frame(make([]byte, 10)), -1},
		{"info without a newline", append(wire.AppendFrame(nil, wire.TypeInfo, 4), "node"...), -1},
		{"a batch of no rows", batch(wire.Batch{}.Append(nil, wire.FieldBatch)), wire.ParameterError},
		{"a batch that isn't one", batch([]byte{1, 2, 3}), wire.ParameterError},
		{"compressed", append(wire.AppendFrame(nil, wire.TypeCompressed, 3), 1, 2, 3), wire.NotSupportedHere},
		{"no key", frame(wire.Message{Header: wire.Header{Info1: wire.Read}}.Append(nil)), wire.ParameterError},
		{"a scan", frame(wire.Message{Header: wire.Header{Info1: wire.Read}, List: []wire.Field{{Type: wire.FieldNamespace, Data: []byte("test")}}}.Append(nil)), wire.UnsupportedAction},
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.Addrs()[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(test.in); err != nil {
			t.Fatal(err)
		}
		_, body, err := wire.ReadFrame(conn, nil, wire.MaxBody)
		switch {
		case test.code < 0 && err == nil:
			t.Errorf("%s: answered with % x, want a closed connection", test.name, body)
		case test.code >= 0 && err != nil:
			t.Errorf("%s: %v, want code %d", test.name, err, test.code)
		case test.code >= 0:
			if h, _, _, err := wire.ParseRow(body); err != nil || int(h.Result) != test.code {
				t.Errorf("%s: code %d, %v, want %d", test.name, h.Result, err, test.code)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	load(t, c, 1)
	exercise(t, aerotest.Connect(t, c.Addrs()[0]), "test")
}

// A large reply comes in frames of at most the block size.
func TestBlocks(t *testing.T) {
	const block = 4096
	c := aerotest.Start(t, fake.Config{Block: block})
	var b wire.Batch
	for i, k := range load(t, c, 1800) {
		b.Rows = append(b.Rows, wire.BatchRow{
			Index: uint32(i), Digest: wire.Digest(k.Digest()), Info1: wire.Read | wire.GetAll, Namespace: []byte("test"), Set: []byte("s"),
		})
	}
	b.Flags = wire.Inline
	msg := wire.Message{Header: wire.Header{Info1: wire.Read | wire.BatchBit}, List: []wire.Field{{Type: wire.FieldBatchGet, Data: b.Append(nil, wire.FieldBatchGet)}}}.Append(nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(append(wire.AppendFrame(nil, wire.TypeMessage, len(msg)), msg...)); err != nil {
		t.Fatal(err)
	}
	for next := uint32(0); ; {
		_, body, err := wire.ReadFrame(conn, nil, block)
		if err != nil {
			t.Fatal(err)
		}
		for len(body) > 0 {
			h, _, n, err := wire.ParseRow(body)
			if err != nil {
				t.Fatal(err)
			}
			if h.Info3&wire.Last != 0 {
				if next != 1800 {
					t.Errorf("%d rows, want 1800", next)
				}
				return
			}
			if h.Timeout != next {
				t.Fatalf("row %d came as %d, although inline is allowed", h.Timeout, next)
			}
			next++
			body = body[n:]
		}
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	bad, err := emu.ParseFaults("node1.batch:reset@1")
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []fake.Config{
		{Nodes: 2, Replicas: 3}, {Nodes: 65}, {Key: -1}, {Misses: 1.5}, {Request: 1}, {Namespaces: []string{""}},
	} {
		if c, err := fake.New(cfg); !errors.Is(err, fake.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", cfg, err)
			if c != nil {
				c.Close()
			}
		}
	}
	if _, err := fake.New(fake.Config{Faults: bad, Waiter: emu.Spin}); !errors.Is(err, emu.ErrUnknownOp) {
		t.Errorf("a fault at a node that isn't there: %v", err)
	}
}

// The command prints addresses that a client can use, until its context ends.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- fake.Serve(ctx, w, "-nodes", "2", "-request", "10us") }()
	var first, second string
	if _, err := fmt.Fscan(r, &first, &second); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	client := aerotest.Connect(t, first)
	if n := len(client.GetNodes()); n != 2 {
		t.Errorf("%d nodes, want 2 (%s, %s)", n, first, second)
	}
	client.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.Close()
	var help bytes.Buffer
	if err := fake.Serve(t.Context(), &help, "-h"); err != nil || !strings.Contains(help.String(), "-round-trip") {
		t.Errorf("-h: %v, %s", err, help.String())
	}
	if err := fake.Serve(t.Context(), io.Discard, "-faults", "batch:nonsense@1"); err == nil {
		t.Error("a bad schedule is no error")
	}
}
