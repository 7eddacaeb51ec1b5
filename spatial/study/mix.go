//go:build !js

package study

import (
	"context"
	"fmt"
	"math/rand/v2"

	"latlab.example/common/lab"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
)

// The study's mix of centres, in percent; the rest are places that have a guide.
const (
	fixedPercent  = 50
	randomPercent = 30
	fixedPlace    = 1 // its id
)

// drawn is how many random places, and how many with a guide, a mix knows.
const drawn = 4096

var radii = map[string][]float64{"mix": {5000, 10_000, 20_000, 50_000}, "5km": {5000}, "50km": {50_000}}

// mix makes the study's queries.
type mix struct {
	fixed          spatial.Location
	random, guided []spatial.Location
	radii          []float64
	guides         bool
}

// newMix reads the centres from the database: the same ones for every trial. A
// fake's data tell how many there are, since counting takes a database long.
func newMix(ctx context.Context, s *spatial.Service, set *data.Set, a lab.Arm) (*mix, error) {
	m := &mix{radii: radii[label(a, "radius", "mix")], guides: label(a, "guides", "false") == "true"}
	size, err := sizeOf(ctx, s, set)
	if err != nil {
		return nil, err
	}
	if size.Locations == 0 || size.Guides == 0 {
		return nil, fmt.Errorf("study: the database holds %d locations and %d guides; load the data first", size.Locations, size.Guides)
	}
	r := rand.New(rand.NewPCG(1, 0))
	ids := func(of int64) []int64 {
		all := make([]int64, drawn)
		for i := range all {
			all[i] = 1 + r.Int64N(of)
		}
		return all
	}
	fixed, err := s.Locations(ctx, []int64{fixedPlace})
	if err != nil {
		return nil, err
	}
	if len(fixed) != 1 {
		return nil, fmt.Errorf("study: there is no location %d; load the data again", fixedPlace)
	}
	m.fixed = fixed[0]
	if m.random, err = s.Locations(ctx, ids(size.Locations)); err != nil {
		return nil, err
	}
	guides, err := s.GuidesByID(ctx, ids(size.Guides))
	if err != nil {
		return nil, err
	}
	at := make([]int64, len(guides))
	for i, g := range guides {
		at[i] = g.LocationID
	}
	if m.guided, err = s.Locations(ctx, at); err != nil {
		return nil, err
	}
	if len(m.random) == 0 || len(m.guided) == 0 {
		return nil, fmt.Errorf("study: none of %d locations drawn by id is there; load the data again", drawn)
	}
	return m, nil
}

func sizeOf(ctx context.Context, s *spatial.Service, set *data.Set) (spatial.Size, error) {
	if set == nil {
		return s.Size(ctx)
	}
	return spatial.Size{Locations: int64(len(set.Locations)), Guides: int64(len(set.Guides)), Media: int64(len(set.Media))}, nil
}

// query is the one that follows from a seed.
func (m *mix) query(seed uint64) spatial.Query {
	r := rand.New(rand.NewPCG(seed, 1))
	at := m.fixed
	switch p := r.IntN(100); {
	case p >= fixedPercent+randomPercent:
		at = m.guided[r.IntN(len(m.guided))]
	case p >= fixedPercent:
		at = m.random[r.IntN(len(m.random))]
	}
	return spatial.Query{Lon: at.Lon, Lat: at.Lat, Radius: m.radii[r.IntN(len(m.radii))], Guides: m.guides}
}
