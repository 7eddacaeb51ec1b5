package main

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

func TestWritesPerSecond(t *testing.T) {
	recorded, err := os.ReadFile("testdata/fio-3.33.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		out  string
		want float64
		err  string
	}{
		"recorded":             {out: string(recorded), want: 43986.013986},
		"after warnings":       {out: "fio: a warning\n" + string(recorded), want: 43986.013986},
		"failed":               {out: strings.Replace(string(recorded), `"error" : 0`, `"error" : 28`, 1), err: "error 28"},
		"nothing":              {err: errOutput.Error()},
		"text":                 {out: "fio: unknown option", err: errOutput.Error()},
		"cut":                  {out: string(recorded[:len(recorded)/2]), err: errOutput.Error()},
		"no job":               {out: `{"jobs": []}`, err: errOutput.Error()},
		"two jobs":             {out: `{"jobs": [{"write": {"iops": 1, "total_ios": 1}}, {"write": {"iops": 1, "total_ios": 1}}]}`, err: errOutput.Error()},
		"a reader":             {out: `{"jobs": [{"read": {"iops": 1, "total_ios": 1}}]}`, err: errOutput.Error()},
		"rates that aren't so": {out: `{"jobs": [{"write": {"iops": "fast", "total_ios": 1}}]}`, err: errOutput.Error()},
	} {
		got, err := writesPerSecond([]byte(c.out))
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %v; want %v, %q", name, got, err, c.want, c.err)
		}
	}
}

// Programs that always write at the same rates give their ratio; they take turns.
func TestCompare(t *testing.T) {
	var order strings.Builder
	tab, err := compare(t.Context(), 6, []point{{4096, 1}, {65536, 32}},
		func(p point) (float64, error) { order.WriteByte('o'); return 100 * float64(p.depth), nil },
		func(p point) (float64, error) { order.WriteByte('f'); return 200 / float64(p.depth), nil },
		func(int) { order.WriteByte(' ') })
	if err != nil {
		t.Fatal(err)
	}
	if want := " offo foof offo foof offo foof"; order.String() != want {
		t.Errorf("order %q, want %q", order.String(), want)
	}
	if r := tab.rows[0]; r.ours != 100 || r.fio != 200 || r.ratio != 0.5 || r.lo != 0.5 || r.hi != 0.5 {
		t.Errorf("first row %+v", r)
	}
	if want := math.Sqrt(0.5 * 512); math.Abs(tab.mean-want) > 1e-9 {
		t.Errorf("mean %v, want %v", tab.mean, want)
	}
	// As the table is printed:
	want := ` block  depth    ours, 1/s     fio, 1/s    ratio   interval
    4K      1          100          200    0.500   0.500 to 0.500
   64K     32         3200            6  512.000   512.000 to 512.000

geometric mean of the ratios 16.000; the bar is 0.95, and no interval wholly below 0.90
`
	if tab.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", tab, want)
	}
}

// With five rounds the interval is their range.
func TestInterval(t *testing.T) {
	rates := []float64{90, 95, 100, 105, 130}
	next := 0
	tab, err := compare(t.Context(), 5, []point{{4096, 1}},
		func(point) (float64, error) { next++; return rates[next-1], nil },
		func(point) (float64, error) { return 100, nil }, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if r := tab.rows[0]; r.ratio != 1 || r.lo != 0.9 || r.hi != 1.3 {
		t.Errorf("%+v, want 1 in 0.9 to 1.3", r)
	}
}

func TestCompareFails(t *testing.T) {
	fine := func(point) (float64, error) { return 1, nil }
	broken := errors.New("broken")
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx       context.Context
		ours, fio func(point) (float64, error)
		want      string
	}{
		"ours":      {t.Context(), func(point) (float64, error) { return 0, broken }, fine, "broken"},
		"fio":       {t.Context(), fine, func(point) (float64, error) { return 0, broken }, "broken"},
		"no rate":   {t.Context(), fine, func(point) (float64, error) { return 0, nil }, "4 KiB, depth 1: 0 writes a second with fio"},
		"not a one": {t.Context(), func(point) (float64, error) { return math.NaN(), nil }, fine, "with ours"},
		"cancelled": {ended, fine, fine, context.Canceled.Error()},
	} {
		if _, err := compare(c.ctx, 5, []point{{4096, 1}}, c.ours, c.fio, func(int) {}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	r := func(ratio, hi float64) row { return row{point: point{4096, 1}, ratio: ratio, hi: hi} }
	for name, c := range map[string]struct {
		t    table
		miss bool
	}{
		"both met":         {table{mean: 0.95, rows: []row{r(0.85, 0.9)}}, false},
		"mean too low":     {table{mean: 0.949, rows: []row{r(1, 1)}}, true},
		"one point is low": {table{mean: 1.2, rows: []row{r(1, 1), r(0.8, 0.899)}}, true},
	} {
		if err := c.t.verdict(); errors.Is(err, errBar) != c.miss || !c.miss && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
