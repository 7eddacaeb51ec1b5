package cli

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"latlab.example/common/emu"
	"latlab.example/experiments/explore"
	"latlab.example/experiments/registry"
	"latlab.example/spatial/data"
	postgis "latlab.example/spatial/fake"
)

// start runs a command until the test ends, and gives the first line that it
// prints.
func start(t *testing.T, args ...string) (first string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	root := newRoot(env{experiments: registry.All(), out: w, err: io.Discard, goos: runtime.GOOS})
	root.SetArgs(args)
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		w.CloseWithError(io.EOF)
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%v: %v", args, err)
		}
	})
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		t.Fatalf("%v printed nothing", args)
	}
	first = lines.Text()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return first
}

// servers are all entry points that listen.
func servers(t *testing.T) map[string][]string {
	set, err := data.New(data.Small())
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgis.New(postgis.Config{Data: set, Waiter: emu.Spin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("LATLAB_S3", "")
	t.Setenv("LATLAB_AEROSPIKE", "")
	return map[string][]string{
		"fake aerospike": {"fake", "aerospike", "-nodes", "2"},
		"fake postgis":   {"fake", "postgis", "-locations", "1000", "-guides", "100"},
		"fake s3":        {"fake", "s3"},
		"app predict":    {"app", "predict"},
		"app spatial":    {"app", "spatial", "-dsn", db.DSN()},
		"app coldfetch":  {"app", "coldfetch"},
		"serve":          {"serve"},
	}
}

// Every command that listens does so on loopback alone, unless told otherwise; the
// kernel's own list of sockets is asked.
func TestServersListenOnLoopback(t *testing.T) {
	known := servers(t)
	root := newRoot(env{experiments: registry.All(), out: io.Discard, err: io.Discard})
	for _, c := range root.Commands() {
		if c.Name() == "fake" || c.Name() == "app" {
			for _, s := range c.Commands() {
				if name := c.Name() + " " + s.Name(); known[name] == nil {
					t.Errorf("%s isn't in this test", name)
				}
			}
		}
	}
	if beyond, ok := listeners(t); ok && len(beyond) > 0 {
		t.Fatalf("before any server: %v", beyond)
	}
	for name, args := range known {
		t.Run(name, func(t *testing.T) {
			first := start(t, args...)
			at, _, _ := strings.Cut(strings.TrimPrefix(first, "http://"), "/")
			if a, err := netip.ParseAddrPort(strings.Fields(at)[0]); err != nil || !a.Addr().IsLoopback() {
				t.Errorf("it listens at %q: %v", first, err)
			}
			beyond, ok := listeners(t)
			if !ok {
				t.Skip("this system doesn't list a process's sockets")
			}
			if len(beyond) > 0 {
				t.Errorf("sockets beyond loopback: %v", beyond)
			}
		})
	}
	// The list would show one.
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if beyond, ok := listeners(t); ok && len(beyond) != 1 {
		t.Errorf("a socket that listens everywhere: %v", beyond)
	}
}

// listeners are this process's sockets that listen beyond loopback. ok is false
// where the system doesn't say.
func listeners(t *testing.T) (beyond []string, ok bool) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, false
	}
	own := map[string]bool{}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			own[to] = true
		}
	}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // a kernel without IPv6
		}
		for line := range strings.Lines(string(text)) {
			const listening = "0A"
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != listening || !own["socket:["+f[9]+"]"] {
				continue
			}
			host, _, _ := strings.Cut(f[1], ":")
			raw, err := hex.DecodeString(host)
			if err != nil {
				t.Fatal(err)
			}
			for word := range slices.Chunk(raw, 4) {
				slices.Reverse(word) // words are in the host's order
			}
			if a, _ := netip.AddrFromSlice(raw); !a.Unmap().IsLoopback() {
				beyond = append(beyond, a.String())
			}
		}
	}
	return beyond, true
}

// The page is for this host's browser and its own script: requests by a foreign
// name, from another site, or beyond the limit are refused.
func TestServeRefusesStrangers(t *testing.T) {
	url := strings.TrimSuffix(start(t, "serve"), "/")
	at := strings.TrimPrefix(url, "http://")
	for _, test := range []struct {
		name, method, path, host, body string
		header                         map[string]string
		code                           int
	}{
		{"the page", "GET", "/", at, "", nil, 200},
		{"as localhost", "GET", "/", "localhost:1", "", nil, 200},
		{"a foreign name", "GET", "/", "evil.example", "", nil, http.StatusMisdirectedRequest},
		{"a foreign name with loopback in it", "GET", "/", "127.0.0.1.evil.example", "", nil, http.StatusMisdirectedRequest},
		{"a foreign address", "GET", "/", "192.0.2.1", "", nil, http.StatusMisdirectedRequest},
		{"a run by a foreign name", "POST", "/run", "evil.example", "{}", nil, http.StatusMisdirectedRequest},
		{"a run from another site", "POST", "/run", at, "{}", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"a run from another port", "POST", "/run", at, "{}", map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{"a run from another origin", "POST", "/run", at, "{}", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
		{"a run that is too long", "POST", "/run", at, strings.Repeat(" ", explore.MaxRequest+1), nil, http.StatusBadRequest},
		{"a run that is none", "POST", "/run", at, "{", nil, http.StatusBadRequest},
		{"a file", "GET", "/../../etc/passwd", at, "", nil, http.StatusNotFound},
		{"a run by GET", "GET", "/run", at, "", nil, http.StatusMethodNotAllowed},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, url, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path, req.Host = test.path, test.host
		for k, v := range test.header {
			req.Header.Set(k, v)
		}
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		body, err := io.ReadAll(res.Body)
		if cerr := res.Body.Close(); err != nil || cerr != nil {
			t.Fatal(err, cerr)
		}
		if res.StatusCode != test.code && !(test.path == "/../../etc/passwd" && res.StatusCode/100 == 3) {
			t.Errorf("%s: status %d, want %d: %.200s", test.name, res.StatusCode, test.code, body)
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: it lets other sites read the answer", test.name)
		}
	}
	// Who sends no header in time is let go.
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 1<<20)); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); os.IsTimeout(err) || strings.Contains(string(answer), " 200 ") {
		t.Errorf("a header without end: %.80q, %v", answer, err)
	}
}

// Every HTTP server of the workspace limits the time for a request's header.
func TestServersLimitTime(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != "../../..", d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return nil //nolint:nilerr // a file that doesn't parse fails its own build
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			sel, ok := lit.Type.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Server" {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "http" {
				return true
			}
			found++
			limited := slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
				kv, ok := e.(*ast.KeyValueExpr)
				return ok && kv.Key.(*ast.Ident).Name == "ReadHeaderTimeout"
			})
			if !limited {
				t.Errorf("%s: an http.Server without ReadHeaderTimeout", set.Position(lit.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 6 {
		t.Errorf("only %d servers were found", found)
	}
}

// nowhere demands that a text is in no file that the script's commands wrote, nor in
// a file's name: nowhere TEXT.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nowhere TEXT")
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), args[0]) || strings.Contains(path, args[0]) {
			ts.Fatalf("%s has it", path)
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("no file was written")
	}
}
