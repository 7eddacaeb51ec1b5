package spatial

// Schema is the only schema that this module creates or drops.
const Schema = "latlab"

// CreateTables makes the schema's tables, without indexes, if they aren't
// there. PostGIS must be installed in the database. The columns geog and geom
// follow from lon and lat, so that a loader copies only id, name, lon and lat.
const CreateTables = `
CREATE SCHEMA IF NOT EXISTS latlab;
CREATE TABLE IF NOT EXISTS latlab.location (
	id   bigint NOT NULL,
	name text NOT NULL,
	lon  double precision NOT NULL,
	lat  double precision NOT NULL,
	geog geography(Point, 4326) NOT NULL GENERATED ALWAYS AS (ST_SetSRID(ST_MakePoint(lon, lat), 4326)::geography) STORED,
	geom geometry(Point, 4326) NOT NULL GENERATED ALWAYS AS (ST_SetSRID(ST_MakePoint(lon, lat), 4326)) STORED
);
CREATE TABLE IF NOT EXISTS latlab.guide (
	id          bigint NOT NULL,
	location_id bigint NOT NULL,
	title       text NOT NULL
);
CREATE TABLE IF NOT EXISTS latlab.media (
	id       bigint NOT NULL,
	guide_id bigint NOT NULL,
	url      text NOT NULL
);`

// CreateIndexes makes what the queries need, and lets the planner look at it.
const CreateIndexes = `
CREATE UNIQUE INDEX IF NOT EXISTS location_id ON latlab.location (id);
CREATE UNIQUE INDEX IF NOT EXISTS guide_id ON latlab.guide (id);
CREATE UNIQUE INDEX IF NOT EXISTS media_id ON latlab.media (id);
CREATE INDEX IF NOT EXISTS location_geog ON latlab.location USING gist (geog);
CREATE INDEX IF NOT EXISTS location_geom ON latlab.location USING gist (geom);
CREATE INDEX IF NOT EXISTS guide_location ON latlab.guide (location_id);
CREATE INDEX IF NOT EXISTS media_guide ON latlab.media (guide_id);
ANALYZE latlab.location;
ANALYZE latlab.guide;
ANALYZE latlab.media;`

// DropSchema removes everything that this module ever created in a database.
const DropSchema = `DROP SCHEMA IF EXISTS latlab CASCADE`

// The columns that a loader copies, in this order.
var (
	LocationColumns = []string{"id", "name", "lon", "lat"}
	GuideColumns    = []string{"id", "location_id", "title"}
	MediaColumns    = []string{"id", "guide_id", "url"}
)

// Location is a place. Ids of all three kinds are dense and begin with 1.
type Location struct {
	ID   int64   `json:"id"`
	Name string  `json:"name"`
	Lon  float64 `json:"lon"` // degrees on WGS84
	Lat  float64 `json:"lat"`
}

// Guide belongs to a place.
type Guide struct {
	ID         int64  `json:"id"`
	LocationID int64  `json:"location_id"`
	Title      string `json:"title"`
}

// Media belongs to a guide.
type Media struct {
	ID      int64  `json:"id"`
	GuideID int64  `json:"guide_id"`
	URL     string `json:"url"`
}

// Place is a row of an answer to a search: a location and how far it lies from
// the centre.
type Place struct {
	Location
	Meters float64 `json:"meters"` // on the WGS84 spheroid
}

const (
	centre = `ST_SetSRID(ST_MakePoint($1::float8, $2::float8), 4326)`
	// near has the nearest rows by the sphere, and all that are as far as the last
	// one: so the tie that is cut is cut by id, although the index knows none.
	// A second sort key in the inner query would cost the index its order.
	near   = `SELECT id, name, lon, lat, geog, geog <-> ` + centre + `::geography AS sphere FROM latlab.location`
	ties   = ` ORDER BY sphere FETCH FIRST ($4::int8) ROWS WITH TIES`
	picked = `SELECT id, name, lon, lat, ST_Distance(geog, ` + centre + `::geography) AS meters FROM (`
	order  = `) AS near ORDER BY sphere, id LIMIT $4::int8`
)

// The searches take $1 longitude and $2 latitude of the centre in degrees,
// $3 the radius in meters and $4 the most rows wanted, and answer with id,
// name, lon, lat and meters. All filter on the spheroid, a row exactly at the
// radius included.
const (
	// SearchRadius sorts by the distance on the sphere of radius 6371008.77 m,
	// which the index gives in order, then by id. This is what the service runs.
	// Where rows are cut off by $4, a place that the sphere puts closer than the
	// spheroid does may take another's seat.
	SearchRadius = picked + near + ` WHERE ST_DWithin(geog, ` + centre + `::geography, $3::float8)` + ties + order

	// SearchSorted sorts by the distance on the spheroid, then by id: every hit is
	// measured and sorted before the first row is sent.
	SearchSorted = `SELECT id, name, lon, lat, ST_Distance(geog, ` + centre + `::geography) AS meters FROM latlab.location` +
		` WHERE ST_DWithin(geog, ` + centre + `::geography, $3::float8) ORDER BY meters, id LIMIT $4::int8`

	// SearchCast looks for geometry cast to geography, for which there is no index.
	// Order as SearchRadius.
	SearchCast = picked + near + ` WHERE ST_DWithin(geom::geography, ` + centre + `::geography, $3::float8)` +
		` ORDER BY geom::geography <-> ` + centre + `::geography FETCH FIRST ($4::int8) ROWS WITH TIES` + order

	// SearchBox looks for geometry in a box, for which there is an index, and then
	// filters on the spheroid. The box is $5 west, $6 south, $7 east, $8 north in
	// degrees; it may pass the antimeridian. Order as SearchRadius.
	SearchBox = picked + near + ` WHERE (geom && ST_MakeEnvelope($5::float8, $6::float8, $7::float8, $8::float8, 4326)` +
		` OR geom && ST_MakeEnvelope($5::float8 - 360, $6::float8, $7::float8 - 360, $8::float8, 4326)` +
		` OR geom && ST_MakeEnvelope($5::float8 + 360, $6::float8, $7::float8 + 360, $8::float8, 4326))` +
		` AND ST_DWithin(geom::geography, ` + centre + `::geography, $3::float8)` +
		` ORDER BY geom::geography <-> ` + centre + `::geography FETCH FIRST ($4::int8) ROWS WITH TIES` + order

	// SearchNearest takes the $4 nearest by the sphere and then drops what is beyond
	// the radius. Order as SearchRadius. It finds less than that does where the
	// sphere puts a place beyond the last one that is in the circle by the spheroid.
	SearchNearest = `SELECT id, name, lon, lat, meters FROM (SELECT id, name, lon, lat,` +
		` ST_Distance(geog, ` + centre + `::geography) AS meters, geog <-> ` + centre + `::geography AS sphere FROM latlab.location` +
		ties + `) AS near WHERE meters <= $3::float8 ORDER BY sphere, id LIMIT $4::int8`
)

// The other statements of the service.
const (
	// GuidesAt gives id, location_id and title of the guides at places $1, in the
	// order of id.
	GuidesAt = `SELECT id, location_id, title FROM latlab.guide WHERE location_id = ANY($1::int8[]) ORDER BY id`
	// MediaOf gives id, guide_id and url of the media of guide $1, in the order of id.
	MediaOf = `SELECT id, guide_id, url FROM latlab.media WHERE guide_id = $1::int8 ORDER BY id`
	// MediaOfAll is MediaOf for many guides at once.
	MediaOfAll = `SELECT id, guide_id, url FROM latlab.media WHERE guide_id = ANY($1::int8[]) ORDER BY id`
)

// Statements that load generators and rigs need.
const (
	// LocationsByID gives id, name, lon and lat of locations $1, in the order of id.
	LocationsByID = `SELECT id, name, lon, lat FROM latlab.location WHERE id = ANY($1::int8[]) ORDER BY id`
	// GuidesByID gives id, location_id and title of guides $1, in the order of id.
	GuidesByID = `SELECT id, location_id, title FROM latlab.guide WHERE id = ANY($1::int8[]) ORDER BY id`
	// Counts gives how many locations, guides and media there are.
	Counts = `SELECT (SELECT count(*) FROM latlab.location) AS locations,` +
		` (SELECT count(*) FROM latlab.guide) AS guides, (SELECT count(*) FROM latlab.media) AS media`
	// Sleep keeps the connection for $1 seconds without work and gives an empty text.
	Sleep = `SELECT pg_sleep($1::float8)::text AS slept`
	// Burn keeps a core of the server busy, for a time in proportion to $1, and
	// gives $1 back.
	Burn = `SELECT count(*) AS burnt FROM generate_series(1, $1::int8)`
)
