package pull

import (
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
	lookedUp time.Time // look-up of the store's name: begin and end
	found    time.Time
	dialled  time.Time // first connection attempt; zero if the dialler doesn't tell
	shook    time.Time // begin of the handshake
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
	// mark takes the time of an event before the request has a connection. A dial that
	// lost to an idle connection goes on, and isn't this request's.
	mark := func(m *time.Time, first bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.sending && (!first || m.IsZero()) {
			*m = time.Now()
		}
	}
	return &httptrace.ClientTrace{
		GetConn:              func(string) { t.request() },
		DNSStart:             func(httptrace.DNSStartInfo) { mark(&t.lookedUp, true) },
		DNSDone:              func(httptrace.DNSDoneInfo) { mark(&t.found, false) },
		ConnectStart:         func(_, _ string) { mark(&t.dialled, true) }, // of several addresses the first
		TLSHandshakeStart:    func() { mark(&t.shook, true) },
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
	t.lookedUp, t.found, t.dialled, t.shook, t.sending = time.Time{}, time.Time{}, time.Time{}, time.Time{}, false
	t.got, t.first, t.broke = time.Time{}, time.Time{}, time.Time{}
}

func (t *tracer) connected(info httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got, t.sending = time.Now(), true
	if info.Reused {
		return
	}
	from, to := t.asked, t.got
	if !t.found.IsZero() {
		t.spans = append(t.spans, Span{StageDNS, t.at(t.lookedUp), t.at(t.found)})
		from = t.found
	}
	if !t.dialled.IsZero() {
		from = t.dialled
	}
	if !t.shook.IsZero() {
		to = t.shook
	}
	t.spans = append(t.spans, Span{StageConnect, t.at(from), t.at(to)})
	if to != t.got {
		t.spans = append(t.spans, Span{StageTLS, t.at(to), t.at(t.got)})
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
