package data_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/geo"
)

func collect[T any](seq func(func(T) bool)) (all []T) {
	for v := range seq {
		all = append(all, v)
	}
	return all
}

// The rows are the same on every machine and after every change that doesn't
// call itself another generator.
func TestTheSameRowsEverywhere(t *testing.T) {
	c := data.Small()
	sum := crc32.NewIEEE()
	for l := range c.EachLocation(1) {
		fmt.Fprintf(sum, "%d|%s|%.7f|%.7f\n", l.ID, l.Name, l.Lon, l.Lat)
	}
	for g := range c.EachGuide(1) {
		fmt.Fprintf(sum, "%+v\n", g)
	}
	for m := range c.EachMedia(1) {
		fmt.Fprintf(sum, "%+v\n", m)
	}
	if got, want := sum.Sum32(), uint32(0xf5b529d4); got != want {
		t.Errorf("%#x, want %#x: if the rows change, so must the generator's number", got, want)
	}
}

// A stream from the middle on is the end of the whole stream.
func TestStreamsBeginAnywhere(t *testing.T) {
	c := data.Small()
	if all, end := collect(c.EachLocation(1)), collect(c.EachLocation(4000)); !slices.Equal(all[3999:], end) || len(all) != c.Locations {
		t.Errorf("%d locations, %d from 4000 on", len(all), len(end))
	}
	if all, end := collect(c.EachGuide(1)), collect(c.EachGuide(77)); !slices.Equal(all[76:], end) || len(all) != c.Guides {
		t.Errorf("%d guides, %d from 77 on", len(all), len(end))
	}
	all, end := collect(c.EachMedia(1)), collect(c.EachMedia(250))
	if len(end) == 0 || !slices.Equal(all[len(all)-len(end):], end) || all[len(all)-len(end)-1].GuideID >= 250 || int64(len(all)) != c.AllMedia() {
		t.Errorf("%d media, %d from guide 250 on", len(all), len(end))
	}
	for m := range c.EachMedia(1) {
		if m.ID == 3 {
			break // an early end is no panic
		}
	}
}

// The study's counts, and what the case relies on.
func TestTheStudysData(t *testing.T) {
	s, err := data.New(data.Study())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Locations) != 425_094 || len(s.Guides) != 50_000 || math.Abs(float64(len(s.Media))/50_000-3) > 0.02 {
		t.Errorf("%d locations, %d guides, %d media", len(s.Locations), len(s.Guides), len(s.Media))
	}
	twins := 0
	for i, l := range s.Locations {
		if l.ID != int64(i+1) || math.Abs(l.Lat) > 90 || math.Abs(l.Lon) > 180 || l.Lon == -180 || l.Name == "" {
			t.Fatalf("location %d: %+v", i, l)
		}
		if i > 0 && l.Lon == s.Locations[i-1].Lon && l.Lat == s.Locations[i-1].Lat {
			twins++
		}
	}
	if twins < len(s.Locations)/100 {
		t.Errorf("%d places are where another is, want one of a hundred", twins)
	}
	at := map[int64]bool{}
	for i, g := range s.Guides {
		if g.ID != int64(i+1) || g.LocationID < 1 || g.LocationID > int64(len(s.Locations)) || at[g.LocationID] {
			t.Fatalf("guide %d: %+v", i, g)
		}
		at[g.LocationID] = true
		if found, ok := s.GuideAt(g.LocationID); !ok || found != g {
			t.Fatalf("guide at %d: %+v, %v", g.LocationID, found, ok)
		}
	}
	sum := 0
	for i := range s.Guides {
		for _, m := range s.MediaOf(int64(i + 1)) {
			if m.GuideID != int64(i+1) || m != s.Media[m.ID-1] {
				t.Fatalf("media of guide %d: %+v", i+1, m)
			}
			sum++
		}
	}
	if sum != len(s.Media) || s.MediaOf(0) != nil || s.MediaOf(50_001) != nil {
		t.Errorf("guides have %d media of %d", sum, len(s.Media))
	}
	fixed := s.Index.Point(data.Fixed - 1)
	near, far := s.Index.Count(fixed, 5000), s.Index.Count(fixed, 50_000)
	if near < 1000 || far < 2*near || far > len(s.Locations)/2 {
		t.Errorf("%d places within 5 km of the fixed one, %d within 50 km", near, far)
	}
	// Ties: places in pairs at one distance from the fixed one.
	east, west := geo.Spheroid(fixed, s.Index.Point(1)), geo.Spheroid(fixed, s.Index.Point(2))
	if math.Abs(east-west) > 1e-6 {
		t.Errorf("%v and %v m, want a tie", east, west)
	}
	if _, ok := s.GuideAt(-1); ok {
		t.Error("a guide at no place")
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for _, c := range []data.Config{{}, {Locations: 1000}, {Locations: 1000, Guides: 1001}, {Locations: 5, Guides: 1}, {Locations: 1 << 40, Guides: 1}} {
		if _, err := data.New(c); !errors.Is(err, data.ErrConfig) {
			t.Errorf("%v: %v, want ErrConfig", c, err)
		}
	}
	for _, n := range []int{30, 31, 97, 7_368_787} { // the guides' step divides the last one
		c := data.Config{Locations: n, Guides: 20}
		seen := map[int64]bool{}
		for g := range c.EachGuide(1) {
			if seen[g.LocationID] || g.LocationID < 1 || g.LocationID > int64(n) {
				t.Errorf("%d locations: guide %+v", n, g)
			}
			seen[g.LocationID] = true
		}
	}
}

func ExampleConfig_EachLocation() {
	for l := range data.Small().EachLocation(4000) {
		fmt.Println(l)
		if l.ID == 4002 {
			break
		}
	}
	// Output:
	// {4000 Jeju place 4000 126.5554254 33.431972}
	// {4001 Daegu place 4001 128.5976489 35.8597875}
	// {4002 Seoul place 4002 127.0715417 37.4665548}
}

func BenchmarkLocation(b *testing.B) {
	c, id := data.Study(), int64(0)
	var l spatial.Location
	for b.Loop() {
		id = id%int64(c.Locations) + 1
		l = c.Location(id)
	}
	_ = l
}
