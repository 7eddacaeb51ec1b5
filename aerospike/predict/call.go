package predict

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"latlab.example/common/metrics"
)

// callHeader names a request from within the process, so that the handler finds
// its caller's timeline.
const callHeader = "X-Latlab-Call"

// call is a request from within the process. Its caller and its handler take
// turns with it.
type call struct {
	req  *metrics.Request
	sent metrics.Mark

	mu       sync.Mutex
	answered metrics.Mark // guarded by mu
}

// arrive is for the handler: the way to it ends, and with done the way back
// begins.
func (c *call) arrive() (req *metrics.Request, done func()) {
	c.req.End(0, Transport, c.sent)
	return c.req, func() {
		c.mu.Lock()
		c.answered = c.req.Start()
		c.mu.Unlock()
	}
}

// back is for the caller: the way back ends.
func (c *call) back() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.req.End(0, Transport, c.answered)
}

// announce gives the call a name until it is forgotten.
func (s *Service) announce(c *call) (name string, forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	name = strconv.Itoa(s.next)
	s.calls[name] = c
	return name, func() {
		s.mu.Lock()
		delete(s.calls, name)
		s.mu.Unlock()
	}
}

// called is the call of that name, or nil.
func (s *Service) called(name string) *call {
	if name == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[name]
}

// Get makes a request to the service at base (http://host:port) from within its
// process. One timeline has both sides.
func (s *Service) Get(ctx context.Context, client *http.Client, base string, ask Ask) (a Answer, err error) {
	req := s.opt.Recorder.Request()
	defer req.Finish()
	c := &call{req: req, sent: req.Start()}
	name, forget := s.announce(c)
	defer forget()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+ask.Path(), http.NoBody)
	if err != nil {
		return a, err
	}
	r.Header.Set(callHeader, name)
	resp, err := client.Do(r)
	if err != nil {
		return a, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // all was read
	if err != nil {
		return a, err
	}
	c.back()
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("predict: %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	m := req.Start()
	defer func() { req.End(0, Encode, m) }()
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("predict: answer: %w", err)
	}
	return a, nil
}
