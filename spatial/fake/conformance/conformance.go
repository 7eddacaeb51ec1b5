// Package conformance is one table of operations that run on the fake and on a
// real PostGIS with the same data, through the real client. What each gives is a
// short text, so that the two can stand side by side: in a test, which wants
// them equal, and on a page, which [WriteMarkdown] writes.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"latlab.example/spatial"
)

// Target is a server to run the table on.
type Target struct {
	Name string
	Fake bool
	// Connect makes a connection that the caller closes. change may be nil.
	Connect func(ctx context.Context, change func(*pgx.ConnConfig)) (*pgx.Conn, error)
}

// At is a target by its connection string.
func At(name, dsn string, fake bool) Target {
	return Target{Name: name, Fake: fake, Connect: func(ctx context.Context, change func(*pgx.ConnConfig)) (*pgx.Conn, error) {
		pool, err := spatial.ParsePool(dsn)
		if err != nil {
			return nil, err
		}
		cfg := pool.ConnConfig
		if change != nil {
			change(cfg)
		}
		return pgx.ConnectConfig(ctx, cfg)
	}}
}

// Operation is a row of the table.
type Operation struct {
	Name string
	// Want is what it gives; empty if that depends on the data, so that only a
	// second target tells whether it is right.
	Want string
	// Differs says that the fake gives something else, which Note explains.
	Differs bool
	Note    string
	Do      func(ctx context.Context, c *pgx.Conn, t Target) (string, error)
}

// limit is how long an operation may take, so that a hang is a result, too.
const limit = 30 * time.Second

// Run does the operation on a connection of its own and gives its outcome: a
// count of rows and a digest, or the code of the SQL error.
func (o Operation) Run(ctx context.Context, t Target) string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := t.Connect(ctx, nil)
	if err != nil {
		return "no connection: " + err.Error()
	}
	got, err := o.Do(ctx, c, t)
	if err != nil {
		got = Outcome(err)
	}
	_ = c.Close(ctx) // some operations have broken it
	return got
}

// WantOn is what the operation should give on a target; empty if the table
// doesn't know.
func (o Operation) WantOn(t Target) string {
	if t.Fake && o.Differs {
		return ""
	}
	return o.Want
}

// Outcome is the text for an error: the code if it is a SQL error.
func Outcome(err error) string {
	var sql *pgconn.PgError
	switch {
	case errors.As(err, &sql):
		return sql.Severity + " " + sql.Code
	case errors.Is(err, context.DeadlineExceeded):
		return "hangs"
	}
	return "error: " + err.Error()
}

// Digest counts the rows of an answer and hashes all of their text but that of
// the column meters, which it adds up. Rows with meters count in any order:
// where two lie at one distance on opposite sides, PostGIS goes by the last digit
// of a sine.
func Digest(rows pgx.Rows) (string, error) {
	defer rows.Close()
	var lines []string
	var meters float64
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return "", err
		}
		var line strings.Builder
		for i, v := range values {
			if f, ok := v.(float64); ok && rows.FieldDescriptions()[i].Name == "meters" {
				meters += f
				continue
			}
			fmt.Fprintf(&line, "%v\x00", v)
		}
		lines = append(lines, line.String())
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d rows", len(lines))
	if f := rows.FieldDescriptions(); len(f) > 0 && f[len(f)-1].Name == "meters" {
		slices.Sort(lines)
		text += fmt.Sprintf(", %.2f m", meters)
	}
	return fmt.Sprintf("%s, %08x", text, crc32.ChecksumIEEE([]byte(strings.Join(lines, "\n")))), nil
}

// WriteMarkdown runs the table on all targets and writes it: a row an operation,
// a column a target. The error is that of w.
func WriteMarkdown(ctx context.Context, w io.Writer, targets ...Target) error {
	var b strings.Builder
	b.WriteString("| operation |")
	for _, t := range targets {
		b.WriteString(" " + t.Name + " |")
	}
	b.WriteString(" note |\n|---|" + strings.Repeat("---|", len(targets)+1) + "\n")
	for _, o := range Operations {
		b.WriteString("| " + o.Name + " |")
		for _, t := range targets {
			b.WriteString(" " + strings.ReplaceAll(o.Run(ctx, t), "|", `\|`) + " |")
		}
		b.WriteString(" " + o.Note + " |\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
