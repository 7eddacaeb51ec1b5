package bubble_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"latlab.example/common/bubble"
)

const ms = time.Millisecond

// inBubble runs f and fails the test if the bubble fails.
func inBubble(t *testing.T, f func(ctx context.Context)) {
	t.Helper()
	err := bubble.Run(t.Context(), func(ctx context.Context) error {
		f(ctx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pair connects two ends and closes them in the end.
func pair(t *testing.T, l bubble.Link, f func(client, server net.Conn)) {
	t.Helper()
	inBubble(t, func(ctx context.Context) {
		client, server, err := connect(ctx, l)
		if err != nil {
			t.Error(err)
			return
		}
		f(client, server)
		_, _ = client.Close(), server.Close()
	})
}

func connect(ctx context.Context, l bubble.Link) (client, server net.Conn, err error) {
	n := bubble.NewNet(l)
	listener, err := n.Listen("server:1")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := listener.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	if client, err = n.DialContext(ctx, "tcp", "server:1"); err != nil {
		return nil, nil, err
	}
	return client, <-accepted, nil
}

var links = map[string]bubble.Link{
	"plain":        {},
	"far":          {RTT: 30 * ms},
	"slow":         {RTT: 2 * ms, BytesPerSec: 10_000_000},
	"small buffer": {RTT: 2 * ms, Buffer: 1000},
	"tiny buffer":  {Buffer: 1},
}

// What every net.Conn must do, over each link.
func TestConn(t *testing.T) {
	for name, l := range links {
		t.Run(name, func(t *testing.T) {
			t.Run("both ways at once", func(t *testing.T) { bothWays(t, l) })
			t.Run("ping-pong", func(t *testing.T) { pingPong(t, l) })
			t.Run("deadlines", func(t *testing.T) { deadlines(t, l) })
			t.Run("close wakes up", func(t *testing.T) { closeWakes(t, l) })
			t.Run("many goroutines", func(t *testing.T) { manyGoroutines(t, l) })
			t.Run("half close", func(t *testing.T) { halfClose(t, l) })
			t.Run("reset", func(t *testing.T) { reset(t, l) })
		})
	}
}

func bothWays(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, server net.Conn) {
		var all sync.WaitGroup
		send := func(c net.Conn, seed uint64) {
			data := make([]byte, 200_000)
			for i, r := 0, rand.New(rand.NewPCG(seed, 0)); i < len(data); i++ {
				data[i] = byte(r.Uint32())
			}
			n, err := c.Write(data)
			if err != nil || n != len(data) {
				t.Errorf("wrote %d of %d: %v", n, len(data), err)
			}
			_, err = c.Write(binarySum(data))
			if err != nil {
				t.Error(err)
			}
		}
		receive := func(c net.Conn) {
			data := make([]byte, 200_004)
			if _, err := io.ReadFull(c, data); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(binarySum(data[:200_000]), data[200_000:]) {
				t.Error("bytes came in changed")
			}
		}
		for i, c := range []net.Conn{client, server} {
			all.Go(func() { send(c, uint64(i)) })
			all.Go(func() { receive(c) })
		}
		all.Wait()
	})
}

func binarySum(p []byte) []byte {
	s := crc32.ChecksumIEEE(p)
	return []byte{byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
}

func pingPong(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, server net.Conn) {
		go func() { _, _ = io.Copy(server, server) }()
		start := time.Now()
		for i := range 10 {
			if _, err := client.Write([]byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			var b [1]byte
			if _, err := io.ReadFull(client, b[:]); err != nil || b[0] != byte(i) {
				t.Fatalf("got %d, %v, want %d", b[0], err, i)
			}
		}
		byteTime := time.Duration(0)
		if l.BytesPerSec > 0 {
			byteTime = time.Second / time.Duration(l.BytesPerSec)
		}
		if took, want := time.Since(start), 10*(l.RTT+2*byteTime); took != want {
			t.Errorf("ten round trips took %v, want %v", took, want)
		}
		if err := client.(*bubble.Conn).CloseWrite(); err != nil {
			t.Error(err)
		}
	})
}

func deadlines(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, _ net.Conn) {
		var b [1]byte
		big := make([]byte, 5<<20) // more than the largest buffer
		late := func(op string, n int, err error) {
			t.Helper()
			var opErr *net.OpError
			var timeout net.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &opErr) || opErr.Op != op ||
				!errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("%s: %d, %v, want a timeout", op, n, err)
			}
		}
		read := func() { n, err := client.Read(b[:]); late("read", n, err) }
		write := func() { n, err := client.Write(big); late("write", n, err) }

		start := time.Now()
		set(t, client.SetReadDeadline(start.Add(time.Second)))
		read()
		read() // it stays passed
		if d := time.Since(start); d != time.Second {
			t.Errorf("read returned after %v, want 1s", d)
		}
		set(t, client.SetWriteDeadline(start.Add(10*time.Second)))
		write()
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("write returned after %v, want 10s", d)
		}
		set(t, client.SetDeadline(time.Unix(1, 0)))
		read()
		if n, err := client.Write(b[:]); n != 0 || err == nil {
			t.Errorf("wrote %d, %v after the deadline", n, err)
		}

		// Taking the deadline off, and a new one meanwhile.
		set(t, client.SetDeadline(time.Time{}))
		start = time.Now()
		time.AfterFunc(time.Hour, func() { set(t, client.SetReadDeadline(time.Now())) })
		read()
		if d := time.Since(start); d != time.Hour {
			t.Errorf("read returned after %v, want 1h", d)
		}
		set(t, client.SetReadDeadline(time.Now().Add(time.Minute)))
		time.AfterFunc(time.Second, func() { set(t, client.SetReadDeadline(time.Now().Add(time.Hour))) })
		start = time.Now()
		read()
		if d := time.Since(start); d != time.Hour+time.Second {
			t.Errorf("read returned after %v, want 1h0m1s", d)
		}
	})
}

func set(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func closeWakes(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, server net.Conn) {
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("read: error %v, want %v", err, net.ErrClosed)
			}
		})
		all.Go(func() {
			if _, err := client.Write(make([]byte, 9<<20)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("write: error %v, want %v", err, net.ErrClosed)
			}
		})
		time.Sleep(time.Minute)
		set(t, client.Close())
		all.Wait()
		for op, err := range map[string]error{
			"second close": client.Close(),
			"deadline":     client.SetDeadline(time.Now()),
			"close write":  client.(*bubble.Conn).CloseWrite(),
			"close read":   client.(*bubble.Conn).CloseRead(),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: error %v, want %v", op, err, net.ErrClosed)
			}
		}
		// What was written arrives, then the end.
		if _, err := io.Copy(io.Discard, server); err != nil {
			t.Errorf("the other end reads %v, want EOF", err)
		}
		time.Sleep(l.RTT)
		if _, err := server.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the other end writes with %v, want EPIPE", err)
		}
	})
}

func manyGoroutines(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, server net.Conn) {
		const each = 500
		var all sync.WaitGroup
		var mu sync.Mutex
		read := 0
		for range 4 {
			all.Go(func() {
				for range each {
					if _, err := client.Write([]byte("abcde")); err != nil {
						t.Error(err)
					}
					set(t, client.SetWriteDeadline(time.Now().Add(time.Hour)))
				}
			})
			all.Go(func() {
				buf := make([]byte, 7)
				for {
					n, err := server.Read(buf)
					mu.Lock()
					read += n
					all := read == 4*each*5
					mu.Unlock()
					if err != nil {
						if !errors.Is(err, io.EOF) {
							t.Error(err)
						}
						return
					}
					set(t, server.SetReadDeadline(time.Now().Add(time.Hour)))
					if server.LocalAddr().String() != "server:1" || client.RemoteAddr().Network() != "tcp" {
						t.Error("wrong address")
					}
					if all {
						set(t, client.(*bubble.Conn).CloseWrite())
					}
				}
			})
		}
		all.Wait()
		if read != 4*each*5 {
			t.Errorf("read %d bytes, want %d", read, 4*each*5)
		}
	})
}

func halfClose(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, server net.Conn) {
		var all sync.WaitGroup
		all.Go(func() { // answers once it has read all
			b, err := io.ReadAll(server)
			set(t, err)
			_, err = server.Write(bytes.ToUpper(b))
			set(t, err)
			set(t, server.Close())
		})
		_, err := client.Write([]byte("question"))
		set(t, err)
		set(t, client.(*bubble.Conn).CloseWrite())
		if _, err := client.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write after the half close: error %v, want EPIPE", err)
		}
		if b, err := io.ReadAll(client); err != nil || string(b) != "QUESTION" {
			t.Errorf("got %q, %v", b, err)
		}
		all.Wait()
	})
	pair(t, l, func(client, server net.Conn) {
		set(t, client.(*bubble.Conn).CloseRead())
		if _, err := client.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read after CloseRead: error %v, want EOF", err)
		}
		if _, err := server.Write(make([]byte, 6<<20)); err != nil { // nobody is told
			t.Error(err)
		}
	})
}

// Closing with bytes unread resets, behind what was sent.
func reset(t *testing.T, l bubble.Link) {
	pair(t, l, func(client, server net.Conn) {
		_, err := client.Write([]byte("u"))
		set(t, err)
		_, err = server.Write([]byte("v"))
		set(t, err)
		set(t, server.Close())
		if b, err := io.ReadAll(client); string(b) != "v" || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %q, %v, want v and ECONNRESET", b, err)
		}
	})
}

// A deadline at the instant of arrival always comes first.
func TestDeadlineMeetsArrival(t *testing.T) {
	for range 50 {
		pair(t, bubble.Link{}, func(client, server net.Conn) {
			set(t, client.SetReadDeadline(time.Now().Add(time.Second)))
			time.AfterFunc(time.Second, func() { _, _ = server.Write([]byte("x")) })
			if n, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("read %d, %v, want a timeout", n, err)
			}
			time.Sleep(time.Second) // the write comes
			set(t, client.SetReadDeadline(time.Time{}))
			if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
				t.Errorf("read %d, %v after that, want the byte", n, err)
			}
		})
	}
}

// Times on a link, worked out by hand.
func TestLinkTable(t *testing.T) {
	for name, tt := range map[string]struct {
		link   bubble.Link
		writes []int         // sizes, one after another
		wrote  time.Duration // when the last Write returned
		read   time.Duration // when the last byte was read
	}{
		"no time at all":    {bubble.Link{}, []int{100_000}, 0, 0},
		"half a round trip": {bubble.Link{RTT: 10 * ms}, []int{100_000}, 0, 5 * ms},
		// 1 MB/s is 1 us a byte; the wire sends one after the other.
		"bandwidth": {bubble.Link{RTT: 10 * ms, BytesPerSec: 1e6}, []int{1000, 2000}, 0, 8 * ms},
		// 3 bytes a second: 333333333.3 ns, rounded up.
		"rounded up": {bubble.Link{BytesPerSec: 3}, []int{1}, 0, 333_333_334},
		// Two bytes at once, then none until they are read 5 ms later: the
		// third and the fourth leave at 5, the fifth at 10.
		"buffer":           {bubble.Link{RTT: 10 * ms, Buffer: 2}, []int{5}, 10 * ms, 15 * ms},
		"negative is zero": {bubble.Link{RTT: -1, BytesPerSec: -1, Buffer: -1}, []int{10}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pair(t, tt.link, func(client, server net.Conn) {
				start, total := time.Now(), 0
				for _, n := range tt.writes {
					total += n
				}
				var all sync.WaitGroup
				all.Go(func() {
					for _, n := range tt.writes {
						_, err := client.Write(make([]byte, n))
						set(t, err)
					}
					if d := time.Since(start); d != tt.wrote {
						t.Errorf("wrote until %v, want %v", d, tt.wrote)
					}
				})
				_, err := io.ReadFull(server, make([]byte, total))
				set(t, err)
				if d := time.Since(start); d != tt.read {
					t.Errorf("read until %v, want %v", d, tt.read)
				}
				all.Wait()
			})
		})
	}
}

func TestDial(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		n := bubble.NewNet(bubble.Link{RTT: 10 * ms})
		n.SetLink("near:1", bubble.Link{RTT: 2 * ms})
		fails := func(what string, want error, after time.Duration, dial func() (net.Conn, error)) {
			t.Helper()
			start := time.Now()
			c, err := dial()
			var opErr *net.OpError
			if c != nil || !errors.Is(err, want) || !errors.As(err, &opErr) || opErr.Op != "dial" {
				t.Errorf("%s: error %v, want %v", what, err, want)
			}
			if d := time.Since(start); d != after {
				t.Errorf("%s: after %v, want %v", what, d, after)
			}
		}
		fails("nobody listens", syscall.ECONNREFUSED, 10*ms, func() (net.Conn, error) { return n.Dial("tcp", "far:1") })
		fails("nobody listens near", syscall.ECONNREFUSED, 2*ms, func() (net.Conn, error) { return n.Dial("tcp", "near:1") })
		fails("udp", net.UnknownNetworkError("udp"), 0, func() (net.Conn, error) { return n.Dial("udp", "far:1") })

		l, err := n.Listen("far:1")
		set(t, err)
		if _, err := n.Listen("far:1"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("second listen: error %v, want EADDRINUSE", err)
		}
		for _, limit := range []time.Duration{3 * ms, 7 * ms} { // on the way there, and back
			short, cancel := context.WithTimeout(ctx, limit)
			fails("timeout", context.DeadlineExceeded, limit, func() (net.Conn, error) { return n.DialContext(short, "tcp", "far:1") })
			cancel()
		}
		abandoned, err := l.Accept() // the one that ended on the way back
		set(t, err)
		if _, err := abandoned.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the abandoned connection reads %v, want EOF", err)
		}
		set(t, abandoned.Close())

		start := time.Now()
		c, err := n.Dial("tcp", "far:1") // nobody accepts, but there is a backlog
		set(t, err)
		if d := time.Since(start); d != 10*ms {
			t.Errorf("dialled in %v, want 10ms", d)
		}
		if got := c.RemoteAddr().String() + " " + l.Addr().String(); got != "far:1 far:1" {
			t.Errorf("addresses %s", got)
		}
		set(t, l.Close())
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("never accepted: error %v, want ECONNRESET", err)
		}
		set(t, c.Close())
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept after close: error %v", err)
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second close: error %v", err)
		}
		l, err = n.Listen("far:1") // free again
		set(t, err)
		set(t, l.Close())
	})
}

func TestBacklog(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		n := bubble.NewNet(bubble.Link{})
		l, err := n.Listen("a:1")
		set(t, err)
		var conns []net.Conn
		for range bubble.Backlog {
			c, err := n.Dial("tcp", "a:1")
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := n.DialContext(short, "tcp", "a:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beyond the backlog: error %v, want a timeout", err)
		}
		accepted := make(chan net.Conn, 1)
		time.AfterFunc(time.Minute, func() {
			c, err := l.Accept()
			set(t, err)
			accepted <- c
		})
		start := time.Now()
		c, err := n.DialContext(ctx, "tcp", "a:1")
		set(t, err)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("got a place after %v, want 1m", d)
		}
		conns = append(conns, c, <-accepted)
		time.AfterFunc(time.Minute, func() { set(t, l.Close()) })
		if _, err := n.DialContext(ctx, "tcp", "a:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("closed while waiting for a place: error %v, want ECONNREFUSED", err)
		}
		for _, c := range conns {
			set(t, c.Close())
		}
	})
}

// A Net without a link works on the wall clock.
func TestNetOutsideABubble(t *testing.T) {
	client, server, err := connect(t.Context(), bubble.Link{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(server, server)
		_ = server.Close()
	}()
	if _, err := fmt.Fprint(client, "hello"); err != nil {
		t.Fatal(err)
	}
	set(t, client.(*bubble.Conn).CloseWrite())
	if b, err := io.ReadAll(client); err != nil || string(b) != "hello" {
		t.Errorf("got %q, %v", b, err)
	}
	set(t, client.Close())
}
