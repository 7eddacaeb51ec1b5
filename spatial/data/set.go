package data

import (
	"latlab.example/spatial"
	"latlab.example/spatial/geo"
)

// Set is the data in memory. Nobody changes it once made, so that any number of
// fakes may share one.
type Set struct {
	Config    Config
	Locations []spatial.Location // number i has id i+1, as all of these
	Guides    []spatial.Guide
	Media     []spatial.Media
	Index     *geo.Index // of the locations

	guideAt map[int64]int64 // by place
	mediaOf []int32         // where a guide's media begin, one more than there are guides
}

// New makes the data: the study's take half a second and 200 MB.
func New(c Config) (*Set, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &Set{
		Config:    c,
		Locations: make([]spatial.Location, 0, c.Locations),
		Guides:    make([]spatial.Guide, 0, c.Guides),
		guideAt:   make(map[int64]int64, c.Guides),
		mediaOf:   make([]int32, 0, c.Guides+1),
	}
	for l := range c.EachLocation(1) {
		s.Locations = append(s.Locations, l)
	}
	for g := range c.EachGuide(1) {
		s.Guides = append(s.Guides, g)
		s.guideAt[g.LocationID] = g.ID
	}
	for m := range c.EachMedia(1) {
		for int64(len(s.mediaOf)) < m.GuideID {
			s.mediaOf = append(s.mediaOf, int32(len(s.Media)))
		}
		s.Media = append(s.Media, m)
	}
	for len(s.mediaOf) <= c.Guides {
		s.mediaOf = append(s.mediaOf, int32(len(s.Media)))
	}
	s.Index = geo.NewIndex(len(s.Locations), func(i int) (float64, float64) { return s.Locations[i].Lon, s.Locations[i].Lat })
	return s, nil
}

// GuideAt is the guide at a place.
func (s *Set) GuideAt(location int64) (spatial.Guide, bool) {
	id, ok := s.guideAt[location]
	if !ok {
		return spatial.Guide{}, false
	}
	return s.Guides[id-1], true
}

// MediaOf are a guide's media, in the order of id. The caller doesn't change
// them.
func (s *Set) MediaOf(guide int64) []spatial.Media {
	if guide < 1 || guide > int64(len(s.Guides)) {
		return nil
	}
	return s.Media[s.mediaOf[guide-1]:s.mediaOf[guide]]
}
