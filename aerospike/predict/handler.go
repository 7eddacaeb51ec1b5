package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"latlab.example/aerospike"
	"latlab.example/aerospike/records"
	"latlab.example/common/metrics"
)

// Ask is what a request to /predict asks for; its zero fields are left to the
// service: mode single, reader lazy, columns, nine sets of 200 keys, nine tenths
// of which are there.
type Ask struct {
	Mode          aerospike.Mode
	Reader        aerospike.ReaderName
	Form          aerospike.Form
	Sets, Keys    int
	Hits          float64
	Seed          uint64
	SkipInference bool
}

func (a *Ask) fill() {
	if a.Mode == "" {
		a.Mode = aerospike.Single
	}
	if a.Reader == "" {
		a.Reader = aerospike.UseLazy
	}
	if a.Form == "" {
		a.Form = aerospike.Typed
	}
	if a.Sets == 0 {
		a.Sets = records.Sets
	}
	if a.Keys == 0 {
		a.Keys = records.Keys
	}
	if a.Hits == 0 {
		a.Hits = 0.9
	}
}

// Path is the request's path and query.
func (a Ask) Path() string {
	a.fill()
	return "/predict?" + url.Values{
		"mode": {string(a.Mode)}, "reader": {string(a.Reader)}, "form": {string(a.Form)},
		"sets": {strconv.Itoa(a.Sets)}, "keys": {strconv.Itoa(a.Keys)}, "hits": {strconv.FormatFloat(a.Hits, 'g', -1, 64)},
		"seed": {strconv.FormatUint(a.Seed, 10)}, "skip_inference": {strconv.FormatBool(a.SkipInference)},
	}.Encode()
}

// parseAsk reads a query. A name that it doesn't know is an error, since a
// misspelt choice would be measured as the one it isn't.
func parseAsk(q url.Values) (a Ask, err error) {
	for name, values := range q {
		if len(values) != 1 {
			return a, fmt.Errorf("%s is there %d times; give it once", name, len(values))
		}
		v := values[0]
		switch name {
		case "mode":
			a.Mode, err = aerospike.ModeToggle.Parse(v)
		case "reader":
			a.Reader, err = aerospike.ReaderToggle.Parse(v)
		case "form":
			a.Form, err = aerospike.FormToggle.Parse(v)
		case "sets":
			a.Sets, err = between(v, records.Sets)
		case "keys":
			a.Keys, err = between(v, records.Keys)
		case "hits":
			if a.Hits, err = strconv.ParseFloat(v, 64); err == nil && !(a.Hits > 0 && a.Hits <= 1) {
				err = errors.New("give a part above 0, up to 1")
			}
		case "seed":
			a.Seed, err = strconv.ParseUint(v, 10, 64)
		case "skip_inference":
			a.SkipInference, err = strconv.ParseBool(v)
		default:
			err = errors.New("no such parameter; there are mode, reader, form, sets, keys, hits, seed, skip_inference")
		}
		if err != nil {
			return a, fmt.Errorf("%s=%q: %w", name, v, err)
		}
	}
	a.fill()
	return a, nil
}

func between(v string, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err == nil && (n < 1 || n > most) {
		err = fmt.Errorf("give 1 to %d", most)
	}
	return n, err
}

// Answer is what /predict gives. Partial says why some records couldn't be read.
type Answer struct {
	Candidates int       `json:"candidates"`
	Found      int       `json:"found"` // records
	Scores     []float32 `json:"scores,omitempty"`
	Partial    string    `json:"partial,omitempty"`
}

func (s *Service) predict(w http.ResponseWriter, r *http.Request) {
	req, done := s.begin(r)
	defer done()
	at := aerospike.NewSpan(req)
	m := at.Start()
	ask, err := parseAsk(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q := s.query(ask)
	at.End(aerospike.KeyParse, m)
	res, err := s.pipelines[choice{ask.Mode, ask.Reader, ask.Form}].ReadAt(r.Context(), at, q)
	var a Answer
	if err != nil {
		if !errors.Is(err, aerospike.ErrPartial) {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		a.Partial = err.Error()
	}
	if err := s.judge(r, at, ask, res, &a); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	m = at.Start()
	defer func() { at.End(Encode, m) }()
	body, err := json.Marshal(a)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the caller is gone, which its side knows
}

// query is what the request stands for: a body that names its keys. The last ones
// are kept, so that naming them isn't a part of every request.
func (s *Service) query(a Ask) aerospike.Query {
	is := Ask{Sets: a.Sets, Keys: a.Keys, Hits: a.Hits, Seed: a.Seed}
	s.mu.Lock()
	q, ok := s.queries[is]
	s.mu.Unlock()
	if ok {
		return q
	}
	q = records.Ask(s.opt.Prefix, a.Sets, a.Keys, a.Hits, a.Seed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queries) == keptQueries {
		clear(s.queries)
	}
	s.queries[is] = q
	return q
}

const keptQueries = 64

// judge counts the records, or scores the candidates.
func (s *Service) judge(r *http.Request, at aerospike.Span, ask Ask, res aerospike.Result, a *Answer) error {
	m := at.Start()
	if ask.SkipInference {
		for i := range res.Sets {
			set := &res.Sets[i]
			a.Candidates = max(a.Candidates, set.Len())
			for j := range set.Len() {
				if set.State(j) == aerospike.Found {
					a.Found++
				}
			}
		}
		at.End(Features, m)
		return nil
	}
	c, err := makeFeatures(res)
	at.End(Features, m)
	if err != nil {
		return err
	}
	a.Candidates, a.Found = c.n, c.found
	a.Scores, err = s.scorer.score(r.Context(), at, c)
	return err
}

// health answers 200 while the cluster has nodes, else 503.
func (s *Service) health(w http.ResponseWriter, _ *http.Request) {
	nodes := len(s.opt.Client.GetNodes())
	code := http.StatusOK
	if nodes == 0 || !s.opt.Client.IsConnected() {
		code = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, "{\"nodes\":%d}\n", nodes) // the caller is gone, which its side knows
}

// begin is the request's timeline: the caller's, or its own.
func (s *Service) begin(r *http.Request) (*metrics.Request, func()) {
	if c := s.called(r.Header.Get(callHeader)); c != nil {
		return c.arrive()
	}
	req := s.opt.Recorder.Request()
	return req, func() { req.Finish() }
}
