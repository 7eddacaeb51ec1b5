package spatial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Handler serves
//
//	GET /places?lon=126.98&lat=37.57&radius=5000[&limit=100][&guides=true]
//	GET /gauges    the pool, now
//	GET /stages    the stages so far; PUT /stages?on=true switches them
//	GET /rowlog    the level of the row log; PUT /rowlog?level=row changes it
//
// What can't be asked gives 400, a request that got no connection in time 503,
// and anything else that fails 500.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /places", s.servePlaces)
	mux.HandleFunc("GET /gauges", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.Gauges()) })
	mux.HandleFunc("GET /stages", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.opt.Recorder.Snapshot()) })
	mux.HandleFunc("PUT /stages", func(w http.ResponseWriter, r *http.Request) {
		on, err := strconv.ParseBool(r.FormValue("on"))
		if err != nil {
			http.Error(w, "on: give true or false", http.StatusBadRequest)
			return
		}
		s.opt.Recorder.SetOn(on)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /rowlog", func(w http.ResponseWriter, _ *http.Request) {
		level := LogOff
		if s.opt.Log != nil {
			level = s.opt.Log.Level()
		}
		reply(w, level)
	})
	mux.HandleFunc("PUT /rowlog", func(w http.ResponseWriter, r *http.Request) {
		if s.opt.Log == nil {
			http.Error(w, "the service has no row log", http.StatusConflict)
			return
		}
		if err := s.opt.Log.SetLevel(LogLevel(r.FormValue("level"))); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (s *Service) servePlaces(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var body bytes.Buffer
	_, err = s.Answer(r.Context(), &body, q)
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body.Bytes()) // a client that has gone can't be told
	case errors.Is(err, ErrQuery):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, ErrNoConn) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func parseQuery(r *http.Request) (q Query, err error) {
	for _, f := range []struct {
		name string
		into *float64
	}{{"lon", &q.Lon}, {"lat", &q.Lat}, {"radius", &q.Radius}} {
		if *f.into, err = strconv.ParseFloat(r.FormValue(f.name), 64); err != nil {
			return q, fmt.Errorf("%s=%q: give a number, as in /places?lon=126.98&lat=37.57&radius=5000", f.name, r.FormValue(f.name))
		}
	}
	if v := r.FormValue("limit"); v != "" {
		if q.Limit, err = strconv.Atoi(v); err != nil || q.Limit < 1 {
			return q, fmt.Errorf("limit=%q: give a whole number of rows", v)
		}
	}
	q.Guides = strings.EqualFold(r.FormValue("guides"), "true")
	return q, nil
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone can't be told
}
