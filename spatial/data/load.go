package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"latlab.example/spatial"
)

// Errors of Load.
var (
	// ErrOther occurs when the schema holds other data than what is to be loaded.
	ErrOther = errors.New("the schema holds other data")
	// ErrNoPostGIS occurs when the database doesn't have the extension.
	ErrNoPostGIS = errors.New("the database has no extension postgis")
)

// Progress is how far a load is.
type Progress struct {
	Table string // or "indexes"
	Rows  int64  // of Of, those of earlier runs included; media count by guide; 0 of 0 for indexes
	Of    int64
	Found bool // nothing was to do: an earlier run had finished
}

// String is one line.
func (p Progress) String() string {
	switch {
	case p.Found:
		return "everything is there already"
	case p.Of == 0:
		return p.Table
	}
	unit := "rows"
	if p.Table == "media" {
		unit = "guides"
	}
	return fmt.Sprintf("%s: %d of %d %s", p.Table, p.Rows, p.Of, unit)
}

// What a run has done is kept beside the data, in the same transactions.
const (
	createLoad = `
CREATE TABLE IF NOT EXISTS latlab.load (
	"table" text NOT NULL,
	first   bigint NOT NULL,
	PRIMARY KEY ("table", first)
);
CREATE TABLE IF NOT EXISTS latlab.load_of (data text NOT NULL, complete boolean NOT NULL)`
	lockLoad = `SELECT pg_advisory_lock(hashtextextended('latlab.load', 0))`
	openLoad = `SELECT pg_advisory_unlock(hashtextextended('latlab.load', 0))`
)

// chunk is how many ids a transaction copies.
const chunk = 25_000

// A table and its rows from an id on, as lines of COPY. What counts for media
// is the id of the guide.
type table struct {
	name    string
	columns []string
	ids     int64
	rows    func(from, to int64) iter.Seq[[]byte]
}

// Load brings the data into schema latlab, which it makes if it isn't there,
// with indexes and statistics. Each call of progress tells of a piece that is
// committed; it may be nil. If a run was killed, the next one with the same
// data goes on after its last piece; a run that finds all there changes
// nothing. Two runs at once take turns.
//
// The error wraps ErrConfig, ErrOther or ErrNoPostGIS, or is the database's.
func Load(ctx context.Context, conn *pgx.Conn, c Config, progress func(Progress)) (err error) {
	if err := c.Check(); err != nil {
		return err
	}
	if progress == nil {
		progress = func(Progress) {}
	}
	var has bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'postgis')`).Scan(&has); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if !has {
		return fmt.Errorf("data: %w; a superuser says: CREATE EXTENSION postgis", ErrNoPostGIS)
	}
	if _, err := conn.Exec(ctx, lockLoad); err != nil {
		return fmt.Errorf("data: lock: %w", err)
	}
	defer func() {
		if conn.IsClosed() { // and so the lock is open
			return
		}
		if _, e := conn.Exec(context.WithoutCancel(ctx), openLoad); e != nil {
			err = errors.Join(err, fmt.Errorf("data: unlock: %w", e))
		}
	}()
	complete, err := begin(ctx, conn, c)
	if err != nil {
		return err
	}
	if complete {
		progress(Progress{Found: true})
		return nil
	}
	for _, t := range c.tables() {
		if err := t.load(ctx, conn, progress); err != nil {
			return err
		}
	}
	progress(Progress{Table: "indexes"})
	if _, err := conn.Exec(ctx, spatial.CreateIndexes); err != nil {
		return fmt.Errorf("data: indexes: %w", err)
	}
	for _, t := range c.tables() { // so that no autovacuum comes while somebody measures
		if _, err := conn.Exec(ctx, "VACUUM (ANALYZE) "+spatial.Schema+"."+t.name); err != nil {
			return fmt.Errorf("data: vacuum: %w", err)
		}
	}
	if _, err := conn.Exec(ctx, `UPDATE latlab.load_of SET complete = true`); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

// Loaded says which data a load has brought into the schema, in full. ok is
// false if there are none.
func Loaded(ctx context.Context, conn *pgx.Conn) (c Config, ok bool, err error) {
	var there bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('latlab.load_of') IS NOT NULL`).Scan(&there); err != nil || !there {
		return c, false, err
	}
	var is string
	switch err := conn.QueryRow(ctx, `SELECT data, complete FROM latlab.load_of`).Scan(&is, &ok); {
	case errors.Is(err, pgx.ErrNoRows):
		return c, false, nil
	case err != nil:
		return c, false, fmt.Errorf("data: %w", err)
	}
	if _, err := fmt.Sscanf(is, "%d locations, %d guides, seed %d,", &c.Locations, &c.Guides, &c.Seed); err != nil || c.String() != is {
		return Config{}, false, fmt.Errorf("data: schema %s: %w: %s, which this generator doesn't make", spatial.Schema, ErrOther, is)
	}
	return c, ok, nil
}

// begin makes the tables and says whether they are full already.
func begin(ctx context.Context, conn *pgx.Conn, c Config) (complete bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, spatial.CreateTables+createLoad); err != nil {
			return fmt.Errorf("data: tables: %w", err)
		}
		var is string
		switch err := tx.QueryRow(ctx, `SELECT data, complete FROM latlab.load_of`).Scan(&is, &complete); {
		case errors.Is(err, pgx.ErrNoRows):
			var rows bool
			if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM latlab.location) OR EXISTS (SELECT FROM latlab.guide) OR EXISTS (SELECT FROM latlab.media)`).Scan(&rows); err != nil {
				return fmt.Errorf("data: %w", err)
			}
			if rows {
				return other("rows that this loader didn't write", c)
			}
			_, err := tx.Exec(ctx, `INSERT INTO latlab.load_of VALUES ($1, false)`, c.String())
			return err
		case err != nil:
			return fmt.Errorf("data: %w", err)
		case is != c.String():
			return other(is, c)
		}
		return nil
	})
	return complete, err
}

func other(is string, c Config) error {
	return fmt.Errorf("data: schema %s: %w: %s, not %s; ask for that data, or drop it (%s) or take another database", spatial.Schema, ErrOther, is, c, spatial.DropSchema)
}

func (c Config) tables() []table {
	return []table{
		{"location", spatial.LocationColumns, int64(c.Locations), func(from, to int64) iter.Seq[[]byte] {
			return lines(c.EachLocation(from), func(l spatial.Location, b []byte) ([]byte, bool) {
				b = append(strconv.AppendInt(b, l.ID, 10), '\t')
				b = append(appendText(b, l.Name), '\t')
				b = append(strconv.AppendFloat(b, l.Lon, 'g', -1, 64), '\t')
				return strconv.AppendFloat(b, l.Lat, 'g', -1, 64), l.ID < to
			})
		}},
		{"guide", spatial.GuideColumns, int64(c.Guides), func(from, to int64) iter.Seq[[]byte] {
			return lines(c.EachGuide(from), func(g spatial.Guide, b []byte) ([]byte, bool) {
				b = append(strconv.AppendInt(b, g.ID, 10), '\t')
				b = append(strconv.AppendInt(b, g.LocationID, 10), '\t')
				return appendText(b, g.Title), g.ID < to
			})
		}},
		{"media", spatial.MediaColumns, int64(c.Guides), func(from, to int64) iter.Seq[[]byte] {
			return lines(c.EachMedia(from), func(m spatial.Media, b []byte) ([]byte, bool) {
				b = append(strconv.AppendInt(b, m.ID, 10), '\t')
				b = append(strconv.AppendInt(b, m.GuideID, 10), '\t')
				return appendText(b, m.URL), m.GuideID < to
			})
		}},
	}
}

// lines gives rows in COPY's text format, those whose id is below the limit.
func lines[T any](rows iter.Seq[T], line func(T, []byte) (text []byte, below bool)) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for row := range rows {
			var below bool
			if b, below = line(row, b[:0]); !below {
				return
			}
			b = append(b, '\n')
			if !yield(b) {
				return
			}
		}
	}
}

// appendText escapes what COPY would take for its own.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			b = append(b, `\\`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

func (t table) load(ctx context.Context, conn *pgx.Conn, progress func(Progress)) error {
	rows, err := conn.Query(ctx, `SELECT first FROM latlab.load WHERE "table" = $1`, t.name)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	firsts, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	done := map[int64]bool{}
	for _, f := range firsts {
		done[f] = true
	}
	into := fmt.Sprintf("COPY %s.%s (%s) FROM STDIN", spatial.Schema, t.name, strings.Join(t.columns, ", "))
	for first := int64(1); first <= t.ids; first += chunk {
		to := min(first+chunk, t.ids+1)
		if !done[first] {
			err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				r := newReader(t.rows(first, to))
				defer r.stop()
				if _, err := conn.PgConn().CopyFrom(ctx, r, into); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `INSERT INTO latlab.load VALUES ($1, $2)`, t.name, first)
				return err
			})
			if err != nil {
				return fmt.Errorf("data: %s from id %d: %w; run it again to go on from there", t.name, first, err)
			}
		}
		progress(Progress{Table: t.name, Rows: to - 1, Of: t.ids})
	}
	return nil
}

// reader reads lines as they are made.
type reader struct {
	next func() ([]byte, bool)
	stop func()
	rest []byte
}

func newReader(lines iter.Seq[[]byte]) *reader {
	next, stop := iter.Pull(lines)
	return &reader{next: next, stop: stop}
}

func (r *reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) == 0 {
			line, ok := r.next()
			if !ok {
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
			r.rest = line
		}
		c := copy(p[n:], r.rest)
		r.rest = r.rest[c:]
		n += c
	}
	return n, nil
}
