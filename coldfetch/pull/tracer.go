package pull

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"latlab.example/common/metrics"
)

// Stats say what a pull did. What others waited for counts in theirs, too.
type Stats struct {
	Hit      bool          // the file was there
	Shared   bool          // another caller began the pull
	Bytes    int64         // the object's length
	Requests int           // that reached for a connection, the client's own retries included
	Retries  int           // bodies that were asked for again
	Resumes  int           // of these, under If-Match where the last one broke off
	Proof    string        // crc64nvme, crc32c, crc32, sha256, sha1, md5, or length
	Took     time.Duration // from the temporary file's making to its publication
	Spans    []Span        // in the order of their ends; they don't overlap
}

// Span is one run of a stage, since the pull's start.
type Span struct {
	Stage    metrics.Stage
	From, To time.Duration
}

// Stage is how long a stage ran in all.
func (s Stats) Stage(st metrics.Stage) time.Duration {
	var d time.Duration
	for _, sp := range s.Spans {
		if sp.Stage == st {
			d += sp.To - sp.From
		}
	}
	return d
}

func (s Stats) record(r *metrics.Recorder) {
	if r == nil {
		return
	}
	q := r.Request()
	for _, sp := range s.Spans {
		q.Add(0, sp.Stage, int64(sp.From), int64(sp.To))
	}
	q.FinishAt(0, int64(s.Took))
}

// tracer turns the events of net/http into spans. A request that is tried again
// is a retry from its start to the start of the next; only the last one keeps
// its parts.
type tracer struct {
	mu       sync.Mutex
	start    time.Time
	spans    []Span
	requests int
	kept     int       // spans before the request under way
	asked    time.Time // when it began
	dialling []Span    // its look-up, connection and handshake, until it has a connection
	begun    [3]time.Time
	sending  bool      // it has a connection
	got      time.Time // that connection
	first    time.Time // first byte of the answer
	broke    time.Time // when a request ended whose bytes are kept
}

func newTracer() *tracer { return &tracer{start: time.Now()} }

func (t *tracer) at(m time.Time) time.Duration { return m.Sub(t.start) }

// span ends a stage that began at from, and returns now.
func (t *tracer) span(s metrics.Stage, from time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.spans = append(t.spans, Span{s, t.at(from), t.at(now)})
	return now
}

func (t *tracer) trace() *httptrace.ClientTrace {
	begin := func(i int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.begun[i] = time.Now()
	}
	end := func(i int, s metrics.Stage) {
		t.mu.Lock()
		defer t.mu.Unlock()
		// A dial that lost to an idle connection goes on, and isn't this request's.
		if !t.sending && !t.begun[i].IsZero() {
			t.dialling = append(t.dialling, Span{s, t.at(t.begun[i]), t.at(time.Now())})
			t.begun[i] = time.Time{}
		}
	}
	return &httptrace.ClientTrace{
		GetConn:              func(string) { t.request() },
		DNSStart:             func(httptrace.DNSStartInfo) { begin(0) },
		DNSDone:              func(httptrace.DNSDoneInfo) { end(0, StageDNS) },
		ConnectStart:         func(_, _ string) { begin(1) },
		ConnectDone:          func(_, _ string, _ error) { end(1, StageConnect) },
		TLSHandshakeStart:    func() { begin(2) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { end(2, StageTLS) },
		GotConn:              t.connected,
		GotFirstResponseByte: t.answered,
	}
}

// request begins another request.
func (t *tracer) request() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.requests++; t.requests > 1 {
		from := t.asked
		if t.broke.IsZero() {
			t.spans = t.spans[:t.kept]
		} else {
			from = t.broke
		}
		if n := len(t.spans); n > 0 && t.spans[n-1].Stage == StageRetries && t.spans[n-1].To == t.at(from) {
			t.spans[n-1].To = t.at(now)
		} else {
			t.spans = append(t.spans, Span{StageRetries, t.at(from), t.at(now)})
		}
	}
	t.kept, t.asked = len(t.spans), now
	t.dialling, t.begun, t.sending = nil, [3]time.Time{}, false
	t.got, t.first, t.broke = time.Time{}, time.Time{}, time.Time{}
}

func (t *tracer) connected(info httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got, t.sending = time.Now(), true
	if info.Reused {
		return
	}
	end := time.Duration(0)
	for _, s := range t.dialling { // dials of two addresses may overlap: the first counts
		if s.From = max(s.From, end); s.From < s.To {
			t.spans, end = append(t.spans, s), s.To
		}
	}
}

func (t *tracer) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first = time.Now()
	t.spans = append(t.spans, Span{StageFirstByte, t.at(t.got), t.at(t.first)})
}

// bodyEnd ends the body of the request under way.
func (t *tracer) bodyEnd() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.first.IsZero() {
		t.spans = append(t.spans, Span{StageBody, t.at(t.first), t.at(time.Now())})
	}
}

// keep says that what the request under way brought isn't lost, though it broke.
func (t *tracer) keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broke = time.Now()
}

func (t *tracer) finish() (spans []Span, requests int, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spans, t.requests, time.Since(t.start)
}
