package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"latlab.example/spatial"
)

const (
	seoulLon, seoulLat = 126.978, 37.5665
)

// Operations is the table.
var Operations = append(searches(), []Operation{
	{Name: "guides at places", Do: query(spatial.GuidesAt, []int64{1, 5, 77, 1000, 1000, -3, 99999999})},
	{Name: "guides by id", Do: query(spatial.GuidesByID, []int64{3, 1, 2, 2, 0, 99999999})},
	{Name: "guides by no id", Want: "0 rows, 00000000", Do: query(spatial.GuidesByID, []int64{})},
	{Name: "locations by id, odd names among them", Do: query(spatial.LocationsByID, ids(1, 200))},
	{Name: "media of a guide", Do: query(spatial.MediaOf, 7)},
	{Name: "media of no guide", Want: "0 rows, 00000000", Do: query(spatial.MediaOf, -1)},
	{Name: "media of many guides", Do: query(spatial.MediaOfAll, ids(1, 99))},
	{Name: "counts", Do: query(spatial.Counts)},
	{Name: "burn", Do: query(spatial.Burn, 1000)},
	{Name: "sleep", Do: query(spatial.Sleep, 0.001)},

	{Name: "empty statement", Do: exec("-- ping")},
	{Name: "two statements in one text", Want: "SELECT 1", Do: exec("select 1; select 1;")},
	{Name: "syntax error", Want: "ERROR 42601", Do: exec("selec 1")},
	{Name: "text that doesn't end", Want: "ERROR 42601", Do: exec("select 'x")},
	{Name: "unknown table", Want: "ERROR 42P01", Differs: true, Note: "the fake has no other tables: 0A000", Do: exec("select * from nowhere")},
	{Name: "unknown setting", Want: "ERROR 42704", Do: exec("show nothing_at_all")},
	{Name: "two statements, prepared", Want: "ERROR 42601", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		_, err := c.Prepare(ctx, "two", "select 1; select 1")
		return "prepared", err
	}},
	{Name: "a statement prepared twice", Want: "ERROR 42P05", Note: "what a transaction pooler makes of two clients", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		for range 2 {
			if _, err := c.PgConn().Prepare(ctx, "twice", spatial.MediaOf, nil); err != nil {
				return "", err
			}
		}
		return "prepared", nil
	}},
	{Name: "deallocate and prepare again", Want: "prepared", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		for range 2 {
			if _, err := c.PgConn().Prepare(ctx, "again", spatial.MediaOf, nil); err != nil {
				return "", err
			}
			if err := c.PgConn().Deallocate(ctx, "again"); err != nil {
				return "", err
			}
		}
		return "prepared", nil
	}},
	{Name: "deallocate in SQL what isn't there", Want: "ERROR 26000", Do: exec("deallocate nothing")},
	{Name: "a prepared statement that isn't there", Want: "ERROR 26000", Do: prepared("", "missing", nil)},
	{Name: "too few parameters", Want: "ERROR 08P01", Do: prepared(spatial.MediaOf, "few", nil)},
	{Name: "a number that is none", Want: "ERROR 22P02", Do: prepared(spatial.MediaOf, "text", []int16{0}, []byte("x"))},
	{Name: "a number of three bytes", Want: "ERROR 08P01", Do: prepared(spatial.MediaOf, "bytes", []int16{1}, []byte{1, 2, 3})},
	{Name: "types of parameters and columns", Want: "[701 701 701 20] [id:20 name:25 lon:701 lat:701 meters:701]", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		d, err := c.Prepare(ctx, "types", spatial.SearchRadius)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for i, f := range d.Fields {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%s:%d", f.Name, f.DataTypeOID)
		}
		return fmt.Sprintf("%v [%s]", d.ParamOIDs, b.String()), nil
	}},

	{Name: "a transaction", Want: "T I", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		tx, err := c.Begin(ctx)
		if err != nil {
			return "", err
		}
		in := c.PgConn().TxStatus()
		if _, err := tx.Exec(ctx, "select 1"); err != nil {
			return "", err
		}
		err = tx.Commit(ctx)
		return fmt.Sprintf("%c %c", in, c.PgConn().TxStatus()), err
	}},
	{Name: "after an error in a transaction", Want: "E: ERROR 25P02, then I", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		tx, err := c.Begin(ctx)
		if err != nil {
			return "", err
		}
		if _, err := tx.Exec(ctx, "selec 1"); err == nil {
			return "no error", nil
		}
		status := c.PgConn().TxStatus()
		_, failed := tx.Exec(ctx, spatial.MediaOf, 1)
		if failed == nil {
			return "no error", nil
		}
		err = tx.Rollback(ctx)
		return fmt.Sprintf("%c: %s, then %c", status, Outcome(failed), c.PgConn().TxStatus()), err
	}},
	{Name: "commit of a failed transaction", Want: "ROLLBACK", Do: exec("begin", "!selec 1", "commit")},
	{Name: "rows in portions", Want: "3 suspended, 3 suspended, 2 SELECT 2", Do: portions},
	{Name: "the connection after an error", Want: "1 rows, 8784154d", Do: func(ctx context.Context, c *pgx.Conn, t Target) (string, error) {
		for range 3 {
			if _, err := query(spatial.MediaOf, "x")(ctx, c, t); err == nil {
				return "no error", nil
			}
			if _, err := c.Exec(ctx, "selec 1"); err == nil {
				return "no error", nil
			}
		}
		return query("select 1")(ctx, c, t)
	}},

	{Name: "cancel a statement that runs", Want: "ERROR 57014, then 1 rows, 8784154d", Do: func(ctx context.Context, c *pgx.Conn, t Target) (string, error) {
		return canceled(ctx, c, t, func(ctx context.Context) error { return c.PgConn().CancelRequest(ctx) })
	}},
	{Name: "cancel from another connection in SQL", Want: "ERROR 57014, then 1 rows, 8784154d", Do: func(ctx context.Context, c *pgx.Conn, t Target) (string, error) {
		return canceled(ctx, c, t, func(ctx context.Context) error { return signal(ctx, c, t, "select pg_cancel_backend($1)") })
	}},
	{Name: "a cancel that nothing is there for", Want: "1 rows, 8784154d", Do: func(ctx context.Context, c *pgx.Conn, t Target) (string, error) {
		if err := c.PgConn().CancelRequest(ctx); err != nil {
			return "", err
		}
		// The signal comes when it will; a real server may take a moment.
		if _, err := query(spatial.Sleep, 0.05)(ctx, c, t); err != nil && Outcome(err) != "ERROR 57014" {
			return "", err
		}
		return query("select 1")(ctx, c, t)
	}},
	{Name: "terminate a connection", Want: "FATAL 57P01, closed", Do: func(ctx context.Context, c *pgx.Conn, t Target) (string, error) {
		failed := make(chan error, 1)
		go func() {
			_, err := query(spatial.Sleep, 20.0)(ctx, c, t)
			failed <- err
		}()
		if err := signal(ctx, c, t, "select pg_terminate_backend($1)"); err != nil {
			return "", err
		}
		err := <-failed
		if err == nil {
			return "no error", nil
		}
		if c.IsClosed() {
			return Outcome(err) + ", closed", nil
		}
		return Outcome(err) + ", open", nil
	}},
	{Name: "a client that gives up", Want: "hangs, closed", Note: "pgx closes the connection when a context ends", Do: func(ctx context.Context, c *pgx.Conn, t Target) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := query(spatial.Sleep, 1.0)(ctx, c, t)
		if err == nil {
			return "no error", nil
		}
		for !c.IsClosed() {
			select {
			case <-c.PgConn().CleanupDone():
			case <-time.After(limit):
				return Outcome(err) + ", open", nil
			}
		}
		return Outcome(err) + ", closed", nil
	}},
	{Name: "a batch", Want: "SELECT 1 SELECT 0 ERROR 22P02 ERROR 22P02", Note: "after an error the rest of a batch isn't run", Do: func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		b := &pgx.Batch{}
		b.Queue("select 1")
		b.Queue(spatial.MediaOf, -1)
		b.Queue(spatial.MediaOf, "x")
		b.Queue("select 1")
		r := c.SendBatch(ctx, b)
		defer r.Close()
		var out []string
		for range b.Len() {
			tag, err := r.Exec()
			if err != nil {
				out = append(out, Outcome(err))
				continue
			}
			out = append(out, tag.String())
		}
		return strings.Join(out, " "), nil
	}},
}...)

// searches are the searches, in all ways that the client knows and at all places
// where mistakes are made.
func searches() (all []Operation) {
	for _, m := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		all = append(all,
			Operation{Name: "search, " + m.String(), Do: query(spatial.SearchRadius, m, seoulLon, seoulLat, 5000.0, 100)},
			Operation{Name: "search south-west, " + m.String(), Do: query(spatial.SearchRadius, m, -77.0428, -12.0464, 20000.0, 100)},
			Operation{Name: "guides by id, " + m.String(), Do: query(spatial.GuidesByID, m, []int64{1, 2, 3})})
	}
	null := any(nil)
	for _, q := range []struct {
		name             string
		lon, lat, radius any
		limit            any
	}{
		{"zero radius, three places there", seoulLon, seoulLat, 0.0, 100},
		{"zero radius, none there", 1.5, 1.5, 0.0, 100},
		{"negative radius", seoulLon, seoulLat, -1.0, 100},
		{"a place at the edge", seoulLon, seoulLat, 883.46965894, 100},
		{"ties", seoulLon, seoulLat, 8000.0, 1000},
		{"a tie that is cut", seoulLon, seoulLat, 8000.0, 2},
		{"north pole", 0.0, 90.0, 100.0, 100},
		{"north pole by another longitude", 77.0, 90.0, 100.0, 100},
		{"south pole", 0.0, -90.0, 50000.0, 100},
		{"near the north pole, over it", 10.0, 89.99, 5000.0, 100},
		{"antimeridian from the east", -179.999, -16.85, 20000.0, 100},
		{"antimeridian from the west", 179.999, -16.85, 20000.0, 100},
		{"on the antimeridian", 180.0, 0.0, 2000.0, 100},
		{"nowhere", -30.0, -40.0, 5000.0, 100},
		{"a far radius", seoulLon, seoulLat, 10_000_000.0, 100},
		{"the whole earth", seoulLon, seoulLat, 20_003_932.0, 100},
		{"the whole earth from the other side", -53.022, -37.5665, 20_003_932.0, 100},
		{"no row", seoulLon, seoulLat, 5000.0, 0},
		{"one row", seoulLon, seoulLat, 5000.0, 1},
		{"negative limit", seoulLon, seoulLat, 5000.0, -1},
		{"many rows", seoulLon, seoulLat, 50000.0, 3000},
		{"null centre", null, seoulLat, 5000.0, 100},
		{"null radius", seoulLon, seoulLat, null, 100},
		{"null limit", -21.9426, 64.1466, 1000.0, null},
		{"infinite radius", 126.5, 33.5, math.Inf(1), 10},
		{"longitude beyond 180", 126.978 + 360, seoulLat, 1000.0, 100},
		{"latitude beyond 90", -53.022, 180 - seoulLat, 1000.0, 100},
	} {
		all = append(all,
			Operation{Name: q.name, Do: query(spatial.SearchRadius, q.lon, q.lat, q.radius, q.limit)},
			Operation{Name: q.name + ", sorted", Do: query(spatial.SearchSorted, q.lon, q.lat, q.radius, q.limit)},
			Operation{Name: q.name + ", nearest", Do: query(spatial.SearchNearest, q.lon, q.lat, q.radius, q.limit)})
	}
	return append(all,
		Operation{
			Name: "on the antimeridian, the other name", Want: "ERROR XX000", Differs: true,
			Note: "PostGIS 3.3 says that its index returned tuples in wrong order, as that puts a point at 180 farther away than it is; the fake answers",
			Do:   query(spatial.SearchRadius, -180.0, 0.0, 2000.0, 100),
		},
		Operation{Name: "on the antimeridian, the other name, sorted", Do: query(spatial.SearchSorted, -180.0, 0.0, 2000.0, 100)},
		Operation{Name: "by a cast", Do: query(spatial.SearchCast, seoulLon, seoulLat, 5000.0, 100)},
		Operation{Name: "in a box", Do: query(spatial.SearchBox, seoulLon, seoulLat, 2000.0, 100, 126.95, 37.54, 127.01, 37.59)},
		Operation{Name: "in a box that is too small", Do: query(spatial.SearchBox, seoulLon, seoulLat, 2000.0, 100, 126.978, 37.5665, 126.988, 37.57)},
		Operation{Name: "in a box that is a point", Do: query(spatial.SearchBox, seoulLon, seoulLat, 2000.0, 100, 126.988, 37.5665, 126.988, 37.5665)},
		Operation{Name: "in a box across the antimeridian", Do: query(spatial.SearchBox, 179.99, -16.85, 20000.0, 100, 179.7, -17.1, 180.3, -16.6)},
	)
}

func ids(from, to int64) (list []int64) {
	for ; from <= to; from++ {
		list = append(list, from)
	}
	return list
}

type step = func(ctx context.Context, c *pgx.Conn, t Target) (string, error)

func query(sql string, args ...any) step {
	return func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		rows, err := c.Query(ctx, sql, args...)
		if err != nil {
			return "", err
		}
		return Digest(rows)
	}
}

// exec runs texts by the simple protocol and gives the last tag. One that begins
// with ! has to fail.
func exec(texts ...string) step {
	return func(ctx context.Context, c *pgx.Conn, _ Target) (last string, _ error) {
		for _, text := range texts {
			text, fails := strings.CutPrefix(text, "!")
			results, err := c.PgConn().Exec(ctx, text).ReadAll()
			switch {
			case (err != nil) != fails:
				return "", err
			case err != nil:
			case len(results) == 0:
				last = "no rows"
			default:
				last = results[len(results)-1].CommandTag.String()
			}
		}
		return last, nil
	}
}

func prepared(sql, name string, formats []int16, args ...[]byte) step {
	return func(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
		if sql != "" {
			if _, err := c.PgConn().Prepare(ctx, name, sql, nil); err != nil {
				return "", err
			}
		}
		r := c.PgConn().ExecPrepared(ctx, name, args, formats, nil).Read()
		return r.CommandTag.String(), r.Err
	}
}

// canceled runs a long statement, sends the signal until it ends, and gives how
// it and a short one after it ended.
func canceled(ctx context.Context, c *pgx.Conn, t Target, send func(context.Context) error) (string, error) {
	failed := make(chan error, 1)
	go func() {
		_, err := query(spatial.Sleep, 20.0)(ctx, c, t)
		failed <- err
	}()
	for {
		if err := send(ctx); err != nil {
			return "", err
		}
		select {
		case err := <-failed:
			if err == nil {
				return "no error", nil
			}
			// A second signal may have been on its way.
			after, err2 := query("select 1")(ctx, c, t)
			for tries := 0; err2 != nil && Outcome(err2) == "ERROR 57014" && tries < 3; tries++ {
				after, err2 = query("select 1")(ctx, c, t)
			}
			return Outcome(err) + ", then " + after, err2
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signal sends a signal to c from another connection.
func signal(ctx context.Context, c *pgx.Conn, t Target, sql string) error {
	other, err := t.Connect(ctx, nil)
	if err != nil {
		return err
	}
	var sent bool
	err = other.QueryRow(ctx, sql, int32(c.PgConn().PID())).Scan(&sent)
	if err == nil && !sent {
		err = errors.New("no such connection")
	}
	return errors.Join(err, other.Close(ctx))
}

// portions fetches the rows of a portal three at a time.
func portions(ctx context.Context, c *pgx.Conn, _ Target) (string, error) {
	hijacked, err := c.PgConn().Hijack()
	if err != nil {
		return "", err
	}
	defer hijacked.Conn.Close()
	deadline, _ := ctx.Deadline()
	if err := hijacked.Conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	f := hijacked.Frontend
	f.SendParse(&pgproto3.Parse{Query: spatial.LocationsByID})
	f.SendBind(&pgproto3.Bind{Parameters: [][]byte{[]byte("{1,2,3,4,5,6,7,8}")}})
	for range 3 {
		f.SendExecute(&pgproto3.Execute{MaxRows: 3})
	}
	f.SendSync(&pgproto3.Sync{})
	if err := f.Flush(); err != nil {
		return "", err
	}
	var out []string
	rows := 0
	for {
		msg, err := f.Receive()
		if err != nil {
			return "", err
		}
		switch msg := msg.(type) {
		case *pgproto3.DataRow:
			rows++
		case *pgproto3.PortalSuspended:
			out, rows = append(out, fmt.Sprintf("%d suspended", rows)), 0
		case *pgproto3.CommandComplete:
			out, rows = append(out, fmt.Sprintf("%d %s", rows, msg.CommandTag)), 0
		case *pgproto3.ErrorResponse:
			return "", pgconn.ErrorResponseToPgError(msg)
		case *pgproto3.ReadyForQuery:
			return strings.Join(out, ", "), nil
		}
	}
}
