package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/common/sim/param"
	"latlab.example/experiments/explore"
	"latlab.example/experiments/internal/toy"
)

func toyPage(t *testing.T, m *Models, chapter string) (*Page, *explore.Catalog) {
	t.Helper()
	c := explore.Models([]lab.Experiment{toy.Saving})
	p, err := New(Input{Catalog: c, Chapters: map[string]string{"toy": chapter}, Models: m})
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func written(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestChapter(t *testing.T) {
	const markdown = "# Toy\n\nSee [code](toy.go), [the other](../other/README.md#part), [the web](https://example.org/x), [odd](javascript:alert(1)).\n\n" +
		"![picture](p.png) <script>alert(1)</script>\n\n## Part\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nlatlab <run>\n```\n"
	html, err := chapter("toy", []string{"toy", "other"}, markdown)
	if err != nil {
		t.Fatal(err)
	}
	got := string(html)
	for _, want := range []string{
		"<h2>Toy</h2>", "<h3>Part</h3>", "See code, ", `<a href="#/other">the other</a>`, `<a href="https://example.org/x">the web</a>`, "odd.",
		`role="group" aria-label="table"><table>`, "</table></div>", `<pre tabindex="0"><code class="language-sh">latlab &lt;run&gt;`, "picture",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"<script", "javascript:", "<img", "toy.go"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
}

// A page has everything inside it, and its policy allows no stranger.
func TestPage(t *testing.T) {
	served, _ := toyPage(t, nil, "# Toy\n\ntext")
	text := written(t, served)
	for _, want := range []string{"From what saving on is a batch worth it?", `href="#/toy/saving"`, "<h2>Toy</h2>", "connect-src &#39;self&#39;", `"kind":"assumed"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the served page has no %q", want)
		}
	}
	alone, _ := toyPage(t, &Models{Wasm: []byte("\x00asm and so on"), Support: []byte("go")}, "")
	text = written(t, alone)
	if !strings.Contains(text, `id="models"`) || strings.Contains(text, "connect-src") || !strings.Contains(text, "worker-src blob:") {
		t.Error("the page with the models inside lacks them, or may ask somebody")
	}
	if _, err := New(Input{Catalog: explore.Models([]lab.Experiment{toy.Saving}), Models: &Models{Wasm: []byte("\x7fELF")}}); !errors.Is(err, ErrModels) {
		t.Errorf("a program for another machine gave %v", err)
	}
}

func TestLocal(t *testing.T) {
	for _, tt := range []struct {
		header, host string
		want         bool
	}{
		{"127.0.0.1:8080", "127.0.0.1", true},
		{"localhost:8080", "127.0.0.1", true},
		{"[::1]:8080", "127.0.0.1", true},
		{"127.0.0.1", "localhost", true},
		{"evil.example:8080", "127.0.0.1", false},
		{"127.0.0.1.evil.example", "127.0.0.1", false},
		{"10.0.0.7:8080", "127.0.0.1", false},
		{"", "127.0.0.1", false},
		{"10.0.0.7:8080", "0.0.0.0", true},
		{"10.0.0.7:8080", "", true},
		{"evil.example", "", false},
		{"lab.example:8080", "lab.example", true},
		{"LAB.example", "lab.example", true},
		{"evil.example", "lab.example", false},
	} {
		if got := local(tt.header, tt.host); got != tt.want {
			t.Errorf("Host %q at a server that listens at %q: %v, want %v", tt.header, tt.host, got, tt.want)
		}
	}
}

func server(t *testing.T) *httptest.Server {
	t.Helper()
	p, c := toyPage(t, nil, "")
	h, err := Handler(p, c, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func fetch(t *testing.T, r *http.Request) (status int, body string, header http.Header) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// What a browser may be made to send, and what else isn't answered.
func TestHandlerRefuses(t *testing.T) {
	s := server(t)
	const good = `{"experiment":"toy/saving"}`
	for _, tt := range []struct {
		name, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		{"the page", "GET", "/", "", nil, 200},
		{"a run", "POST", "/run", good, nil, 200},
		{"a run by the page", "POST", "/run", good, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }, 200},
		{"a foreign host", "GET", "/", "", func(r *http.Request) { r.Host = "evil.example" }, 421},
		{"a foreign host's run", "POST", "/run", good, func(r *http.Request) { r.Host = "evil.example:80" }, 421},
		{"another site's run", "POST", "/run", good, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"another origin's run", "POST", "/run", good, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"a file", "GET", "/etc/passwd", "", nil, 404},
		{"a run by GET", "GET", "/run", "", nil, 405},
		{"no JSON", "POST", "/run", "strategy=batch", nil, 400},
		{"another experiment", "POST", "/run", `{"experiment":"toy/speed"}`, nil, 400},
		{"a value that can't be", "POST", "/run", `{"experiment":"toy/saving","params":{"saved":"much"}}`, nil, 400},
		{"too long a body", "POST", "/run", strings.Repeat(" ", explore.MaxRequest) + good, nil, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(r)
			}
			if status, body, _ := fetch(t, r); status != tt.want {
				t.Errorf("status %d, %q; want %d", status, body, tt.want)
			}
		})
	}
}

func TestHandlerAnswers(t *testing.T) {
	s := server(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/run", strings.NewReader(`{"experiment":"toy/saving","levels":{"strategy":"batch"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, body, header := fetch(t, r)
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if len(lines) != explore.Blocks {
		t.Fatalf("%d lines; want one a block", len(lines))
	}
	var last explore.Answer
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Verdict != "holds" {
		t.Errorf("got %+v, %v", last, err)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q; want %q", name, got, want)
		}
	}
}

// Runs beyond those that may be at once are told to come again.
func TestHandlerIsBusy(t *testing.T) {
	r := runner{explore.Models([]lab.Experiment{toy.Saving}), make(chan struct{}, 1)}
	r.slots <- struct{}{}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/run", strings.NewReader("{}")))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
}

// A setting that takes the model too long ends by itself.
func TestHandlerRunsEnd(t *testing.T) {
	slow := toy.Saving
	slow.Rigs = []lab.Rig{lab.Model("model", nil, toy.Parameters, never)}
	r := runner{explore.Models([]lab.Experiment{slow}), make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/run", strings.NewReader(`{"experiment":"toy/saving"}`)))
	if w.Body.Len() != 0 || len(r.slots) != 0 {
		t.Errorf("wrote %q, and %d slots are kept", w.Body, len(r.slots))
	}
}

func never(context.Context, lab.Arm, param.Table) (lab.Subject, error) {
	return toy.Subject(func(ctx context.Context, _ *lab.Trial) error {
		<-ctx.Done()
		return ctx.Err()
	}), nil
}
