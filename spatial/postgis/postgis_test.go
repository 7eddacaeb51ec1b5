package postgis_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"latlab.example/common/lab/labtest"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/postgis"
)

// folder is one that user postgres can enter, unlike the test's own.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "latlab-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func need(t *testing.T) {
	t.Helper()
	if _, err := postgis.Find(); err != nil {
		labtest.Require(t, "postgis", err)
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// digest is the same for the same rows and indexes, in whatever order they came.
func digest(t *testing.T, c *pgx.Conn) (text string) {
	t.Helper()
	err := c.QueryRow(t.Context(), `
		SELECT concat_ws(' ',
			(SELECT count(*) || ':' || sum(hashtextextended(l::text, 0)) FROM latlab.location l),
			(SELECT count(*) || ':' || sum(hashtextextended(g::text, 0)) FROM latlab.guide g),
			(SELECT count(*) || ':' || sum(hashtextextended(m::text, 0)) FROM latlab.media m),
			(SELECT string_agg(indexname, ',' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'latlab' AND indexname NOT LIKE 'load%'),
			(SELECT complete FROM latlab.load_of))`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The command, killed at one step after the other, ends the same as a load that
// nobody disturbed.
func TestKilledAndRunAgain(t *testing.T) {
	need(t)
	bin := filepath.Join(t.TempDir(), "postgis")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../cmd/postgis").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := folder(t)
	of := data.Config{Seed: 1, Locations: 110_000, Guides: 30_000}
	t.Cleanup(func() {
		if c, err := postgis.Open(dir); err == nil {
			if err := c.Down(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	// up runs until a line with the text, kills it there, and says which lines came.
	up := func(until string) (lines []string) {
		cmd := exec.CommandContext(t.Context(), bin, "up", "-dir", dir, "-locations", "110000", "-guides", "30000")
		steps, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killed := false
		for s := bufio.NewScanner(steps); s.Scan(); {
			lines = append(lines, s.Text())
			if until != "" && strings.Contains(s.Text(), until) && !killed {
				killed = true
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); (err != nil) != (until != "") || killed != (until != "") {
			t.Fatalf("up until %q: %v; it said %s", until, err, strings.Join(lines, "\n"))
		}
		return lines
	}
	for _, until := range []string{"initdb", "start", "location: 50000", "guide: 25000", "indexes"} {
		up(until)
	}
	last := strings.Join(up(""), "\n")
	if !strings.Contains(last, "runs already") || strings.Contains(last, "initdb") {
		t.Errorf("the last run said\n%s", last)
	}
	if again := strings.Join(up(""), "\n"); !strings.Contains(again, "everything is there already") {
		t.Errorf("one more run said\n%s", again)
	}

	c, err := postgis.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, c.DSN())
	got := digest(t, conn)
	if _, err := conn.Exec(t.Context(), spatial.DropSchema); err != nil {
		t.Fatal(err)
	}
	if err := data.Load(t.Context(), conn, of, nil); err != nil {
		t.Fatal(err)
	}
	if want := digest(t, conn); got != want {
		t.Errorf("killed and run again:\n%s\nundisturbed:\n%s", got, want)
	}

	// What the schema holds is compared with what is asked for.
	loaded, ok, err := data.Loaded(t.Context(), conn)
	if err != nil || !ok || loaded != of {
		t.Errorf("loaded: %v, %v, %v, want %v", loaded, ok, err, of)
	}
	other := of
	other.Seed++
	if err := data.Load(t.Context(), conn, other, nil); !errors.Is(err, data.ErrOther) {
		t.Errorf("other data: %v, want ErrOther", err)
	}
	if _, err := conn.Exec(t.Context(), `DROP TABLE latlab.load_of`); err != nil {
		t.Fatal(err)
	}
	if err := data.Load(t.Context(), conn, of, nil); !errors.Is(err, data.ErrOther) {
		t.Errorf("rows of somebody else: %v, want ErrOther", err)
	}
	if _, ok, err := data.Loaded(t.Context(), conn); ok || err != nil {
		t.Errorf("loaded by somebody else: %v, %v", ok, err)
	}
	if err := data.Load(t.Context(), connect(t, strings.Replace(c.DSN(), "///latlab", "///template1", 1)), of, nil); !errors.Is(err, data.ErrNoPostGIS) {
		t.Errorf("a database without the extension: %v, want ErrNoPostGIS", err)
	}
	checkRows(t, conn, of)
}

// checkRows compares rows of the database with those that the generator makes,
// odd names among them.
func checkRows(t *testing.T, c *pgx.Conn, of data.Config) {
	t.Helper()
	rows, err := c.Query(t.Context(), spatial.LocationsByID, []int64{1, 7, 29, 57, 79, 81, 97, 63, 113, 50_000, 110_000})
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[spatial.Location])
	if err != nil || len(all) != 11 {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	for _, l := range all {
		if want := of.Location(l.ID); l != want {
			t.Errorf("%+v, want %+v", l, want)
		}
	}
	var media int64
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM latlab.media`).Scan(&media); err != nil || media != of.AllMedia() {
		t.Errorf("%d media, %v, want %d", media, err, of.AllMedia())
	}
}

// The command runs a command and leaves nothing behind.
func TestRun(t *testing.T) {
	need(t)
	tmp := folder(t)
	if err := os.Chmod(tmp, 0o777); err != nil { // the cluster's owner has to get in
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "../cmd/postgis", "run", "-locations", "3000", "-guides", "300", "--", "sh", "-c", `echo "$LATLAB_POSTGIS"; exit 7`)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "postgres:///latlab?host=") || !strings.Contains(string(out), "exit status 7") {
		t.Errorf("%v: %s", err, out)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "latlab-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFoldersThatCannotBe(t *testing.T) {
	need(t)
	full := folder(t)
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"with other files": full,
		"a long name":      filepath.Join(full, strings.Repeat("x", 120)),
	} {
		if _, err := postgis.Up(t.Context(), dir, data.Small(), nil); !errors.Is(err, postgis.ErrFolder) {
			t.Errorf("%s: %v, want ErrFolder", name, err)
		}
	}
	if _, err := postgis.Open(folder(t)); !errors.Is(err, postgis.ErrFolder) {
		t.Errorf("no cluster there: %v, want ErrFolder", err)
	}
	if err := os.Remove(filepath.Join(full, "thesis.tex")); err != nil {
		t.Errorf("Up touched what isn't its own: %v", err)
	}
}
