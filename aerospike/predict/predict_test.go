package predict_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/aerospike/predict"
	"latlab.example/aerospike/records"
	"latlab.example/common/metrics"
)

// serve runs a service on a fake with the records.
func serve(t *testing.T, o predict.Options) (*predict.Service, *httptest.Server) {
	t.Helper()
	c := aerotest.Start(t, fake.Config{Nodes: 2})
	if err := records.Fill(c, "test"); err != nil {
		t.Fatal(err)
	}
	o.Client, o.Policy, o.Namespace = aerotest.Connect(t, c.Addrs()[0]), aerotest.Patient(), "test"
	s, err := predict.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server
}

// get is a response's code and body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Whatever reads the records, and in whatever form, the scores are the same; they
// differ between candidates and between seeds.
func TestEveryWayScoresTheSame(t *testing.T) {
	for _, o := range []predict.Options{{}, {Workers: 3, Inference: predict.Pool, Slots: 1, Limit: 2}} {
		_, server := serve(t, o)
		var first predict.Answer
		for _, mode := range aerospike.ModeToggle.Levels() {
			for _, reader := range aerospike.ReaderToggle.Levels() {
				for _, form := range aerospike.FormToggle.Levels() {
					ask := predict.Ask{Mode: mode, Reader: reader, Form: form, Sets: 3, Keys: 20, Seed: 5}
					code, body := get(t, server.URL+ask.Path())
					var a predict.Answer
					if err := json.Unmarshal([]byte(body), &a); code != http.StatusOK || err != nil {
						t.Fatalf("%s: %d %s", ask.Path(), code, body)
					}
					if first.Candidates == 0 {
						first = a
					}
					if !reflect.DeepEqual(a, first) {
						t.Errorf("%s: %v, want %v", ask.Path(), a, first)
					}
				}
			}
		}
		if first.Candidates != 20 || len(first.Scores) != 20 || first.Found < 45 || first.Found >= 60 {
			t.Errorf("%d candidates, %d scores, %d records of 60", first.Candidates, len(first.Scores), first.Found)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(first.Scores)))
		if len(distinct) < 15 {
			t.Errorf("20 candidates have %d distinct scores", len(distinct))
		}
		if _, other := get(t, server.URL+predict.Ask{Sets: 3, Keys: 20, Seed: 6}.Path()); strings.Contains(other, "partial") {
			t.Error(other)
		}
	}
}

// Without inference the answer only counts. The defaults are those of the study.
func TestSkipInference(t *testing.T) {
	_, server := serve(t, predict.Options{})
	code, body := get(t, server.URL+"/predict?skip_inference=true")
	var a predict.Answer
	if err := json.Unmarshal([]byte(body), &a); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if a.Candidates != 200 || a.Scores != nil || a.Found < 1500 || a.Found > 1750 {
		t.Errorf("%+v, want 200 candidates and about 1620 records", a)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	_, server := serve(t, predict.Options{})
	for query, want := range map[string]string{
		"mode=all": "gather", "reader=c": "official", "form=xml": "columns", "sets=10": "1 to 9", "keys=0": "1 to 200",
		"hits=2": "up to 1", "hits=NaN": "up to 1", "seed=-1": "seed", "skip-inference=true": "skip_inference", "mode=single&mode=gather": "once",
	} {
		if code, body := get(t, server.URL+"/predict?"+query); code != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want 400 that says %q", query, code, body, want)
		}
	}
	if code, _ := get(t, server.URL+"/other"); code != http.StatusNotFound {
		t.Errorf("/other: %d", code)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	client := aerotest.Connect(t, c.Addrs()[0])
	rec := metrics.NewRecorder(predict.Stages, metrics.WithSwitch(true))
	s, err := predict.New(predict.Options{Client: client, Namespace: "test", Recorder: rec})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	if code, body := get(t, server.URL+"/health"); code != http.StatusOK || body != "{\"nodes\":1}\n" {
		t.Errorf("health: %d %s", code, body)
	}
	if code, body := get(t, server.URL+"/predict"); code != http.StatusOK || !strings.Contains(body, `"found":0`) {
		t.Errorf("no records: %d %s", code, body)
	}
	code, body := get(t, server.URL+"/metrics")
	for _, stage := range []string{"features", "inference", "encode"} {
		if want := `latlab_stage_seconds_count{set="predict",stage="` + stage + `"} 1`; code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("metrics: %d, lacks %s", code, want)
		}
	}
	client.Close()
	if code, _ := get(t, server.URL+"/health"); code != http.StatusServiceUnavailable {
		t.Errorf("health without a cluster: %d, want 503", code)
	}
	if code, body := get(t, server.URL+"/predict"); code != http.StatusOK || !strings.Contains(body, "no node") {
		t.Errorf("without a cluster: %d %s, want a partial answer that says why", code, body)
	}
}

// One timeline has both sides of a request: it is sound, and each service stage
// is in it.
func TestTimeline(t *testing.T) {
	var mu sync.Mutex
	var lines []metrics.Timeline
	rec := metrics.NewRecorder(predict.Stages, metrics.WithSwitch(true), metrics.WithTimelines(func(tl metrics.Timeline) {
		mu.Lock()
		lines = append(lines, tl)
		mu.Unlock()
	}))
	s, server := serve(t, predict.Options{Recorder: rec, Workers: 2, Inference: predict.Pool})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ask := predict.Ask{Mode: aerospike.Gather, Reader: aerospike.UseOfficial, Form: aerospike.Maps, Keys: 10, Seed: uint64(i)}
			if a, err := s.Get(t.Context(), server.Client(), server.URL, ask); err != nil || len(a.Scores) != 10 {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	wg.Wait()
	if len(lines) != 8 {
		t.Fatalf("%d timelines of 8 requests", len(lines))
	}
	for _, tl := range lines {
		if err := tl.Check(); err != nil {
			t.Error(err)
		}
		seen := map[metrics.Stage]int{}
		for _, iv := range tl.Intervals {
			seen[iv.Stage]++
		}
		for stage, n := range map[metrics.Stage]int{predict.Features: 1, predict.InferenceWait: 1, predict.InferenceRun: 1, predict.Encode: 2, predict.Transport: 2, aerospike.IO: 9} {
			if seen[stage] < n {
				t.Errorf("stage %s is there %d times, want %d or more", predict.Stages.Stage(stage), seen[stage], n)
			}
		}
	}
	if _, err := s.Get(t.Context(), server.Client(), server.URL, predict.Ask{Mode: "all"}); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a bad request: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, server.Client(), server.URL, predict.Ask{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request: %v", err)
	}
}

func TestServicesThatCannotBe(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	client := aerotest.Connect(t, c.Addrs()[0])
	for _, o := range []predict.Options{
		{Namespace: "test"},
		{Client: client},
		{Client: client, Namespace: "test", Workers: -1},
		{Client: client, Namespace: "test", Inference: "gpu"},
		{Client: client, Namespace: "test", Recorder: metrics.NewRecorder(aerospike.Stages)},
	} {
		if s, err := predict.New(o); !errors.Is(err, predict.ErrOptions) {
			t.Errorf("%+v: %v, want ErrOptions", o, err)
			if s != nil {
				s.Close()
			}
		}
	}
}
