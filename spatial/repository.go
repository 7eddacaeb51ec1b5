package spatial

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"latlab.example/common/metrics"
)

var searches = map[SearchName]string{
	ByRadius: SearchRadius, BySorted: SearchSorted, ByCast: SearchCast, ByBox: SearchBox, ByNearest: SearchNearest,
}

// Statement is the text behind a name.
func (n SearchName) Statement() string { return searches[n] }

// Args are the arguments of the statement behind a name.
func (n SearchName) Args(q Query) []any {
	args := []any{q.Lon, q.Lat, q.Radius, q.Limit}
	if n == ByBox {
		b := box(q.Lon, q.Lat, q.Radius)
		args = append(args, b.west, b.south, b.east, b.north)
	}
	return args
}

// bounds are degrees. West may be under -180, or east over 180.
type bounds struct{ west, south, east, north float64 }

// box is a little wider than a circle of radius meters. A sphere of the least
// radius of curvature on WGS84, that along the equator's meridian, makes each
// angle larger than the spheroid's.
func box(lon, lat, radius float64) bounds {
	const least = 6335439
	angle := radius / least
	b := bounds{-180, lat - angle*180/math.Pi, 180, lat + angle*180/math.Pi}
	if b.south > -90 && b.north < 90 {
		if w := math.Sin(angle) / math.Cos(lat*math.Pi/180); w < 1 {
			d := math.Asin(w)*180/math.Pi + 1e-9
			b.west, b.east = lon-d, lon+d
		}
	}
	b.south, b.north = max(b.south-1e-9, -90), min(b.north+1e-9, 90)
	return b
}

// collect scans all rows. The first one that is there ends the stage query.
func collect[T any](ctx context.Context, rows pgx.Rows, into func(*T) []any) ([]T, error) {
	defer rows.Close()
	var all []T
	for first := true; rows.Next(); first = false {
		if first {
			spanOf(ctx).begin(Scan)
		}
		var v T
		if err := rows.Scan(into(&v)...); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func placeFields(p *Place) []any { return []any{&p.ID, &p.Name, &p.Lon, &p.Lat, &p.Meters} }

func locationFields(l *Location) []any { return []any{&l.ID, &l.Name, &l.Lon, &l.Lat} }

func guideFields(g *Guide) []any { return []any{&g.ID, &g.LocationID, &g.Title} }

func mediaFields(m *Media) []any { return []any{&m.ID, &m.GuideID, &m.URL} }

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}

// query runs a statement whose rows become values.
func query[T any](ctx context.Context, on querier, what string, into func(*T) []any, sql string, args ...any) ([]T, error) {
	rows, err := on.Query(ctx, sql, args...)
	if err == nil {
		var all []T
		if all, err = collect(ctx, rows, into); err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("spatial: read %s: %w", what, err)
}

func (s *Service) search(ctx context.Context, on *pgx.Conn, q Query) ([]Place, error) {
	return query(ctx, on, "places", placeFields, s.opt.Search.Statement(), s.opt.Search.Args(q)...)
}

// hold keeps the connection busy as the options say.
func (s *Service) hold(ctx context.Context, on *pgx.Conn) (err error) {
	if s.opt.HoldFor == 0 {
		return nil
	}
	switch s.opt.Hold {
	case HoldSleep:
		_, err = query(ctx, on, "nothing for a while", func(t *string) []any { return []any{t} }, Sleep, s.opt.HoldFor.Seconds())
	case HoldBurn:
		_, err = query(ctx, on, "a count", func(n *int64) []any { return []any{n} }, Burn, int64(s.opt.HoldFor.Seconds()*s.opt.BurnPerSec))
	}
	return err
}

// Burns measures how many rows the server counts in a second of one core, with
// the statement Burn.
func (s *Service) Burns(ctx context.Context) (perSec float64, err error) {
	const rows = 1_000_000
	best := time.Duration(math.MaxInt64)
	for range 3 { // the first is cold, another may be disturbed
		began := time.Now()
		if _, err := query(ctx, s.pool, "a count", func(n *int64) []any { return []any{n} }, Burn, int64(rows)); err != nil {
			return 0, err
		}
		best = min(best, time.Since(began))
	}
	return rows / best.Seconds(), nil
}

func (s *Service) guides(ctx context.Context, on *pgx.Conn, at []Place) ([]Guide, error) {
	ids := make([]int64, len(at))
	for i := range at {
		ids[i] = at[i].ID
	}
	return query(ctx, on, "guides", guideFields, GuidesAt, ids)
}

// media reads what belongs to the guides, in the order of the options' way.
func (s *Service) media(ctx context.Context, req *metrics.Request, on *pgx.Conn, of []Guide) (all []Media, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	switch s.opt.Fetch {
	case NPlusOne:
		for _, g := range of {
			some, err := query(ctx, on, "media", mediaFields, MediaOf, g.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	case Batched:
		return s.batch(ctx, on, of)
	case FanOut:
		return s.fanOut(ctx, req, of)
	}
	ids := make([]int64, len(of))
	for i := range of {
		ids[i] = of[i].ID
	}
	return query(ctx, on, "media", mediaFields, MediaOfAll, ids)
}

func (s *Service) batch(ctx context.Context, on *pgx.Conn, of []Guide) (all []Media, err error) {
	b := &pgx.Batch{}
	for _, g := range of {
		b.Queue(MediaOf, g.ID)
	}
	res := on.SendBatch(ctx, b)
	defer func() {
		if cerr := res.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("spatial: read media: %w", cerr)
		}
	}()
	for range of {
		rows, err := res.Query()
		if err != nil {
			return nil, fmt.Errorf("spatial: read media: %w", err)
		}
		some, err := collect(ctx, rows, mediaFields)
		if err != nil {
			return nil, fmt.Errorf("spatial: read media: %w", err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// fanOut takes a connection for each guide, all at once, while the caller holds
// the request's own. With as many requests as the pool has connections nobody
// gets a second one: they wait for each other until a context ends.
func (s *Service) fanOut(ctx context.Context, req *metrics.Request, of []Guide) ([]Media, error) {
	parts := make([][]Media, len(of))
	g, ctx := errgroup.WithContext(ctx)
	for i := range of {
		track := req.Track()
		g.Go(func() error {
			ctx := withSpan(ctx, req, track)
			conn, err := s.acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			parts[i], err = query(ctx, conn.Conn(), "media", mediaFields, MediaOf, of[i].ID)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var all []Media
	for _, p := range parts {
		all = append(all, p...)
	}
	return all, nil
}

// Locations reads locations by id, in the order of id; those that aren't there
// are left out.
func (s *Service) Locations(ctx context.Context, ids []int64) ([]Location, error) {
	return query(ctx, s.pool, "locations", locationFields, LocationsByID, ids)
}

// GuidesByID reads guides by id, in the order of id; those that aren't there are
// left out.
func (s *Service) GuidesByID(ctx context.Context, ids []int64) ([]Guide, error) {
	return query(ctx, s.pool, "guides", guideFields, GuidesByID, ids)
}

// Size is how many rows the tables hold.
type Size struct{ Locations, Guides, Media int64 }

// Size counts the rows.
func (s *Service) Size(ctx context.Context) (Size, error) {
	all, err := query(ctx, s.pool, "how many rows there are", func(n *Size) []any { return []any{&n.Locations, &n.Guides, &n.Media} }, Counts)
	if err != nil {
		return Size{}, err
	}
	if len(all) != 1 {
		return Size{}, fmt.Errorf("spatial: counting rows gave %d rows", len(all))
	}
	return all[0], nil
}

// encode writes the answer as a line of JSON, in one piece.
func (a Answer) encode(w io.Writer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
