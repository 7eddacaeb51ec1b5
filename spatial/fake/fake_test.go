package fake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"latlab.example/common/emu"
	"latlab.example/common/emu/sleepcheck"
	"latlab.example/common/lab/labtest"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/fake/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNoSleep(t *testing.T) {
	found, err := sleepcheck.Find(".")
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func faults(t *testing.T, text string) *emu.Schedule {
	t.Helper()
	f, err := emu.ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Each fault acts on its call, and the call after it is right again.
func TestFaultsActOnSchedule(t *testing.T) {
	for _, test := range []struct{ faults, want string }{
		{"search:error@2", "ERROR 58000"},
		{"statement:error@2", "ERROR 58000"},
		{"search:reset@2", "broken"},
		{"search:torn@2", "broken"},
		{"search:short@2", "hangs"},
		{"search:slow(20ms)@2", "right"},
	} {
		quiet(t, fake.Config{Faults: faults(t, test.faults)}, func(ctx context.Context, w world) error {
			w.pool.MaxConns = 1
			pool, err := pgxpool.NewWithConfig(ctx, w.pool)
			if err != nil {
				return err
			}
			defer pool.Close()
			for call := 1; call <= 3; call++ {
				// After a hang pgx keeps the connection, and its place in the pool, for 15 s.
				patience := 20 * time.Second
				if call == 2 {
					patience = time.Second
				}
				ctx, cancel := context.WithTimeout(ctx, patience)
				began, got := time.Now(), "right"
				rows, err := pool.Query(ctx, spatial.SearchRadius, 126.978, 37.5665, 5000.0, 100)
				n := 0
				if err == nil {
					for rows.Next() {
						n++
					}
					err = rows.Err()
				}
				var sqlErr *pgconn.PgError
				switch {
				case errors.As(err, &sqlErr) || errors.Is(err, context.DeadlineExceeded):
					got = conformance.Outcome(err)
				case err != nil:
					got = "broken"
				}
				cancel()
				want := "right"
				if call == 2 {
					want = test.want
				}
				if got != want || want == "right" && n != 100 {
					return fmt.Errorf("%s: call %d: %s (%v) with %d rows, want %s", test.faults, call, got, err, n, want)
				}
				if took := time.Since(began); strings.Contains(test.faults, "slow") && call == 2 && took < 20*time.Millisecond {
					return fmt.Errorf("%s: call %d took %v", test.faults, call, took)
				}
			}
			return nil
		})
	}
}

func TestConnectionsThatFail(t *testing.T) {
	for _, test := range []struct{ faults, want string }{
		{"connect:error@1", "FATAL 57P03"},
		{"connect:reset@1", "broken"},
		{"connect:torn@1", "broken"},
		{"connect:short@1", "hangs"},
		{"connect:slow(50ms)@1", "right"},
	} {
		quiet(t, fake.Config{Faults: faults(t, test.faults)}, func(ctx context.Context, w world) error {
			for call := 1; call <= 2; call++ {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				c, err := one(ctx, w)
				got := "right"
				var sqlErr *pgconn.PgError
				switch {
				case errors.As(err, &sqlErr) || errors.Is(err, context.DeadlineExceeded):
					got = conformance.Outcome(err)
				case err != nil:
					got = "broken"
				default:
					err = c.Close(ctx)
				}
				cancel()
				if want := map[bool]string{true: test.want, false: "right"}[call == 1]; got != want {
					return fmt.Errorf("%s: connection %d: %s (%v), want %s", test.faults, call, got, err, want)
				}
			}
			return nil
		})
	}
}

// Beyond its limit a server refuses; when one leaves the next may come.
func TestConnectionLimit(t *testing.T) {
	s := start(t, fake.Config{MaxConns: 2})
	ctx := t.Context()
	var conns []*pgx.Conn
	for range 2 {
		conns = append(conns, must(pgx.Connect(ctx, s.DSN())))
	}
	_, err := pgx.Connect(ctx, s.DSN())
	if err == nil || conformance.Outcome(err) != "FATAL 53300" {
		t.Errorf("a third connection: %v, want 53300", err)
	}
	if err := conns[0].Close(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "a free place", func() bool {
		c, err := pgx.Connect(ctx, s.DSN())
		if err == nil {
			err = c.Close(ctx)
		}
		return err == nil
	})
	if err := conns[1].Close(ctx); err != nil {
		t.Fatal(err)
	}
	if u := s.Use(); u.Refused < 1 || u.Sessions != 3 {
		t.Errorf("use: %+v", u)
	}
}

// until asks again and again until ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happened: " + what)
		}
	}
}

// A restart tells its clients, refuses new ones while it is down, and comes back
// at the same address.
func TestRestart(t *testing.T) {
	s := start(t, fake.Config{})
	ctx := t.Context()
	idle, busy := must(pgx.Connect(ctx, s.DSN())), must(pgx.Connect(ctx, s.DSN()))
	failed := make(chan error, 1)
	go func() {
		_, err := busy.Exec(ctx, spatial.Sleep, 60.0)
		failed <- err
	}()
	until(t, "a statement that runs", func() bool { return s.Use().Statements > 0 })
	addr := s.Addr()
	for range 2 { // the second time there is nothing to do
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-failed; err == nil || conformance.Outcome(err) != "FATAL 57P01" {
		t.Errorf("the statement that ran: %v, want 57P01", err)
	}
	if _, err := idle.Exec(ctx, "select 1"); err == nil || !idle.IsClosed() {
		t.Errorf("a connection that was idle: %v, want an error and the connection closed", err)
	}
	if _, err := pgx.Connect(ctx, s.DSN()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("while it is down: %v, want refused", err)
	}
	for range 2 {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Addr() != addr {
		t.Errorf("it came back at %s, was at %s", s.Addr(), addr)
	}
	c := must(pgx.Connect(ctx, s.DSN()))
	if _, err := c.Exec(ctx, "select 1"); err != nil {
		t.Error(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// A client that doesn't read holds up nobody but itself, not even the end.
func TestASlowReader(t *testing.T) {
	s := start(t, fake.Config{Cores: 1, Cost: fake.Cost{Statement: time.Microsecond}})
	ctx := t.Context()
	stuck := must(pgx.Connect(ctx, s.DSN()))
	hijacked := must(stuck.PgConn().Hijack())
	defer hijacked.Conn.Close()
	text := strings.Repeat("select 1;"+spatialAll(), 40) // more than the buffers hold
	msg := append([]byte{'Q', 0, 0, 0, 0}, text...)
	msg = append(msg, 0)
	size := len(msg) - 1
	msg[1], msg[2], msg[3], msg[4] = byte(size>>24), byte(size>>16), byte(size>>8), byte(size)
	if _, err := hijacked.Conn.Write(msg); err != nil {
		t.Fatal(err)
	}
	until(t, "rows for the one who doesn't read", func() bool { return s.Use().Rows > 4000 })
	c := must(pgx.Connect(ctx, s.DSN()))
	defer c.Close(ctx)
	for range 20 {
		if _, err := c.Exec(ctx, spatial.MediaOf, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// spatialAll asks for every place, as text.
func spatialAll() string { return fake.Example(126.978, 37.5665, 21_000_000, 1_000_000) }

// On one core, statements that come together wait for each other; on four they
// don't.
func TestCores(t *testing.T) {
	for cores, want := range map[int]time.Duration{1: 40 * time.Millisecond, 4: 10 * time.Millisecond} {
		s := start(t, fake.Config{Cores: cores, Cost: fake.Cost{Statement: 10 * time.Millisecond}})
		ctx := t.Context()
		var conns []*pgx.Conn
		for range 4 {
			conns = append(conns, must(pgx.Connect(ctx, s.DSN())))
		}
		began := time.Now()
		var wg sync.WaitGroup
		for _, c := range conns {
			wg.Go(func() {
				if _, err := c.PgConn().Exec(ctx, "select 1").ReadAll(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took < want {
			t.Errorf("%d cores: four statements of 10 ms took %v, want at least %v", cores, took, want)
		}
		for _, c := range conns {
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
		}
		if u := s.Use(); u.CPU != 40*time.Millisecond || u.Statements != 4 {
			t.Errorf("use: %+v", u)
		}
	}
}

// A hold is drawn by what is asked for, so the same request has the same.
func TestHold(t *testing.T) {
	hold := must(emu.CappedExponential(20*time.Millisecond, time.Second))
	run := func() (took []time.Duration) {
		quiet(t, fake.Config{Hold: hold, Seed: 9}, func(ctx context.Context, w world) error {
			c, err := one(ctx, w)
			if err != nil {
				return err
			}
			defer c.Close(ctx)
			for i := range 20 {
				began := time.Now()
				if _, err := c.Exec(ctx, spatial.MediaOf, i); err != nil {
					return err
				}
				took = append(took, time.Since(began))
			}
			return nil
		})
		return took
	}
	a, b := run(), run()
	if fmt.Sprint(a) != fmt.Sprint(b) || a[1] == a[2] {
		t.Errorf("%v\n%v", a, b)
	}
}

// What isn't the protocol closes the connection; the server goes on.
func TestHostileBytes(t *testing.T) {
	s := start(t, fake.Config{})
	startup := append([]byte{0, 0, 0, 22, 0, 3, 0, 0}, "user\x00latlab\x00\x00\x00"...)
	startup[3] = byte(len(startup))
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		conn := must(new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr()))
		var in []byte
		switch i {
		case 0:
			in = []byte("GET / HTTP/1.1\r\n\r\n")
		case 1:
			in = []byte{0xff, 0xff, 0xff, 0xff, 0, 3, 0, 0}
		case 2:
			in = append(startup, 'Q', 0xff, 0xff, 0xff, 0xff)
		default:
			in = append(in, startup...)
			for range 1 + r.IntN(4) {
				body := make([]byte, r.IntN(40))
				for j := range body {
					body[j] = byte(r.IntN(256) >> r.IntN(8))
				}
				size := len(body) + 4
				in = append(in, "QPBDECSHXpdfF!"[r.IntN(14)], 0, 0, byte(size>>8), byte(size))
				in = append(in, body...)
			}
		}
		if _, err := conn.Write(in); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("input %d (% x): the connection is still open", i, in)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	c := must(pgx.Connect(t.Context(), s.DSN()))
	if _, err := c.Exec(t.Context(), spatial.MediaOf, 1); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for _, cfg := range []fake.Config{
		{Waiter: emu.Spin},
		{Data: small()},
		{Data: small(), Waiter: emu.Spin, Cores: -1},
		{Data: small(), Waiter: emu.Spin, Cost: fake.Cost{Row: -1}},
	} {
		if s, err := fake.New(cfg); !errors.Is(err, fake.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", cfg, err)
			if s != nil {
				s.Close()
			}
		}
	}
	if _, err := fake.New(fake.Config{Data: small(), Waiter: emu.Spin, Faults: faults(t, "serach:error@1")}); !errors.Is(err, emu.ErrUnknownOp) {
		t.Errorf("a misspelt fault: %v", err)
	}
}

// serve runs the command and gives its address and what else it prints at first.
func serve(t *testing.T, args ...string) (addr, query string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- fake.Serve(ctx, w, args...)
		w.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	var text bytes.Buffer
	for b := make([]byte, 4096); !strings.Contains(text.String(), "SELECT"); {
		n, err := r.Read(b)
		text.Write(b[:n])
		if err != nil {
			t.Fatalf("%v after %s", err, text.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	return lines[0], strings.TrimSpace(lines[len(lines)-1])
}

func TestServe(t *testing.T) {
	addr, query := serve(t, "-locations", "4000", "-guides", "400", "-costs", "none")
	c := must(pgx.Connect(t.Context(), "postgres://x@"+addr+"/x?sslmode=disable"))
	defer c.Close(context.Background())
	rows := must(c.Query(t.Context(), strings.TrimSuffix(query, ";"), pgx.QueryExecModeSimpleProtocol))
	places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		ID               int64
		Name             string
		Lon, Lat, Meters float64
	}])
	if err != nil || len(places) != 5 || places[0].ID != data.Fixed || places[0].Meters != 0 {
		t.Errorf("%+v, %v", places, err)
	}
	var help bytes.Buffer
	if err := fake.Serve(t.Context(), &help, "-h"); err != nil || !strings.Contains(help.String(), "-max-connections") {
		t.Errorf("-h: %v, %s", err, help.String())
	}
	for _, args := range [][]string{{"-faults", "search:nonsense@1"}, {"-hold", "soon"}, {"-costs", "many"}, {"-locations", "1"}, {"-nothing"}, {"more"}} {
		if err := fake.Serve(t.Context(), io.Discard, args...); !errors.Is(err, fake.ErrUsage) {
			t.Errorf("%v: %v, want ErrUsage", args, err)
		}
	}
}

// psql runs the case's query, and gets an error for one that isn't known.
func TestPsql(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		labtest.Require(t, "psql", err)
	}
	addr, query := serve(t, "-locations", "4000", "-guides", "400", "-costs", "none")
	dsn := "postgres://latlab@" + addr + "/latlab"
	run := func(sql string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, psql, "-X", "-A", "-t", "-c", sql, dsn)
		cmd.Env = append(os.Environ(), "PGCLIENTENCODING=UTF8")
		out, _ := cmd.CombinedOutput() // an error is in it, too
		if ctx.Err() != nil {
			t.Errorf("%s: psql hangs", sql)
		}
		return string(out)
	}
	if out := run(query); strings.Count(out, "\n") != 5 || !strings.HasPrefix(out, "1|Place 1|126.978|37.5665|0\n") {
		t.Errorf("%s:\n%s", query, out)
	}
	for sql, want := range map[string]string{
		"select * from pg_class":       "ERROR:  the fake PostgreSQL doesn't know this statement",
		"selec 1":                      `ERROR:  syntax error at or near "selec"`,
		"show server_version":          "(latlab fake)",
		"begin; select 1; commit":      "COMMIT",
		"insert into latlab.guide ...": "ERROR:  the fake PostgreSQL doesn't know this statement",
	} {
		if out := run(sql); !strings.Contains(out, want) {
			t.Errorf("%s:\n%s\nwant %s", sql, out, want)
		}
	}
}
