package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"latlab.example/experiments/explore"
)

// Limits of a server, so that no page can keep its host busy.
const (
	runTime = 10 * time.Second // of one request
	runs    = 2                // at once; a page ends its own before it asks for another
)

// Handler serves the page and runs what it asks for. It reads and writes no file.
// host is the name or address that the listener was asked for: requests whose Host
// header is another are refused, so that a stranger's name can't be made to point
// here, as are requests that another site's page sends.
func Handler(p *Page, c *explore.Catalog, host string) (http.Handler, error) {
	var body bytes.Buffer
	if err := p.Write(&body); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", p.policy+"; frame-ancestors 'none'")
		_, _ = w.Write(body.Bytes()) // who hung up needs no page
	})
	mux.Handle("POST /run", runner{c, make(chan struct{}, runs)})
	return guarded(http.NewCrossOriginProtection().Handler(mux), host), nil
}

// guarded refuses foreign hosts, and says to browsers what they must not do.
func guarded(next http.Handler, host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host, host) {
			http.Error(w, "latlab serve: this is not "+strings.Map(printable, r.Host)+"; open the address that it printed", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

// local says whether a Host header may name a server that listens at host. A name
// must be localhost or the one that was asked for. An address can't be made to
// point elsewhere: a server on loopback takes those of loopback, one that listens
// elsewhere takes any.
func local(header, host string) bool {
	name := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	own, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && own.IsLoopback()
	if a, err := netip.ParseAddr(name); err == nil {
		return a.IsLoopback() || !loopback
	}
	return name == "localhost" || name != "" && strings.EqualFold(name, host)
}

// runner answers requests: a line of JSON an answer, and one with an error if there
// can't be one.
type runner struct {
	catalog *explore.Catalog
	slots   chan struct{}
}

func (s runner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy with other runs; ask again", http.StatusServiceUnavailable)
		return
	}
	q, err := explore.Read(http.MaxBytesReader(w, r.Body, explore.MaxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), runTime)
	defer cancel()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	said := false
	err = s.catalog.Run(ctx, q, func(a explore.Answer) bool {
		said = true
		return errors.Join(out.Encode(a), flush.Flush()) == nil
	})
	switch {
	case err == nil || r.Context().Err() != nil: // who asked has gone
	case said:
		_ = out.Encode(map[string]string{"error": err.Error()}) // the status is sent
	case explore.Asked(err):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, context.DeadlineExceeded):
		http.Error(w, "this setting takes the model longer than "+runTime.String()+"; choose smaller values", http.StatusServiceUnavailable)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Serve serves h on the listener until ctx ends. Its limits are for a page on one's
// own host. The error is the server's.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: runTime + 10*time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		err := s.Close()
		<-done
		return err
	}
}
