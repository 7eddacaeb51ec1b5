package coldfetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/quick"
	"testing/synctest"
	"time"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/slug"
	"latlab.example/common/metrics"
)

const korean = "1. 연구개발계획서 양식_서울지방청"

// disk has documents as files, the first look at each of which is a pull.
type disk struct {
	dir   string
	takes time.Duration
	mu    sync.Mutex
	seen  map[string]bool // guarded by mu
	looks atomic.Int64
}

func newDisk(t *testing.T, names ...string) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir(), seen: map[string]bool{}}
	for i, n := range names {
		sl, err := slug.Of(n)
		if err != nil {
			t.Fatal(err)
		}
		key, err := slug.Key("docs", sl)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.file(key), coldfetch.Generate(n, 20000, uint64(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *disk) file(key string) string { return filepath.Join(d.dir, slug.File(key)) }

func (d *disk) Locate(_ context.Context, key string) (string, bool, error) {
	d.looks.Add(1)
	if _, err := os.Stat(d.file(key)); err != nil {
		return "", false, fmt.Errorf("%w: %s", coldfetch.ErrNoDocument, key)
	}
	d.mu.Lock()
	pulled := !d.seen[key]
	d.seen[key] = true
	d.mu.Unlock()
	time.Sleep(d.takes)
	return d.file(key), pulled, nil
}

func open(t *testing.T, m coldfetch.Mode, o coldfetch.Options) *coldfetch.Service {
	t.Helper()
	if o.Executor == nil {
		o.Executor = m.Executor()
		t.Cleanup(o.Executor.Close)
	}
	o.Root = "docs"
	if o.Nodes == 0 {
		o.Nodes = 30
	}
	s, err := coldfetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func get(s http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// All modes give the same answers, cold, from the cache and compressed, and the
// header says which path ran.
func TestAnswersInEveryMode(t *testing.T) {
	sl, err := slug.Of(korean)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for _, m := range coldfetch.ModeToggle.Levels() {
		for _, f := range coldfetch.FlightToggle.Levels() {
			t.Run(string(m)+"/"+string(f), func(t *testing.T) {
				s := open(t, m, coldfetch.Options{Locator: newDisk(t, korean, "b"), Names: []string{korean, "b"}, CacheEntries: 1, Gzip: true, Flight: f})
				for _, want := range []string{"pull,build", "local,cache", "local,cache"} {
					res := get(s, "/api/doc/"+sl)
					b := res.Body.Bytes()
					if res.Code != http.StatusOK || res.Header().Get(coldfetch.PathHeader) != want {
						t.Fatalf("%d by %s, want %s: %s", res.Code, res.Header().Get(coldfetch.PathHeader), want, b)
					}
					if first == nil {
						first = b
					}
					if !bytes.Equal(first, b) {
						t.Fatal("another answer")
					}
				}
				zipped := get(s, "/api/doc/"+sl, "Accept-Encoding", "br, gzip;q=0.5")
				z, err := gzip.NewReader(zipped.Body)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(z); err != nil || !bytes.Equal(b, first) {
					t.Errorf("compressed: %v, equal %v", err, bytes.Equal(b, first))
				}
				var list struct{ Documents []struct{ Name, Slug string } }
				if err := json.Unmarshal(get(s, "/api/list").Body.Bytes(), &list); err != nil || len(list.Documents) != 2 || list.Documents[0].Slug != sl {
					t.Errorf("listing: %v, %+v", err, list)
				}
				if res := get(s, "/api/health"); res.Code != http.StatusOK || s.Own(coldfetch.HealthRoute).Count() != 1 {
					t.Errorf("health: %d", res.Code)
				}
				for path, want := range map[string]int{"/api/doc/absent": 404, "/api/doc/a%20b": 404, "/api/doc/..%2Fx": 404, "/api/else": 404} {
					if res := get(s, path); res.Code != want {
						t.Errorf("%s: %d, want %d", path, res.Code, want)
					}
				}
			})
		}
	}
}

// The cache holds so many documents, the last used, and a document larger than
// it isn't kept.
func TestCache(t *testing.T) {
	names := []string{"a", "b", "c"}
	s := open(t, coldfetch.Goroutines, coldfetch.Options{Locator: newDisk(t, names...), CacheEntries: 2})
	path := func(name string) string {
		_, cached, _ := strings.Cut(get(s, "/api/doc/"+name).Header().Get(coldfetch.PathHeader), ",")
		return cached
	}
	for i, step := range []struct{ name, want string }{
		{"a", "build"}, {"b", "build"}, {"a", "cache"}, {"c", "build"}, {"a", "cache"}, {"b", "build"}, {"c", "build"},
	} {
		if got := path(step.name); got != step.want {
			t.Errorf("step %d, %s: %s, want %s", i, step.name, got, step.want)
		}
	}
	if n, size := s.Cached(); n != 2 || size == 0 {
		t.Errorf("%d entries of %d bytes", n, size)
	}
	s = open(t, coldfetch.Goroutines, coldfetch.Options{Locator: newDisk(t, names...), CacheEntries: 2, CacheBytes: 10})
	get(s, "/api/doc/a")
	if n, size := s.Cached(); n != 0 || size != 0 {
		t.Errorf("%d entries of %d bytes in a cache of 10", n, size)
	}
}

// Stages are sound, in their order, and a miss has a build where a hit has none.
func TestTimelines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, m := range coldfetch.ModeToggle.Levels() {
			var lines []metrics.Timeline
			rec := metrics.NewRecorder(coldfetch.Stages, metrics.WithSwitch(true), metrics.WithTimelines(func(tl metrics.Timeline) { lines = append(lines, tl) }))
			d := newDisk(t, "a")
			d.takes = 30 * time.Millisecond
			e := m.Executor()
			s := open(t, m, coldfetch.Options{Locator: d, CacheEntries: 1, Recorder: rec, Executor: e, Flight: coldfetch.ShareBuild, Charge: &coldfetch.Charge{
				Use:   func(_ context.Context, d time.Duration) error { time.Sleep(d); return nil },
				Build: 800 * time.Millisecond, JSON: 20 * time.Millisecond, Manifest: time.Millisecond,
			}})
			for range 2 {
				get(s, "/api/doc/a")
			}
			get(s, "/api/list")
			e.Close()
			if len(lines) != 3 {
				t.Fatalf("%d timelines", len(lines))
			}
			for i, want := range []map[string]time.Duration{
				{"locate": d.takes, "build": 800 * time.Millisecond, "json": 20 * time.Millisecond},
				{"locate": d.takes, "json": 20 * time.Millisecond},
				{"manifest": time.Millisecond},
			} {
				if err := lines[i].Check(); err != nil {
					t.Error(err)
				}
				for _, row := range lines[i].Critical().Rows() {
					if got := time.Duration(row.NsOp).Truncate(time.Microsecond); got != want[row.Stage] {
						t.Errorf("%s, request %d: %s took %v, want %v", m, i, row.Stage, got, want[row.Stage])
					}
				}
			}
		}
	})
}

// Callers who come together share one build, and one who gives up spoils it for
// nobody.
func TestSharedBuild(t *testing.T) {
	for _, m := range []coldfetch.Mode{coldfetch.OffloadGIL, coldfetch.Goroutines, coldfetch.Bounded} {
		synctest.Test(t, func(t *testing.T) {
			var built atomic.Int64
			e := m.Executor()
			s := open(t, m, coldfetch.Options{Locator: newDisk(t, "a"), CacheEntries: 1, Executor: e, Flight: coldfetch.ShareBuild, Charge: &coldfetch.Charge{
				Use: func(_ context.Context, d time.Duration) error {
					built.Add(int64(d))
					time.Sleep(d)
					return nil
				},
				Build: 100 * time.Millisecond,
			}})
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			codes := make([]int, 5)
			for i := range codes {
				c := t.Context()
				if i == 0 {
					c = ctx
				}
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					w := httptest.NewRecorder()
					s.ServeHTTP(w, httptest.NewRequestWithContext(c, http.MethodGet, "/api/doc/a", nil))
					codes[i] = w.Code
				})
			}
			time.Sleep(20 * time.Millisecond)
			cancel()
			wg.Wait()
			e.Close()
			if got := time.Duration(built.Load()).Truncate(time.Microsecond); got != 100*time.Millisecond {
				t.Errorf("%s: built for %v, want one build of 100ms", m, got)
			}
			if n := s.Builds(); n != 1 {
				t.Errorf("%s: %d builds", m, n)
			}
			if slices.Contains(codes[1:], 503) {
				t.Errorf("%s: codes %v", m, codes)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	e := coldfetch.Goroutines.Executor()
	d := newDisk(t)
	for _, o := range []coldfetch.Options{{}, {Locator: d}, {Locator: d, Executor: e, Nodes: -1}, {Locator: d, Executor: e, Names: []string{""}}} {
		if _, err := coldfetch.New(o); !errors.Is(err, coldfetch.ErrOptions) {
			t.Errorf("%+v: %v, want ErrOptions", o, err)
		}
	}
}

// Both profiles build the same, of any text and size.
func TestProfilesAgree(t *testing.T) {
	same := func(text string, size uint8, seed uint64) bool {
		for _, src := range []coldfetch.Source{{Text: text}, {Text: string(coldfetch.Generate("t", 4000, seed))}} {
			a, err1 := json.Marshal(coldfetch.Build(src, int(size), coldfetch.AsIs, func() {}))
			b, err2 := json.Marshal(coldfetch.Build(src, int(size), coldfetch.Lean, func() {}))
			if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 60}); err != nil {
		t.Error(err)
	}
}

// A generated document is read back, and what isn't whole is refused.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	for _, size := range []int{0, 100, 60_000, 1_000_000} {
		whole := coldfetch.Generate(korean, size, 7)
		if size >= 60_000 && (len(whole) < size-64 || len(whole) > size+64) {
			t.Errorf("asked for %d bytes, got %d", size, len(whole))
		}
		if !bytes.Equal(whole, coldfetch.Generate(korean, size, 7)) {
			t.Error("the same seed gives other bytes")
		}
		for _, cut := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			if cut >= len(whole) {
				continue
			}
			b := whole[:len(whole)-cut]
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := coldfetch.Open(path)
			if cut == 0 && (err != nil || src.Title != korean) {
				t.Errorf("%d bytes: %v, title %q", size, err, src.Title)
			}
			if cut > 0 && !errors.Is(err, coldfetch.ErrDocument) {
				t.Errorf("%d bytes, %d cut: %v, want ErrDocument", size, cut, err)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(coldfetch.Generate("t", 300, 1))
	path := filepath.Join(f.TempDir(), "d")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := coldfetch.Open(path)
		if err != nil {
			if !errors.Is(err, coldfetch.ErrDocument) {
				t.Fatalf("%v doesn't wrap ErrDocument", err)
			}
			return
		}
		if !bytes.Contains(b, []byte(src.Text)) {
			t.Error("the text isn't in the file")
		}
	})
}
