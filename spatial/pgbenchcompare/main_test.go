package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"latlab.example/common/lab/labtest"
	"latlab.example/spatial"
	"latlab.example/spatial/study"
)

func TestParse(t *testing.T) {
	const good = `transaction type: /tmp/q.sql
number of transactions actually processed: 4000
number of failed transactions: 0 (0.000%)
latency average = 1.9 ms
initial connection time = 9.0 ms
tps = 1333.259012 (without initial connection time)
`
	if v, err := parse(good); err != nil || v != 1333.259012 {
		t.Errorf("%v %v", v, err)
	}
	for _, bad := range []string{"", "tps = x", strings.ReplaceAll(good, ": 0 (", ": 3 (")} {
		if v, err := parse(bad); err == nil {
			t.Errorf("%q: %v", bad, v)
		}
	}
}

// Each parameter of the statement is a variable that is set.
func TestScript(t *testing.T) {
	text := script(spatial.Query{Lon: 126.98, Lat: 37.57, Radius: 5000, Limit: 100})
	if strings.Contains(text, "$") {
		t.Errorf("a parameter is left: %s", text)
	}
	for _, line := range []string{"\\set v1 126.98\n", "\\set v2 37.57\n", "\\set v3 5000\n", "\\set v4 100\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is missing in %s", line, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 5 {
		t.Errorf("%d lines, want 4 variables and a statement on one line", n)
	}
}

func TestMedian(t *testing.T) {
	if v := median([]float64{3, 1, 2}); v != 2 {
		t.Error(v)
	}
	if v := median([]float64{4, 1, 2, 3}); v != 2.5 {
		t.Error(v)
	}
}

func TestUsage(t *testing.T) {
	t.Setenv(study.DSNVariable, "")
	for _, args := range [][]string{nil, {"-rounds", "1"}, {"-time", "100ms"}, {"x"}, {"-nonsense"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.Is(err, errUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// Both programs ask a real server, and the rates are printed.
func TestReal(t *testing.T) {
	rig, err := study.Index.Rig("postgis")
	if err != nil {
		t.Fatal(err)
	}
	if err := rig.Probe(t.Context()); err != nil {
		labtest.Require(t, "postgis", err)
	}
	s := setting{dsn: os.Getenv(study.DSNVariable), clients: 2, span: 1e9}
	q, err := question(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() (float64, error){
		"ours":    func() (float64, error) { return ours(t.Context(), s, q) },
		"pgbench": func() (float64, error) { return pgbench(t.Context(), "pgbench", s, q) },
	} {
		if v, err := f(); err != nil || v <= 0 {
			t.Errorf("%s: %v a second, %v", name, v, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ours(ended, s, q); err == nil {
		t.Error("a run that was ended gave a rate")
	}
}
