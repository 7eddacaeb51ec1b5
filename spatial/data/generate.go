package data

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strconv"

	"latlab.example/spatial"
)

// Fixed is the id of the place that half of the study's requests ask for.
const Fixed = 1

// Config says which data. It is a plain value.
type Config struct {
	Seed      uint64
	Locations int
	Guides    int
}

// Study is the study's data: 425,094 places, 50,000 guides and three media a
// guide on average.
func Study() Config { return Config{Seed: 1, Locations: 425_094, Guides: 50_000} }

// Small is the same kind of data in a hundredth of the size, for tests.
func Small() Config { return Config{Seed: 1, Locations: 4_250, Guides: 500} }

// ErrConfig occurs when there can be no such data.
var ErrConfig = errors.New("no such data")

const version = 1 // of the generator: another one makes other rows

// Check returns an error that wraps ErrConfig if there can be no such data.
func (c Config) Check() error {
	const most = 100_000_000
	switch {
	case c.Locations < len(corners) || c.Locations > most:
		return fmt.Errorf("data: %w: %d locations; take %d to %d", ErrConfig, c.Locations, len(corners), most)
	case c.Guides < 1 || c.Guides > c.Locations:
		return fmt.Errorf("data: %w: %d guides; take at least one, and at most one a location (%d)", ErrConfig, c.Guides, c.Locations)
	}
	return nil
}

// String names the data.
func (c Config) String() string {
	return fmt.Sprintf("%d locations, %d guides, seed %d, generator %d", c.Locations, c.Guides, c.Seed, version)
}

// rng draws whole numbers for one row.
type rng uint64

// Streams of random numbers.
const (
	ofLocation = iota + 1
	ofGuide
	ofMedia
)

func (c Config) rng(stream, row uint64) rng {
	r := rng(c.Seed*0x9e3779b97f4a7c15 ^ stream<<56 ^ row)
	r.next()
	return r
}

// next is splitmix64.
func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (r *rng) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.next(), n)
	return hi
}

// bell is a number around 0 with standard deviation of about scale: the sum of
// six uniform ones, at most 4.2 times scale.
func (r *rng) bell(scale int64) int64 {
	var sum int64
	for range 6 {
		sum += int64(r.below(1<<16)) - 1<<15
	}
	return sum * scale / 46341 // the root of 6/12 times 1<<16
}

// every so many places one is where the place before it is.
const twins = 97

// Location makes the place with an id, 1 to Locations.
func (c Config) Location(id int64) spatial.Location {
	l := spatial.Location{ID: id}
	lon, lat, at := c.place(id)
	if at < 0 {
		l.Name = "Place " + strconv.FormatInt(id, 10)
	} else {
		l.Name = name(cities[at].name, id)
	}
	l.Lon, l.Lat = float64(lon)/unit, float64(lat)/unit
	return l
}

// place gives longitude and latitude in units, and the city or -1.
func (c Config) place(id int64) (lon, lat int64, at int) {
	if id <= int64(len(corners)) {
		p := corners[id-1]
		return units(p[0]), units(p[1]), -1
	}
	if id%twins == 0 {
		return c.place(id - 1)
	}
	r := c.rng(ofLocation, uint64(id))
	if r.below(100) < 3 { // out in the country, or at sea
		return int64(r.below(360*unit)) - 180*unit, int64(r.below(140*unit)) - 60*unit, -1
	}
	w, at := r.below(allWeights), 0
	for w >= centres[at].upTo {
		at++
	}
	city := &centres[at]
	// Denser in the middle than one bell is.
	tenths := int64(10)
	switch k := r.below(10); {
	case k < 5:
		tenths = 4
	case k == 9:
		tenths = 30
	}
	lon = city.lon + r.bell(city.spreadLon)*tenths/10
	lat = city.lat + r.bell(city.spreadLat)*tenths/10
	lat = min(max(lat, -90*unit), 90*unit)
	switch {
	case lon > 180*unit:
		lon -= 360 * unit
	case lon < -180*unit:
		lon += 360 * unit
	}
	return lon, lat, at
}

// name has what a careless loader stumbles over now and then.
func name(city string, id int64) string {
	n := strconv.FormatInt(id, 10)
	switch id % 50 {
	case 7:
		return city + " 카페 " + n
	case 13:
		return city + " O'Neill \"" + n + "\""
	case 29:
		return city + ` back\slash ` + n
	case 31:
		return city + "\ttab and\nline " + n
	}
	return city + " place " + n
}

// Guide makes the guide with an id, 1 to Guides. No two are at one place.
func (c Config) Guide(id int64) spatial.Guide {
	n := uint64(c.Locations)
	step := 7_368_787 % n
	for gcd(step, n) != 1 {
		step++
	}
	first := c.rng(ofGuide, 0)
	at := (uint64(id)*step + first.below(n)) % n
	return spatial.Guide{ID: id, LocationID: int64(at) + 1, Title: "Guide " + strconv.FormatInt(id, 10)}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mediaOf is how many media a guide has: 0 to 6, 3 on average.
func (c Config) mediaOf(guide int64) int64 {
	r := c.rng(ofMedia, uint64(guide))
	return int64(r.below(7))
}

// EachLocation streams the places in the order of id, from one on.
func (c Config) EachLocation(from int64) iter.Seq[spatial.Location] {
	return func(yield func(spatial.Location) bool) {
		for id := from; id <= int64(c.Locations) && yield(c.Location(id)); id++ {
		}
	}
}

// EachGuide streams the guides in the order of id, from one on.
func (c Config) EachGuide(from int64) iter.Seq[spatial.Guide] {
	return func(yield func(spatial.Guide) bool) {
		for id := from; id <= int64(c.Guides) && yield(c.Guide(id)); id++ {
		}
	}
}

// EachMedia streams the media in the order of id, from those of a guide on.
func (c Config) EachMedia(guide int64) iter.Seq[spatial.Media] {
	return func(yield func(spatial.Media) bool) {
		var id int64
		for g := int64(1); g < guide; g++ {
			id += c.mediaOf(g)
		}
		for g := guide; g <= int64(c.Guides); g++ {
			for range c.mediaOf(g) {
				id++
				m := spatial.Media{ID: id, GuideID: g, URL: "https://media.example/" + strconv.FormatInt(g, 10) + "/" + strconv.FormatInt(id, 10) + ".jpg"}
				if !yield(m) {
					return
				}
			}
		}
	}
}

// AllMedia is how many media there are.
func (c Config) AllMedia() (n int64) {
	for g := int64(1); g <= int64(c.Guides); g++ {
		n += c.mediaOf(g)
	}
	return n
}
