package predict

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/dlrm"
	"latlab.example/aerospike/records"
	"latlab.example/common/metrics"
	"latlab.example/common/metrics/prom"
)

// The stages after those of a pipeline.
const (
	Features      metrics.Stage = aerospike.Setup + 1 + iota // records to features
	InferenceWait                                            // waiting for a place in the pool
	InferenceRun                                             // the forward pass
	Encode                                                   // JSON, and writing it
	Transport                                                // between caller and handler, both ways
)

// Stages are a pipeline's and the service's own.
var Stages = metrics.NewStageSet("predict", append(aerospike.StageNames(),
	"features", "inference_wait", "inference", "encode", "transport")...)

// ErrOptions occurs when Options can't make a service.
var ErrOptions = errors.New("no such service")

// Options shape a Service.
type Options struct {
	Client    *as.Client
	Policy    *as.BatchPolicy // the client's default if nil
	Namespace string
	Prefix    string // of the sets
	// Workers is the size of the pool that the official readers run on, as in the
	// study's service; zero is none.
	Workers   int
	Limit     int // reads under way at once; zero is no limit
	Inference Inference
	Slots     int               // of Pool: requests that are scored at once; GOMAXPROCS if zero
	Recorder  *metrics.Recorder // of Stages; nil times nothing
}

// choice is what a request may choose.
type choice struct {
	mode   aerospike.Mode
	reader aerospike.ReaderName
	form   aerospike.Form
}

// Service answers requests over HTTP. Its methods may be used by any number of
// goroutines.
type Service struct {
	opt       Options
	pipelines map[choice]*aerospike.Pipeline
	pools     []*aerospike.Executor
	scorer    *scorer
	mux       *http.ServeMux

	mu      sync.Mutex
	calls   map[string]*call        // guarded by mu: requests from within the process, by name
	next    int                     // guarded by mu: of names
	queries map[Ask]aerospike.Query // guarded by mu: see query
}

// New makes a service. Close it.
func New(o Options) (*Service, error) {
	if o.Inference == "" {
		o.Inference = InferenceToggle.Baseline()
	}
	if _, err := InferenceToggle.Parse(string(o.Inference)); err != nil {
		return nil, fmt.Errorf("predict: %w: inference: %w", ErrOptions, err)
	}
	switch {
	case o.Client == nil:
		return nil, fmt.Errorf("predict: %w: it needs a client", ErrOptions)
	case o.Recorder != nil && o.Recorder.Set() != Stages:
		return nil, fmt.Errorf("predict: %w: a recorder of stages %q; make it of predict.Stages", ErrOptions, o.Recorder.Set().Name())
	case o.Workers < 0 || o.Slots < 0:
		return nil, fmt.Errorf("predict: %w: pools can't have %d workers or %d slots", ErrOptions, o.Workers, o.Slots)
	}
	if o.Recorder == nil {
		o.Recorder = metrics.NewRecorder(Stages, metrics.WithSwitch(false))
	}
	model, err := dlrm.New(dlrm.Study, 1)
	if err != nil {
		return nil, err
	}
	slots := 0
	if o.Inference == Pool {
		slots = o.Slots
		if slots == 0 {
			slots = runtime.GOMAXPROCS(0)
		}
	}
	s := &Service{opt: o, pipelines: map[choice]*aerospike.Pipeline{}, scorer: newScorer(model, slots), mux: http.NewServeMux(), calls: map[string]*call{}, queries: map[Ask]aerospike.Query{}}
	for _, name := range aerospike.ReaderToggle.Levels() {
		if err := s.addReader(name); err != nil {
			s.Close()
			return nil, err
		}
	}
	s.mux.HandleFunc("GET /predict", s.predict)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.Handle("GET /metrics", prom.Handler(o.Recorder))
	return s, nil
}

// addReader makes the pipelines of a reader.
func (s *Service) addReader(name aerospike.ReaderName) error {
	var reader aerospike.Reader
	switch name {
	case aerospike.UseLazy:
		reader = aerospike.Lazy{Client: s.opt.Client, Policy: s.opt.Policy}
	default:
		reader = aerospike.Official{Client: s.opt.Client, Policy: s.opt.Policy, Operate: name == aerospike.UseOperate}
		if s.opt.Workers > 0 {
			pool := aerospike.NewExecutor(reader, s.opt.Workers)
			s.pools = append(s.pools, pool)
			reader = pool
		}
	}
	for _, mode := range aerospike.ModeToggle.Levels() {
		for _, form := range aerospike.FormToggle.Levels() {
			p, err := aerospike.New(aerospike.Options{
				Namespace: s.opt.Namespace, Reader: reader, Mode: mode, Form: form, Columns: records.Specs,
				Limit: s.opt.Limit, Recorder: s.opt.Recorder,
			})
			if err != nil {
				return fmt.Errorf("predict: %w: %w", ErrOptions, err)
			}
			s.pipelines[choice{mode, name, form}] = p
		}
	}
	return nil
}

// ServeHTTP implements http.Handler: /predict, /health and /metrics.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close ends the pools, when their reads are done. The client stays open.
func (s *Service) Close() {
	for _, p := range s.pools {
		p.Close()
	}
}
