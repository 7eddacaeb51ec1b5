package postgis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"latlab.example/spatial/data"
)

// Database is the database's name, and User the superuser's.
const (
	Database = "latlab"
	User     = "postgres"
)

// settings of the cluster. The rest are the release's own.
const settings = `
# of latlab
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 250
shared_buffers = '256MB'
fsync = off
synchronous_commit = off
full_page_writes = off
`

// Cluster is a private PostgreSQL in a folder.
type Cluster struct {
	dir string // absolute
	bin string
	own owner
}

// Up makes the cluster in the folder what it should be: there, running, with the
// data in it. steps gets a line for each step; nil drops them. Only one Up may
// work in a folder at a time.
//
// The error wraps ErrMissing or ErrFolder, or is that of a program, with what it
// said.
func Up(ctx context.Context, dir string, of data.Config, steps io.Writer) (*Cluster, error) {
	if steps == nil {
		steps = io.Discard
	}
	c, err := open(dir)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	step := func(format string, args ...any) {
		// Who doesn't want to read the steps need not stop them.
		_, _ = fmt.Fprintf(steps, "%5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	if err := c.init(ctx, step); err != nil {
		return nil, err
	}
	if err := c.start(ctx, step); err != nil {
		return nil, err
	}
	if err := c.fill(ctx, of, step); err != nil {
		return nil, err
	}
	step("ready: %s", of)
	return c, nil
}

// Open is the cluster that an earlier Up made in the folder.
func Open(dir string) (*Cluster, error) {
	c, err := open(dir)
	if err != nil {
		return nil, err
	}
	if !c.made() {
		return nil, fmt.Errorf("postgis: %s: %w: there is none", dir, ErrFolder)
	}
	return c, nil
}

func open(dir string) (*Cluster, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	own, err := newOwner()
	if err != nil {
		return nil, err
	}
	// A socket's address has 108 bytes on Linux and 104 elsewhere.
	if longest := 104 - len("/.s.PGSQL.5432") - 1; len(dir) > longest {
		return nil, fmt.Errorf("postgis: %s: %w: its name has %d bytes, and a socket there may have %d; choose a shorter one", dir, ErrFolder, len(dir), longest)
	}
	return &Cluster{dir: dir, bin: bin, own: own}, nil
}

// DSN is a connection string for pgx, psql and pgbench.
func (c *Cluster) DSN() string {
	return "postgres:///" + Database + "?host=" + url.QueryEscape(c.dir) + "&user=" + User
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) made() bool {
	_, err := os.Stat(filepath.Join(c.data(), "PG_VERSION"))
	return err == nil
}

const halfMade = "half-" // begins the names of files that init is making

// init makes the cluster's files under another name, so that half of them are
// never taken for a cluster.
func (c *Cluster) init(ctx context.Context, step func(string, ...any)) error {
	if c.made() {
		return nil
	}
	if entries, err := os.ReadDir(c.dir); err == nil {
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), halfMade) {
				if err := os.RemoveAll(filepath.Join(c.dir, e.Name())); err != nil {
					return fmt.Errorf("postgis: what an earlier run left: %w", err)
				}
			} else if e.Name() != "log" {
				return fmt.Errorf("postgis: %s: %w: there is %s in it, which isn't a cluster's; choose an empty folder, or a new one", c.dir, ErrFolder, e.Name())
			}
		}
	} else if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("postgis: %w: %w", ErrFolder, err)
	}
	if err := c.own.take(c.dir); err != nil {
		return fmt.Errorf("postgis: %s: %w: %w", c.dir, ErrFolder, err)
	}
	// A name of its own, as an initdb whose caller was killed may still be at work.
	half := filepath.Join(c.dir, halfMade+strconv.FormatInt(time.Now().UnixNano(), 36))
	step("initdb in %s", c.dir)
	if err := c.run(ctx, "initdb", "-D", half, "-U", User, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(half, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(settings)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(half, c.data())
	}
	if err != nil {
		return fmt.Errorf("postgis: settings: %w", err)
	}
	return nil
}

// patience is how long a server may take to start or to recover.
const patience = time.Minute

// start starts the server, or waits for one that an earlier run has started: if
// that was killed meanwhile, its pg_ctl may still be at work.
func (c *Cluster) start(ctx context.Context, step func(string, ...any)) error {
	var failed error
	if c.run(ctx, "pg_ctl", "status", "-D", c.data()) == nil {
		step("it runs already")
	} else {
		step("start")
		failed = c.run(ctx, "pg_ctl", "start", "-w", "-t", "60", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-o", "-k '"+strings.ReplaceAll(c.dir, "'", `'\''`)+"'")
	}
	for end := time.Now().Add(patience); ; {
		conn, err := c.connect(ctx, "postgres")
		if err == nil {
			return conn.Close(ctx)
		}
		running := c.run(ctx, "pg_ctl", "status", "-D", c.data()) == nil
		if failed == nil {
			failed = err
		}
		if !running || time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%w; its log is %s", failed, filepath.Join(c.dir, "log"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fill makes the database and loads the data.
func (c *Cluster) fill(ctx context.Context, of data.Config, step func(string, ...any)) error {
	conn, err := c.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	var there bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, Database).Scan(&there)
	if err == nil && !there {
		step("database %s", Database)
		_, err = conn.Exec(ctx, `CREATE DATABASE `+Database)
	}
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("postgis: database: %w", err)
	}
	if conn, err = c.connect(ctx, Database); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS postgis`)
	if err == nil {
		err = data.Load(ctx, conn, of, func(p data.Progress) { step("%s", p) })
	}
	if err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return fmt.Errorf("postgis: %w", err)
	}
	return nil
}

func (c *Cluster) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, strings.Replace(c.DSN(), "///"+Database, "///"+database, 1))
	if err != nil {
		return nil, fmt.Errorf("postgis: connect: %w", err)
	}
	return conn, nil
}

// Down stops the server, if it runs. Its connections are closed.
func (c *Cluster) Down(ctx context.Context) error {
	if c.run(ctx, "pg_ctl", "status", "-D", c.data()) != nil {
		return nil
	}
	return c.run(ctx, "pg_ctl", "stop", "-w", "-m", "fast", "-D", c.data())
}

// run runs one of PostgreSQL's programs as the cluster's owner.
func (c *Cluster) run(ctx context.Context, name string, args ...string) error {
	cmd := c.own.command(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir // the caller's own folder may be closed to the owner
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	// A file and not a pipe: the server inherits it, and a pipe would be waited
	// for until that ends. It has no name, so that a kill leaves nothing behind.
	out, err := os.CreateTemp("", "latlab-postgis")
	if err != nil {
		return fmt.Errorf("postgis: %w", err)
	}
	defer out.Close()
	if err := os.Remove(out.Name()); err != nil {
		return fmt.Errorf("postgis: %w", err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := io.ReadAll(io.NewSectionReader(out, 0, 64<<10)) // the error above matters more
		return fmt.Errorf("postgis: %s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	return nil
}
