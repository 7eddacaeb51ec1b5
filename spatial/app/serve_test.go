package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"latlab.example/common/emu"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServe(t *testing.T) {
	set, err := data.New(data.Small())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := fake.New(fake.Config{Data: set, Waiter: emu.Spin})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	log := filepath.Join(t.TempDir(), "rows.log")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Serve(ctx, w, "-dsn", srv.DSN(), "-pool", "2", "-rowlog", "row", "-sink", "file:"+log)
		w.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewReader(r)
	addr, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(addr)+"/places?lon=126.98&lat=37.57&radius=50000&limit=3", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "meters") {
		t.Errorf("%d %s %v", res.StatusCode, body, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(log)
	if err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("log %q %v, want a line for each of 3 places and one for the search", text, err)
	}
}

func TestServeUsage(t *testing.T) {
	t.Setenv(DSNVariable, "")
	const dsn = "postgres://u@127.0.0.1:1/d"
	for _, args := range [][]string{
		{},
		{"x"},
		{"-nonsense"},
		{"-dsn", "host=a port=x"},
		{"-dsn", dsn, "-sink", "nowhere"},
		{"-dsn", dsn, "-rowlog", "loud"},
		{"-dsn", dsn, "-line", "-1s"},
		{"-dsn", dsn, "-search", "magic"},
	} {
		if err := Serve(t.Context(), io.Discard, args...); !errors.Is(err, ErrUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	var out bytes.Buffer
	if err := Serve(t.Context(), &out, "-h"); err != nil || !strings.Contains(out.String(), "-dsn") {
		t.Errorf("-h: %v %s", err, out.String())
	}
	if err := Serve(t.Context(), io.Discard, "-dsn", dsn); err == nil || errors.Is(err, ErrUsage) {
		t.Errorf("without a server: %v", err)
	}
}
