package app_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, url string) (code int, path, body string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get(coldfetch.PathHeader), string(b)
}

// The command's service answers at the address that it printed: a cold document,
// the same from the cache, the listing, health and metrics.
func TestServe(t *testing.T) {
	t.Setenv("LATLAB_S3", "")
	for _, mode := range coldfetch.ModeToggle.Levels() {
		r, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			err := app.Serve(ctx, w, "-mode", string(mode), "-nodes", "50", "-fsync", "none", "-proxy-buffer", "65536", "-single-flight", "pull+build")
			w.CloseWithError(err)
			ended <- err
		}()
		lines := bufio.NewScanner(r)
		var urls []string
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "Stop") {
			if strings.HasPrefix(lines.Text(), "http") {
				urls = append(urls, lines.Text())
			}
		}
		go func() { _, _ = io.Copy(io.Discard, r) }()
		if len(urls) != 7 {
			t.Fatalf("%s: printed %q, %v", mode, urls, <-ended)
		}
		for _, u := range urls[1:] {
			for _, want := range []string{"pull,build", "local,"} {
				code, path, body := get(t, u)
				if code != http.StatusOK || !strings.HasPrefix(path, want) {
					t.Errorf("%s: %d by %q, want %s: %.200s", u, code, path, want, body)
				}
			}
		}
		for path, want := range map[string]string{"/api/list": "양식", "/api/health": "ok", "/metrics": `stage="build"`} {
			if code, _, body := get(t, urls[0]+path); code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: %d, without %q: %.300s", path, code, want, body)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.Close()
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-what"}, {"x"}, {"-mode", "fast"}, {"-fsync", "maybe"}, {"-cache", "-1"}, {"-store", "moon"}} {
		t.Setenv("LATLAB_S3", "")
		if err := app.Serve(t.Context(), io.Discard, args...); !errors.Is(err, app.ErrUsage) {
			t.Errorf("%q: %v, want ErrUsage", args, err)
		}
	}
	var b strings.Builder
	if err := app.Serve(t.Context(), &b, "-h"); err != nil || !strings.Contains(b.String(), "-proxy-buffer") {
		t.Errorf("%v: %s", err, b.String())
	}
}
