package pull_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"

	"latlab.example/coldfetch/pull"
)

// plain is a store that breaks its first body off, and then does as it is told.
type plain struct {
	body    []byte
	etag    string
	second  func(w http.ResponseWriter, r *http.Request)
	mu      sync.Mutex
	headers []http.Header
}

func (p *plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.headers = append(p.headers, r.Header)
	n := len(p.headers)
	p.mu.Unlock()
	w.Header().Set("Last-Modified", "Mon, 03 Jan 2000 00:00:00 GMT")
	w.Header().Set("ETag", p.etag)
	if n == 2 {
		p.second(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(p.body)))
	if n > 2 {
		_, _ = w.Write(p.body)
		return
	}
	_, _ = w.Write(p.body[:1000])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// A pull goes on only under If-Match, and only with what continues the file.
func TestGoingOn(t *testing.T) {
	body := content(5000, 1)
	strong := fmt.Sprintf(`"%x"`, md5.Sum(body))
	part := func(from int, etag string, b []byte) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+len(b)-1, len(body)))
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(b)
		}
	}
	for _, c := range []struct {
		name, etag    string
		second        func(http.ResponseWriter, *http.Request)
		asked, resume int
	}{
		{"goes on", strong, part(1000, strong, body[1000:]), 2, 1},
		{"ignores the range", strong, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }, 2, 1},
		{"gives another part", strong, part(999, strong, body[999:]), 3, 1},
		{"gives a part of another object", strong, part(1000, `"0123456789abcdef0123456789abcdef"`, content(4000, 2)), 3, 1},
		{"doesn't know the range", strong, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) }, 3, 1},
		{"has weak ETags", "W/" + strong, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &plain{body: body, etag: c.etag, second: c.second}
			server := httptest.NewServer(store)
			defer server.Close()
			cl, tr, err := client(server.Listener.Addr().String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.CloseIdleConnections()
			p, err := pull.New(pull.Options{Client: cl, Bucket: bucket, Dir: t.TempDir(), LengthOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			path, s, err := p.Pull(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if len(store.headers) != c.asked || s.Requests != c.asked || s.Resumes != c.resume {
				t.Errorf("%d requests (%+v), want %d", len(store.headers), s, c.asked)
			}
			for i, h := range store.headers {
				if h.Get("Range") != "" && h.Get("If-Match") != strong {
					t.Errorf("request %d: range %q under If-Match %q", i, h.Get("Range"), h.Get("If-Match"))
				}
				if resumed := i == 1 && c.resume > 0; resumed != (h.Get("Range") != "") {
					t.Errorf("request %d: range %q", i, h.Get("Range"))
				}
			}
		})
	}
}
