package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aerospike/aerospike-client-go/v7/logger"

	"latlab.example/aerospike/app"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/aerospike/predict"
	"latlab.example/aerospike/records"
)

func TestMain(m *testing.M) {
	logger.Logger.SetLevel(logger.OFF)
	os.Exit(m.Run())
}

// run starts the service; stop ends it and gives its error.
func run(t *testing.T, args ...string) (base string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := app.Serve(ctx, w, args...)
		w.CloseWithError(errors.Join(err, io.EOF))
		done <- err
	}()
	if _, err := fmt.Fscanln(r, &base); err != nil {
		t.Fatal(err, <-done)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return base, func() error {
		cancel()
		return <-done
	}
}

func get(t *testing.T, url string) (code int, a predict.Answer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return resp.StatusCode, a
}

// Without an address the service reads from a fake of its own. Each target of
// the file for vegeta, a method and a URL a line, is answered with scores.
func TestTargets(t *testing.T) {
	base, stop := run(t, "-connections", "20", "-inference", "pool")
	text, err := os.ReadFile("targets.txt")
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		method, target, _ := strings.Cut(strings.TrimSpace(line), " ")
		u, err := url.Parse(target)
		if err != nil || method != http.MethodGet || u.Host != "127.0.0.1:8088" {
			t.Fatalf("target %q: %v", line, err)
		}
		code, a := get(t, base+u.RequestURI())
		if code != http.StatusOK || len(a.Scores) != records.Keys || a.Partial != "" {
			t.Errorf("%s: %d, %d scores %s", target, code, len(a.Scores), a.Partial)
		}
		targets++
	}
	if targets != 4 {
		t.Errorf("%d targets, want 4", targets)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The chapter's commands name flags that there are, and the file of targets.
func TestCommandOfTheChapter(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), ".bin/latlab app predict ")
	line, rest, _ := strings.Cut(rest, "\n")
	if !strings.HasPrefix(rest, "vegeta attack -targets aerospike/app/targets.txt -rate ") {
		t.Errorf("the chapter's attack: %.80s", rest)
	}
	args := strings.Fields(line)
	if len(args) != 2 || args[1] != "127.0.0.1:8088" {
		t.Fatalf("the chapter's flags are %q, the targets ask 127.0.0.1:8088", args)
	}
	args[1] = "127.0.0.1:0"
	base, stop := run(t, append(args, "-connections", "4")...)
	if code, _ := get(t, base+"/predict?keys=5"); code != http.StatusOK {
		t.Errorf("code %d", code)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// On a server that it is given it writes under its prefix, and leaves nothing.
func TestServer(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	client := aerotest.Connect(t, c.Addrs()[0])
	args := []string{"-aerospike", c.Addrs()[0], "-prefix", "p_", "-connections", "4", "-workers", "2"}
	if err := app.Serve(t.Context(), io.Discard, args...); err == nil || !strings.Contains(err.Error(), "p_") {
		t.Errorf("a server that may hold records under the prefix: %v", err)
	}
	base, stop := run(t, append(args, "-reuse")...)
	if code, a := get(t, base+"/predict?skip_inference=true"); code != http.StatusOK || a.Found < 1500 {
		t.Errorf("%d %+v", code, a)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	q := records.Ask("p_", 1, 20, 1, 1)
	for _, user := range q[0].Keys {
		if found, aerr := client.Exists(nil, aerotest.Key(t, q[0].Set, user)); aerr != nil || found {
			t.Errorf("%s is there: %v, %v", user, found, aerr)
		}
	}
}

func TestUsage(t *testing.T) {
	var help bytes.Buffer
	if err := app.Serve(t.Context(), &help, "-h"); err != nil || !strings.Contains(help.String(), "-inference") {
		t.Errorf("-h: %v, %s", err, help.String())
	}
	for _, args := range [][]string{
		{"-nonsense"}, {"word"}, {"-inference", "gpu"}, {"-workers", "-1"}, {"-connections", "0"}, {"-key", "-1s"}, {"-aerospike", "nowhere"}, {"-aerospike", "host:port"},
	} {
		if err := app.Serve(t.Context(), io.Discard, args...); !errors.Is(err, app.ErrUsage) {
			t.Errorf("%v: %v, want ErrUsage", args, err)
		}
	}
	if err := app.Serve(t.Context(), io.Discard, "-addr", "nowhere:1:2"); err == nil {
		t.Error("an address that can't be is no error")
	}
}
