package fake

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/geo"
)

// Mark stands in the server's version, so that nobody takes it for a real one.
const Mark = "latlab fake"

const (
	serverVersion = "15.0 (" + Mark + ")"
	versionText   = "PostgreSQL " + serverVersion + ", modelled: answers and times are those of a program in memory"
)

// A statement that the fake can answer.
type statement struct {
	op      string // what faults call it
	params  []uint32
	columns []column
	pattern []token
	// One of these answers it.
	search func(set *data.Set, args []value) (hits, *pgproto3.ErrorResponse)
	run    func(s *session, args []value) (answer, *pgproto3.ErrorResponse)
}

// hits are what a search found, in order and cut.
type hits struct {
	rows    []found
	near    int // rows that an index gave in the order of distance
	visited int // other rows that the server looked at
}

// An answer has its rows one after another.
type answer struct {
	rows    []value
	near    int           // as in hits
	visited int           // as in hits
	work    time.Duration // of the CPU, beside what rows cost
	wait    time.Duration // beside the CPU
}

var (
	placeColumns    = []column{{"id", oidInt8}, {"name", oidText}, {"lon", oidFloat8}, {"lat", oidFloat8}, {"meters", oidFloat8}}
	locationColumns = placeColumns[:4]
	guideColumns    = []column{{"id", oidInt8}, {"location_id", oidInt8}, {"title", oidText}}
	mediaColumns    = []column{{"id", oidInt8}, {"guide_id", oidInt8}, {"url", oidText}}
	circle          = []uint32{oidFloat8, oidFloat8, oidFloat8, oidInt8}
	box             = append(circle[:4:4], oidFloat8, oidFloat8, oidFloat8, oidFloat8)
	ids             = []uint32{oidInt8Array}
)

var statements = known([]entry{
	{spatial.SearchRadius, statement{op: "search", params: circle, columns: placeColumns, search: searchRadius}},
	{spatial.SearchSorted, statement{op: "search", params: circle, columns: placeColumns, search: searchSorted}},
	{spatial.SearchCast, statement{op: "search", params: circle, columns: placeColumns, search: searchCast}},
	{spatial.SearchBox, statement{op: "search", params: box, columns: placeColumns, search: searchBox}},
	{spatial.SearchNearest, statement{op: "search", params: circle, columns: placeColumns, search: searchNearest}},
	{spatial.GuidesAt, statement{op: "lookup", params: ids, columns: guideColumns, run: guidesAt}},
	{spatial.GuidesByID, statement{op: "lookup", params: ids, columns: guideColumns, run: guidesByID}},
	{spatial.LocationsByID, statement{op: "lookup", params: ids, columns: locationColumns, run: locationsByID}},
	{spatial.MediaOf, statement{op: "lookup", params: []uint32{oidInt8}, columns: mediaColumns, run: mediaOf}},
	{spatial.MediaOfAll, statement{op: "lookup", params: ids, columns: mediaColumns, run: mediaOfAll}},
	{spatial.Counts, statement{columns: []column{{"locations", oidInt8}, {"guides", oidInt8}, {"media", oidInt8}}, run: counts}},
	{spatial.Sleep, statement{params: []uint32{oidFloat8}, columns: []column{{"slept", oidText}}, run: sleep}},
	{spatial.Burn, statement{params: []uint32{oidInt8}, columns: []column{{"burnt", oidInt8}}, run: burn}},
	{"SELECT pg_sleep($1)", statement{params: []uint32{oidFloat8}, columns: []column{{"pg_sleep", oidVoid}}, run: sleep}},
	{"SELECT 1", statement{columns: []column{{"?column?", oidInt4}}, run: func(*session, []value) (answer, *pgproto3.ErrorResponse) {
		return answer{rows: []value{{i: 1}}}, nil
	}}},
	{"SELECT version()", statement{columns: []column{{"version", oidText}}, run: func(*session, []value) (answer, *pgproto3.ErrorResponse) {
		return answer{rows: []value{{s: versionText}}}, nil
	}}},
	{"SELECT pg_backend_pid()", statement{columns: []column{{"pg_backend_pid", oidInt4}}, run: func(s *session, _ []value) (answer, *pgproto3.ErrorResponse) {
		return answer{rows: []value{{i: int64(s.pid)}}}, nil
	}}},
	{"SELECT pg_cancel_backend($1)", statement{params: []uint32{oidInt4}, columns: []column{{"pg_cancel_backend", oidBool}}, run: signal((*session).interrupt)}},
	{"SELECT pg_terminate_backend($1)", statement{params: []uint32{oidInt4}, columns: []column{{"pg_terminate_backend", oidBool}}, run: signal((*session).terminate)}},
})

type entry struct {
	text string
	statement
}

func known(entries []entry) (all []*statement) {
	for _, e := range entries {
		e.pattern = tokens(e.text)
		all = append(all, &e.statement)
	}
	return all
}

// find gives the statement that the tokens are, and the literals in it.
func find(t []token) (*statement, []literal) {
	for _, s := range statements {
		if l, ok := match(s.pattern, t, len(s.params)); ok {
			return s, l
		}
	}
	return nil, nil
}

// A place that a search found.
type found struct {
	at     int     // in the set
	sphere float64 // meters
	meters float64 // on the spheroid; both rounded
}

// nanos rounds meters to hundredths of a micrometre, as PostGIS does.
func nanos(meters float64) float64 { return math.RoundToEven(meters*1e8) / 1e8 }

func bySphere(a, b found) int {
	return cmp.Or(cmp.Compare(a.sphere, b.sphere), cmp.Compare(a.at, b.at))
}

func byMeters(a, b found) int {
	return cmp.Or(cmp.Compare(a.meters, b.meters), cmp.Compare(a.at, b.at))
}

// limitOf reads a LIMIT; none is the largest.
func limitOf(v value) (int, *pgproto3.ErrorResponse) {
	switch {
	case v.null:
		return math.MaxInt, nil
	case v.i < 0:
		return 0, sqlError(codeLimit, "LIMIT must not be negative")
	}
	return int(v.i), nil
}

// few is up to how many rows it is faster to go from the nearest on than to look
// at all in the circle.
const few = 1000

// nearest gives the first rows by the sphere of those that keep lets pass, none
// of them beyond far on the sphere, and how many it looked at.
func nearest(set *data.Set, centre geo.Point, limit int, far float64, keep func(at int, meters float64) bool) (rows []found, visited int) {
	set.Index.Nearest(centre, func(at int, sphere float64) bool {
		// Those as far as the last one may have a lower id.
		if sphere > far || limit == 0 || len(rows) >= limit && nanos(sphere) > rows[limit-1].sphere {
			return false
		}
		visited++
		meters := geo.Spheroid(centre, set.Index.Point(at))
		if keep(at, meters) {
			rows = append(rows, found{at, nanos(sphere), nanos(meters)})
		}
		return true
	})
	return rows, visited
}

// within gives all rows in the circle.
func within(set *data.Set, centre geo.Point, radius float64) (rows []found) {
	set.Index.Within(centre, radius, func(at int, meters float64) bool {
		rows = append(rows, found{at, nanos(geo.Sphere(centre, set.Index.Point(at))), nanos(meters)})
		return true
	})
	return rows
}

func nullIn(args []value) bool {
	return slices.ContainsFunc(args, func(v value) bool { return v.null })
}

// cut sorts what a search found and keeps the first rows.
func cut(rows []found, limit int, order func(a, b found) int) []found {
	slices.SortFunc(rows, order)
	return slices.Clip(rows[:min(limit, len(rows))])
}

// places are a search's hits as rows.
func places(set *data.Set, h hits) answer {
	a := answer{near: h.near, visited: h.visited, rows: make([]value, 0, len(placeColumns)*len(h.rows))}
	for _, r := range h.rows {
		l := &set.Locations[r.at]
		a.rows = append(a.rows, value{i: l.ID}, value{s: l.Name}, value{f: l.Lon}, value{f: l.Lat}, value{f: r.meters})
	}
	return a
}

func searchRadius(set *data.Set, args []value) (h hits, _ *pgproto3.ErrorResponse) {
	limit, fail := limitOf(args[3])
	if fail != nil || nullIn(args[:3]) {
		return h, fail
	}
	centre, radius := geo.At(args[0].f, args[1].f), args[2].f
	if limit > few {
		h.rows = within(set, centre, radius)
		h.near = len(h.rows)
	} else {
		h.rows, h.near = nearest(set, centre, limit, geo.Reach(radius), func(_ int, meters float64) bool { return meters <= radius })
	}
	h.rows = cut(h.rows, limit, bySphere)
	return h, nil
}

func searchSorted(set *data.Set, args []value) (h hits, _ *pgproto3.ErrorResponse) {
	limit, fail := limitOf(args[3])
	if fail != nil || nullIn(args[:3]) {
		return h, fail
	}
	centre, radius := geo.At(args[0].f, args[1].f), args[2].f
	h.visited = set.Index.Count(centre, radius)
	if limit <= few {
		// The first rows by the sphere bound what the first ones by the spheroid can
		// be, and so how far to look.
		h.rows, _ = nearest(set, centre, limit, geo.Reach(radius), func(_ int, meters float64) bool { return meters <= radius })
		if len(h.rows) >= limit && limit > 0 {
			farthest := 0.0
			for _, r := range h.rows {
				farthest = max(farthest, r.meters)
			}
			h.rows = within(set, centre, min(radius, farthest+1e-7)) // those that round to the same are equal
		}
	} else {
		h.rows = within(set, centre, radius)
	}
	h.rows = cut(h.rows, limit, byMeters)
	return h, nil
}

func searchCast(set *data.Set, args []value) (hits, *pgproto3.ErrorResponse) {
	h, fail := searchRadius(set, args)
	h.near, h.visited = 0, len(set.Locations)
	return h, fail
}

func searchBox(set *data.Set, args []value) (h hits, _ *pgproto3.ErrorResponse) {
	limit, fail := limitOf(args[3])
	if fail != nil || nullIn(args[:3]) || nullIn(args[4:]) {
		return h, fail
	}
	centre, radius := geo.At(args[0].f, args[1].f), args[2].f
	seen := map[int]bool{}
	for _, shift := range [...]float64{0, -360, 360} {
		west, east := args[4].f+shift, args[6].f+shift
		b := geo.Box{
			West: floor32(min(west, east)), East: ceil32(max(west, east)),
			South: floor32(min(args[5].f, args[7].f)), North: ceil32(max(args[5].f, args[7].f)),
		}
		set.Index.In(wider(b), func(at int) bool {
			p := set.Index.Point(at)
			if seen[at] || ceil32(p.Lon) < b.West || floor32(p.Lon) > b.East || ceil32(p.Lat) < b.South || floor32(p.Lat) > b.North {
				return true
			}
			h.visited++
			seen[at] = true
			if meters := geo.Spheroid(centre, p); meters <= radius {
				h.rows = append(h.rows, found{at, nanos(geo.Sphere(centre, p)), nanos(meters)})
			}
			return true
		})
	}
	h.rows = cut(h.rows, limit, bySphere)
	return h, nil
}

// floor32 and ceil32 round outward, as the operator && does: boxes of geometry,
// and that of a point is one, are kept in float32.
func floor32(f float64) float64 {
	r := float32(f)
	if float64(r) > f {
		r = math.Nextafter32(r, float32(math.Inf(-1)))
	}
	return float64(r)
}

func ceil32(f float64) float64 { return -floor32(-f) }

// wider is a box with all points in it whose own boxes may touch b.
func wider(b geo.Box) geo.Box {
	const more = 1e-4 // a float32 of 180 has steps of 1.5e-5
	return geo.Box{West: b.West - more, South: b.South - more, East: b.East + more, North: b.North + more}
}

func searchNearest(set *data.Set, args []value) (h hits, _ *pgproto3.ErrorResponse) {
	limit, fail := limitOf(args[3])
	if fail != nil || nullIn(args[:2]) {
		return h, fail
	}
	h.rows, h.near = nearest(set, geo.At(args[0].f, args[1].f), limit, math.Inf(1), func(int, float64) bool { return true })
	h.rows = slices.DeleteFunc(h.rows, func(r found) bool { return args[2].null || !(r.meters <= args[2].f) })
	h.rows = cut(h.rows, limit, bySphere)
	return h, nil
}

// unique gives the ids that there are, of 1 to most, in order.
func unique(list []int64, most int) []int64 {
	list = slices.DeleteFunc(slices.Clone(list), func(id int64) bool { return id < 1 || id > int64(most) })
	slices.Sort(list)
	return slices.Compact(list)
}

func guidesAt(s *session, args []value) (a answer, _ *pgproto3.ErrorResponse) {
	set := s.server.cfg.Data
	var guides []int64
	for _, id := range args[0].list {
		if g, ok := set.GuideAt(id); ok {
			guides = append(guides, g.ID)
		}
	}
	return guidesOf(set, guides), nil
}

func guidesByID(s *session, args []value) (a answer, _ *pgproto3.ErrorResponse) {
	return guidesOf(s.server.cfg.Data, args[0].list), nil
}

func guidesOf(set *data.Set, guides []int64) (a answer) {
	for _, id := range unique(guides, len(set.Guides)) {
		g := &set.Guides[id-1]
		a.rows = append(a.rows, value{i: g.ID}, value{i: g.LocationID}, value{s: g.Title})
		a.visited++
	}
	return a
}

func locationsByID(s *session, args []value) (a answer, _ *pgproto3.ErrorResponse) {
	set := s.server.cfg.Data
	for _, id := range unique(args[0].list, len(set.Locations)) {
		l := &set.Locations[id-1]
		a.rows = append(a.rows, value{i: l.ID}, value{s: l.Name}, value{f: l.Lon}, value{f: l.Lat})
		a.visited++
	}
	return a, nil
}

func mediaOf(s *session, args []value) (a answer, _ *pgproto3.ErrorResponse) {
	if args[0].null {
		return a, nil
	}
	return mediaOfGuides(s.server.cfg.Data, []int64{args[0].i}), nil
}

func mediaOfAll(s *session, args []value) (a answer, _ *pgproto3.ErrorResponse) {
	return mediaOfGuides(s.server.cfg.Data, args[0].list), nil
}

func mediaOfGuides(set *data.Set, guides []int64) (a answer) {
	for _, g := range unique(guides, len(set.Guides)) { // in the order of guides is in the order of media
		for _, m := range set.MediaOf(g) {
			a.rows = append(a.rows, value{i: m.ID}, value{i: m.GuideID}, value{s: m.URL})
			a.visited++
		}
	}
	return a
}

func counts(s *session, _ []value) (answer, *pgproto3.ErrorResponse) {
	set := s.server.cfg.Data
	n := []value{{i: int64(len(set.Locations))}, {i: int64(len(set.Guides))}, {i: int64(len(set.Media))}}
	return answer{rows: n, visited: len(set.Locations) + len(set.Guides) + len(set.Media)}, nil
}

func sleep(_ *session, args []value) (a answer, _ *pgproto3.ErrorResponse) {
	a.rows = []value{{null: args[0].null}}
	if !args[0].null && args[0].f > 0 {
		a.wait = time.Duration(min(args[0].f, 1e6) * float64(time.Second))
	}
	return a, nil
}

func burn(s *session, args []value) (answer, *pgproto3.ErrorResponse) {
	n := int64(0)
	if !args[0].null {
		n = min(max(args[0].i, 0), 1<<40)
	}
	return answer{rows: []value{{i: n}}, work: time.Duration(n) * s.server.cfg.Cost.Burn}, nil
}

// signal is for functions that send a signal to another connection.
func signal(send func(*session)) func(*session, []value) (answer, *pgproto3.ErrorResponse) {
	return func(s *session, args []value) (answer, *pgproto3.ErrorResponse) {
		if args[0].null {
			return answer{rows: []value{{null: true}}}, nil
		}
		other := s.server.session(uint32(args[0].i))
		if other == nil {
			return answer{rows: []value{{}}}, nil
		}
		send(other)
		return answer{rows: []value{{i: 1}}}, nil
	}
}

// keyOf is the same for the same question.
func keyOf(st *statement, args []value) string {
	var b []byte
	b = strconv.AppendInt(b, int64(slices.Index(statements, st)), 10)
	for _, v := range args {
		b = binary.LittleEndian.AppendUint64(append(b, ' '), math.Float64bits(v.f)^uint64(v.i))
		if v.null {
			b = append(b, 'n')
		}
	}
	return string(b)
}

// A command changes the session or shows a setting.
type command struct {
	tag     string
	shows   string // a setting
	columns []column
}

var settings = map[string]string{
	"server_version": serverVersion, "client_encoding": "UTF8", "standard_conforming_strings": "on", "timezone": "UTC",
	"transaction_isolation": "read committed", "transaction isolation level": "read committed", "search_path": `"$user", public`, "datestyle": "ISO, MDY", "max_connections": "",
}

// settable are settings that change nothing here.
var settable = []string{"application_name", "client_encoding", "client_min_messages", "datestyle", "extra_float_digits", "intervalstyle", "jit", "plan_cache_mode", "search_path", "standard_conforming_strings", "timezone"}

// commandOf reads what isn't a query.
func commandOf(t []token) (*command, *pgproto3.ErrorResponse) {
	word := func(i int) string {
		if i < len(t) && t[i].kind == 'w' {
			return t[i].text
		}
		return ""
	}
	switch word(0) {
	case "begin":
		return &command{tag: "BEGIN"}, nil
	case "start":
		if word(1) == "transaction" {
			return &command{tag: "START TRANSACTION"}, nil
		}
	case "commit", "end":
		return &command{tag: "COMMIT"}, nil
	case "rollback", "abort":
		if word(1) == "to" || word(1) == "prepared" {
			break
		}
		return &command{tag: "ROLLBACK"}, nil
	case "deallocate":
		if word(1) == "prepare" {
			t = t[1:]
		}
		if len(t) == 2 && t[1].kind == 'w' {
			if t[1].text == "all" {
				return &command{tag: "DEALLOCATE ALL"}, nil
			}
			return &command{tag: "DEALLOCATE", shows: t[1].text}, nil
		}
	case "discard":
		if word(1) == "all" {
			return &command{tag: "DISCARD ALL"}, nil
		}
	case "set", "reset":
		i := 1
		if word(i) == "session" || word(i) == "local" {
			i++
		}
		if word(0) == "reset" && word(i) == "all" || slices.Contains(settable, word(i)) {
			return &command{tag: strings.ToUpper(word(0))}, nil
		}
		return nil, sqlError(codeFeature, "the fake doesn't know the setting %q", word(i))
	case "show":
		var words []string
		for i := range t[1:] {
			words = append(words, word(i+1))
		}
		name := strings.Join(words, " ")
		if _, ok := settings[name]; ok {
			return &command{tag: "SHOW", shows: name, columns: []column{{name, oidText}}}, nil
		}
		return nil, sqlError(codeUndefined, "unrecognized configuration parameter %q", name)
	}
	return nil, nil
}
