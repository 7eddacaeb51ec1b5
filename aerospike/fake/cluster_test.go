package fake

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"latlab.example/aerospike/wire"
)

// question asks a server by info, and gives its answer.
func question(addr, name string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	body := wire.AppendInfoRequest(nil, name)
	if _, err := conn.Write(append(wire.AppendFrame(nil, wire.TypeInfo, len(body)), body...)); err != nil {
		return "", err
	}
	_, answer, err := wire.ReadFrame(conn, nil, wire.MaxBody)
	return string(answer), err
}

// Node 0 answers while the others are still being made. (For the race detector.)
func TestQuestionsDuringNew(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = question(addr, "peers-clear-std") // refused at first
			}
		}
	})
	c, err := New(Config{Addr: addr, Nodes: maxNodes})
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoReturnAfterClose(t *testing.T) {
	c, err := New(Config{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Return(1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a node that returns to a closed cluster: %v", err)
	}
	if _, err := question(c.Addrs()[1], "node"); err == nil {
		t.Error("it answers")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// full can't accept for a while, as when a process has no descriptor left.
type full struct {
	net.Listener
	times int
}

func (f *full) Accept() (net.Conn, error) {
	if f.times > 0 {
		f.times--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

// A node goes on after it couldn't accept a connection.
func TestAcceptFails(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &full{inner, 3}
	n := &node{cluster: c, name: "FULL", ops: map[string]string{}, listener: l, conns: map[net.Conn]bool{}}
	n.running.Add(1)
	go n.accept(l)
	// Whoever waits behind a listener that nobody serves waits for ever.
	answer := make(chan string, 1)
	go func() { a, _ := question(inner.Addr().String(), "node"); answer <- a }()
	ended := make(chan struct{})
	go func() { n.running.Wait(); close(ended) }()
	select {
	case a := <-answer:
		if !strings.Contains(a, "FULL") {
			t.Errorf("answered %q", a)
		}
	case <-ended:
		t.Error("the node has stopped serving")
	}
	if err := n.leave(); err != nil {
		t.Error(err)
	}
	<-ended
}

// What one request may ask for is bounded, though it names a large record often.
func TestRepliesAreBounded(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Put("test", wire.Digest{1}, Bin{"b", make([]byte, 1<<20)}); err != nil {
		t.Fatal(err)
	}
	const times = 2 * maxReply >> 20
	var often wire.Ops
	rows := []wire.BatchRow{{Digest: wire.Digest{1}, Info1: wire.Read | wire.GetAll, Namespace: []byte("test")}}
	for i := range times {
		often = often.Append(wire.Op{Do: wire.OpRead, Name: []byte("b")})
		rows = append(rows, wire.BatchRow{Index: uint32(i + 1), Digest: wire.Digest{1}, Type: wire.RowRepeat})
	}
	key := []wire.Field{{Type: wire.FieldNamespace, Data: []byte("test")}, {Type: wire.FieldDigest, Data: append([]byte{1}, make([]byte, 19)...)}}
	for name, m := range map[string]wire.Message{
		"rows": {Header: wire.Header{Info1: wire.Read | wire.BatchBit}, List: []wire.Field{{Type: wire.FieldBatchGet, Data: wire.Batch{Rows: rows}.Append(nil, wire.FieldBatchGet)}}},
		"bins": {Header: wire.Header{Info1: wire.Read}, List: key, Bins: often},
	} {
		conn, err := net.Dial("tcp", c.Addrs()[0])
		if err != nil {
			t.Fatal(err)
		}
		body := m.Append(nil)
		if _, err := conn.Write(append(wire.AppendFrame(nil, wire.TypeMessage, len(body)), body...)); err != nil {
			t.Fatal(err)
		}
		_, answer, err := wire.ReadFrame(conn, nil, wire.MaxBody)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h, _, _, err := wire.ParseRow(answer); err != nil || h.Result != wire.TooBig {
			t.Errorf("%s: code %d, %v, want %d", name, h.Result, err, wire.TooBig)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A record takes as many bins as its replies can count, and no more.
func TestRecordsAreBounded(t *testing.T) {
	var s store
	s.init([]string{"test"})
	var bins wire.Ops
	for i := range maxBins {
		bins = bins.Append(wire.Op{Do: wire.OpRead, Type: wire.Bool, Name: fmt.Append(nil, i), Value: []byte{1}})
	}
	s.records[id{}] = &record{generation: 1, bins: bins}
	write := func(name string) uint8 {
		var scratch []byte
		ops := wire.Ops{}.Append(wire.Op{Do: wire.OpWrite, Type: wire.Bool, Name: []byte(name), Value: []byte{0}})
		return s.do(&ask{info2: wire.Write, ops: ops}, false, &scratch).code
	}
	if code := write("7"); code != wire.OK {
		t.Errorf("a bin that is there: code %d", code)
	}
	if code := write("new"); code != wire.TooBig {
		t.Errorf("one more: code %d, want %d", code, wire.TooBig)
	}
	if n := s.records[id{}].bins.Count; n != maxBins {
		t.Errorf("%d bins, want %d", n, maxBins)
	}
}

func TestBinNames(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Put("test", wire.Digest{}, Bin{"a name of 16 byt", 1})
	if !errors.Is(err, ErrBinName) || strings.Contains(fmt.Sprint(err), "%!") {
		t.Errorf("a name that is too long: %v", err)
	}
	if err := c.Put("test", wire.Digest{}, Bin{"fits", struct{}{}}); !errors.Is(err, wire.ErrValue) || errors.Is(err, io.EOF) {
		t.Errorf("a value without a particle: %v", err)
	}
}
