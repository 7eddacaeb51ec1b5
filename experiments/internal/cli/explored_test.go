package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/experiments/explore"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/registry"
)

// The server prints its address first, answers there, writes no file, and ends in
// order when it is asked to.
func TestServe(t *testing.T) {
	t.Chdir(t.TempDir())
	out, printed := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		var said bytes.Buffer
		root := newRoot(env{experiments: registry.New([]lab.Experiment{toy.Saving}), out: printed, err: &said})
		root.SetArgs([]string{"serve"})
		err := root.ExecuteContext(ctx)
		if err == nil && said.Len() > 0 {
			err = fmt.Errorf("stderr has %q", said.String())
		}
		ended <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, ok := strings.CutSuffix(line, "/\n")
	if !ok || !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatalf("it printed %q; want an address on loopback", line)
	}
	get := func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s, %v", method, path, res.Status, err)
		}
		return string(text)
	}
	if page := get(http.MethodGet, "/", ""); !strings.Contains(page, "From what saving on is a batch worth it?") {
		t.Error("the page doesn't have the experiment")
	}
	if answers := get(http.MethodPost, "/run", `{"experiment":"toy/saving","levels":{"strategy":"batch"}}`); !strings.Contains(answers, `"verdict":"holds"`) {
		t.Errorf("the answers are %s", answers)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// The command line that a page shows gives the page's figures, to the digit.
func TestExploredIsWhatTheCommandRuns(t *testing.T) {
	models := explore.Models(registry.All())
	for _, q := range []explore.Request{
		{Experiment: "rawblock/putmany"},
		{Experiment: "rawblock/putmany", Levels: map[string]string{"strategy": "pool", "keys": "10"}, Params: map[string]string{"key-cpu": "20us", "threads": "4"}},
		{Experiment: "aerospike/gil", Levels: map[string]string{"lock": "free", "mode": "single"}, Seed: 7},
		{Experiment: "coldfetch/herd", Levels: map[string]string{"single-flight": "pull"}},
		{Experiment: "spatial/users", Levels: map[string]string{"users": "150"}, Params: map[string]string{"cpu-share": "0.25"}},
	} {
		t.Run(q.Experiment+fmt.Sprint(q.Levels, q.Params), func(t *testing.T) {
			var page explore.Answer
			if err := models.Run(t.Context(), q, func(a explore.Answer) bool { page = a; return true }); err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(page.Command)
			if words[0] != "latlab" {
				t.Fatalf("the command is %q", page.Command)
			}
			var out bytes.Buffer
			root := newRoot(env{experiments: registry.All(), out: &out, err: io.Discard})
			root.SetArgs(append(words[1:], "--json", "--out", t.TempDir()))
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("%s: %v", page.Command, err)
			}
			var runs []struct {
				Arms []struct {
					Figures map[string]struct{ Mid *float64 }
					Effect  *struct{ Verdict string }
				}
			}
			if err := json.Unmarshal(out.Bytes(), &runs); err != nil {
				t.Fatal(err)
			}
			want := 1
			if page.Reference != nil {
				want = 2
			}
			if len(runs) != 1 || len(runs[0].Arms) != want {
				t.Fatalf("%s gave %d runs; want one with %d arms", page.Command, len(runs), want)
			}
			last := runs[0].Arms[want-1]
			if got, want := len(last.Figures), len(page.Now.Figures); got != want {
				t.Errorf("%d figures, %v; the page has %d", got, slices.Sorted(maps.Keys(last.Figures)), want)
			}
			for _, f := range page.Now.Figures {
				if got := last.Figures[f.Unit].Mid; got == nil || f.Mid == nil || *got != *f.Mid {
					t.Errorf("%s: the page has %v, the command another figure", f.Unit, f.Text)
				}
			}
			if last.Effect != nil && last.Effect.Verdict != page.Verdict {
				t.Errorf("the page says %q, the command %q", page.Verdict, last.Effect.Verdict)
			}
		})
	}
}
