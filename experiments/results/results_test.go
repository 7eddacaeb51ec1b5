package results

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"latlab.example/common/host"
	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
	"latlab.example/experiments/stats"
)

var testHost = host.Fingerprint{OS: "test"}

func run(t *testing.T, e lab.Experiment, rig string, seed uint64, blocks int) runner.Set {
	t.Helper()
	r, err := e.Rig(rig)
	if err != nil {
		t.Fatal(err)
	}
	arms, err := e.Arms(r, lab.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := runner.Run(t.Context(), runner.Config{Seed: seed, Blocks: blocks, Budget: time.Hour, Host: testHost}, e, r, arms)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write1(t *testing.T, dir string, s runner.Set) string {
	t.Helper()
	paths, err := Write(dir, s, Build{Commit: "abc", Go: runtime.Version()})
	if err != nil || len(paths) != 1 {
		t.Fatalf("Write = %v, %v; want one file", paths, err)
	}
	return paths[0]
}

func TestWriteThenRead(t *testing.T) {
	dir := t.TempDir()
	s := run(t, toy.Speed, "model", 3, 4)
	path := write1(t, dir, s)
	want := filepath.Join(dir, "modelled", "toy-speed", s.Start.UTC().Format("20060102T150405Z")+"-model.txt")
	if path != want {
		t.Errorf("path %s; want %s", path, want)
	}
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Config{Provenance: lab.Modelled, Rig: "model", Host: "virtual-time", Experiment: "toy/speed"}); f.Config != want {
		t.Errorf("config %+v; want %+v", f.Config, want)
	}
	if want := toy.Speed.AllUnits(); !reflect.DeepEqual(f.Units, want) {
		t.Errorf("units %+v; want %+v", f.Units, want)
	}
	if len(f.Names) != len(s.Rows)-1 {
		t.Errorf("arms %v; want those of the set without the control", f.Names)
	}
	for _, r := range s.Rows[:len(s.Rows)-1] {
		for _, u := range f.Units {
			_, want := r.Values(u)
			i := slices.IndexFunc(f.Names, func(n string) bool { return strings.Contains(n, r.Arm.String()+"-") })
			if i < 0 {
				t.Fatalf("no arm %s in %v", r.Arm, f.Names)
			}
			if got := f.Sample(f.Names[i], u); got.Provenance != lab.Modelled || !slices.EqualFunc(got.Values, want, same) {
				t.Errorf("%s %s: read %v; want %v", r.Arm, u.Name, got.Values, want)
			}
		}
	}
}

// same allows for the last digits, which benchfmt changes when it turns ns into
// seconds.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-14*math.Abs(b) }

func TestMeta(t *testing.T) {
	noted := toy.Speed
	noted.Note = "an operation is a put of all keys"
	s := run(t, noted, "picky", 1<<63, 3)
	s.Rows[0].Trials[1].Dirty = "others used 1.00 of a core"
	path := write1(t, t.TempDir(), s)
	text, err := os.ReadFile(strings.TrimSuffix(path, ".txt") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var m Meta
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.Build.Commit != "abc" || m.Build.Go != runtime.Version() || m.Seed != 1<<63 || m.Blocks != 3 || m.Planned != 3 ||
		m.Note != noted.Note || m.Provenance != "modelled" || m.Kind != "emulated" || m.HostID != testHost.ID() || !reflect.DeepEqual(m.Host, &testHost) {
		t.Errorf("meta %+v", m)
	}
	if len(m.Refused) != 1 || m.Refused[0].Arm != "strategy=batch/keys=100" || !strings.Contains(m.Refused[0].Reason, "got 80us") {
		t.Errorf("refused %+v; want the batch with its reason", m.Refused)
	}
	base, control := m.Arms[0], m.Arms[len(m.Arms)-1]
	if !control.Control || control.Arm != base.Arm || len(control.Trials) != 3 {
		t.Errorf("the last arm is %+v; want the control", control)
	}
	if base.Calibration != "asked for 50us, got 50us" || !slices.Equal(base.Assumptions, []string{"a toy fake"}) {
		t.Errorf("calibration %q, assumptions %q", base.Calibration, base.Assumptions)
	}
	if tr := base.Trials[1]; tr.Dirty == "" || tr.Noise == nil || tr.Seed != s.Rows[0].Trials[1].Result.Seed() {
		t.Errorf("trial %+v; want its dirty mark, noise and seed", tr)
	}
	// 3 trials of 10 operations: reserve, write, and a quarter that no stage covers.
	if base.Stages == nil || base.Stages.Stages[0].Dist.Count() != 30 {
		t.Errorf("stages %+v; want the histograms of 30 operations", base.Stages)
	}
	if last := base.Path[len(base.Path)-1]; last.Stage != "unattributed" || math.Abs(last.Percent-25) > 0.1 {
		t.Errorf("critical path %+v; want unattributed 25 %%", base.Path)
	}
}

// A real rig with a simulating level gives a file in each half, and none of the
// two holds the other's figures.
func TestBothProvenances(t *testing.T) {
	dir := t.TempDir()
	paths, err := Write(dir, run(t, toy.Locked, "disk", 1, 2), Build{})
	if err != nil || len(paths) != 2 {
		t.Fatalf("Write = %v, %v; want two files", paths, err)
	}
	for i, want := range []struct {
		prefix string
		p      lab.Provenance
		arm    string
	}{
		{filepath.Join(dir, "modelled", "toy-locked"), lab.Modelled, "lock=held"},
		{filepath.Join(dir, "measured", testHost.ID(), "toy-locked"), lab.Measured, "lock=none"},
	} {
		if filepath.Dir(paths[i]) != want.prefix {
			t.Errorf("path %s; want it in %s", paths[i], want.prefix)
		}
		text, err := os.ReadFile(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "provenance: "+want.p.String()+"\n") {
			t.Errorf("%s has no line provenance: %s:\n%s", paths[i], want.p, text)
		}
		f, err := ReadFile(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		if f.Config.Provenance != want.p || len(f.Names) != 1 || !strings.Contains(f.Names[0], want.arm) {
			t.Errorf("%s: %v of %v; want %v of %s", paths[i], f.Config.Provenance, f.Names, want.p, want.arm)
		}
	}
	both := filepath.Join(dir, "both.txt")
	a, _ := os.ReadFile(paths[0])
	b, _ := os.ReadFile(paths[1])
	if err := os.WriteFile(both, append(a, b...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(both); !errors.Is(err, stats.ErrMixed) {
		t.Errorf("a file of both: %v; want stats.ErrMixed", err)
	}
}

func TestWriteNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	s := run(t, toy.Speed, "model", 3, 1)
	first, second := write1(t, dir, s), write1(t, dir, s)
	if first == second || !strings.HasSuffix(second, "-model-2.txt") {
		t.Errorf("wrote %s, then %s; want another name", first, second)
	}
	// A .txt without its .json is somebody's too.
	if err := os.Remove(strings.TrimSuffix(first, ".txt") + ".json"); err != nil {
		t.Fatal(err)
	}
	if third := write1(t, dir, s); third == first {
		t.Errorf("wrote over %s", first)
	}
	entries, err := os.ReadDir(filepath.Dir(first))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("a temporary file is left: %s", e.Name())
		}
	}
}

func TestWriteNothing(t *testing.T) {
	dir := t.TempDir()
	paths, err := Write(dir, run(t, toy.Speed, "server", 1, 1), Build{})
	if entries, _ := os.ReadDir(dir); err != nil || len(paths) != 0 || len(entries) != 0 {
		t.Errorf("Write = %v, %v and left %v; want nothing", paths, err, entries)
	}
}

func TestWriteSaysWhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(file, run(t, toy.Speed, "model", 1, 1), Build{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("into a file: %v; want an error that names it", err)
	}
}

func TestReadRefuses(t *testing.T) {
	head := "provenance: modelled\nrig: a\nhost: h\nexperiment: x\n"
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"empty":         {"", ErrFile},
		"foreign":       {"BenchmarkX 1 5 ns/op\n", ErrFile},
		"no provenance": {"provenance: guessed\nBenchmarkX 1 5 ns/op\n", ErrFile},
		"bad line":      {head + "BenchmarkX 1 five ns/op\n", ErrFile},
		"two rigs":      {head + "BenchmarkX 1 5 ns/op\nrig: b\nBenchmarkX 1 5 ns/op\n", ErrFile},
		"mixed":         {head + "BenchmarkX 1 5 ns/op\nprovenance: measured\nBenchmarkX 1 5 ns/op\n", stats.ErrMixed},
	} {
		if _, err := Read(strings.NewReader(tt.text), "f.txt"); !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "f.txt") && !strings.Contains(err.Error(), "f.txt:") {
			t.Errorf("%s: %v; want %v with the file's name", name, err, tt.want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("provenance: modelled\nrig: a\nhost: h\nexperiment: x\nUnit sec/op better=lower\nBenchmarkX/a=b-2 1 5 ns/op 3 writes/op\n")
	f.Add("provenance: measured\nBenchmarkX 1 5 ns/op\nprovenance: modelled\nBenchmarkX 1 5 ns/op\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Read(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		if len(file.Names) == 0 {
			t.Error("a file without results was accepted")
		}
		for _, n := range file.Names {
			for _, u := range file.Units {
				if s := file.Sample(n, u); s.Provenance != file.Config.Provenance {
					t.Errorf("a sample is %v in a file that is %v", s.Provenance, file.Config.Provenance)
				}
			}
		}
	})
}

// Arms and figures of any value come back from a file as they went in.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	var ns int64
	var depth float64
	rig := lab.Virtual("any", []string{"a test"}, toy.Opens(func(_ context.Context, _ lab.Arm, tr *lab.Trial) error {
		tr.Ops, tr.Took = 1, time.Duration(ns)
		tr.Observe(toy.Depth, depth)
		return nil
	}))
	e := lab.Experiment{
		Name: "toy/any", Outcomes: []lab.Unit{toy.Depth},
		Factors: []lab.Factor{
			toy.Strategy, lab.NewFactor[lab.Bytes]("payload", 64, 4<<10),
			lab.Latency(50*time.Microsecond, 2*time.Millisecond), lab.NewFactor("ratio", 0.5, 1e-9),
		},
		Rigs: []lab.Rig{rig},
	}
	all, err := e.Arms(rig, lab.Selection{Cross: []string{"strategy", "payload", "latency", "ratio"}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(n uint32, d float64, which uint8) bool {
		ns, depth = int64(n)+1, d
		arm := all[int(which)%len(all)]
		s, err := runner.Run(t.Context(), runner.Config{Blocks: 1, Budget: time.Hour}, e, rig, []lab.Arm{arm})
		if err != nil {
			t.Fatal(err)
		}
		file, err := ReadFile(write1(t, dir, s))
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Names) != 1 {
			t.Logf("names %v; want one", file.Names)
			return false
		}
		again, err := armOf(e, rig, file.Names[0])
		if err != nil || again.String() != arm.String() {
			t.Logf("arm %v, %v; want %v", again, err, arm)
			return false
		}
		sec, dep := file.Sample(file.Names[0], lab.SecPerOp).Values, file.Sample(file.Names[0], toy.Depth).Values
		return len(sec) == 1 && same(sec[0], float64(ns)/1e9) && len(dep) == 1 && dep[0] == d
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 60}); err != nil {
		t.Error(err)
	}
}

// armOf reads a benchmark's name back.
func armOf(e lab.Experiment, r lab.Rig, name string) (lab.Arm, error) {
	_, parts := benchfmt.Name(name).Parts()
	sel := lab.Selection{Set: make(map[string][]string)}
	for _, p := range parts {
		if factor, level, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "="); ok {
			sel.Set[factor] = []string{level}
		}
	}
	arms, err := e.Arms(r, sel)
	if err != nil {
		return lab.Arm{}, err
	}
	return arms[0], nil
}

// Stock benchstat puts results in a table a configuration, a row a benchmark and
// a column a file. Runs of two commits must land in one table.
func TestBenchstatGroups(t *testing.T) {
	dir := t.TempDir()
	before, after := run(t, toy.Speed, "model", 1, 3), run(t, toy.Speed, "model", 2, 3)
	after.Start = after.Start.Add(time.Hour)
	old, err := Write(dir, before, Build{Commit: "aaa"})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Write(dir, after, Build{Commit: "bbb"})
	if err != nil {
		t.Fatal(err)
	}
	if tables, rows, cols := group(t, append(old, fresh...)); tables != 1 || rows != len(before.Rows)-1 || cols != 2 {
		t.Errorf("two commits: %d tables, %d rows, %d columns; want 1, %d, 2", tables, rows, cols, len(before.Rows)-1)
	}
	both, err := Write(dir, run(t, toy.Locked, "disk", 1, 3), Build{})
	if err != nil {
		t.Fatal(err)
	}
	if tables, _, _ := group(t, both); tables != 2 {
		t.Errorf("both provenances: %d tables; want 2", tables)
	}
}

func group(t *testing.T, paths []string) (tables, rows, cols int) {
	t.Helper()
	var parser benchproc.ProjectionParser
	projection := func(s string) *benchproc.Projection {
		p, err := parser.Parse(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	byTable, byRow, byCol := projection(".config"), projection(".fullname"), projection(".file")
	table, row, col := make(map[benchproc.Key]bool), make(map[benchproc.Key]bool), make(map[benchproc.Key]bool)
	files := benchfmt.Files{Paths: paths}
	for files.Scan() {
		if r, ok := files.Result().(*benchfmt.Result); ok {
			table[byTable.Project(r)], row[byRow.Project(r)], col[byCol.Project(r)] = true, true, true
		}
	}
	if err := files.Err(); err != nil {
		t.Fatal(err)
	}
	return len(table), len(row), len(col)
}

func TestWritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := Writable(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v, %v; want it, and nothing in it", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Writable(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as the folder: %v; want an error that names it", err)
	}
}

// A stage that took nothing in one trial is a figure of the same unit.
func TestZerosKeepTheirUnit(t *testing.T) {
	const text = `Unit wait-sec/op better=lower
provenance: modelled
rig: model
host: virtual-time
experiment: toy/speed
BenchmarkX 1 5 ns/op 0 wait-ns/op
BenchmarkX 1 5 ns/op 2000 wait-ns/op
`
	f, err := Read(strings.NewReader(text), "zeros.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := f.Sample("X", lab.Unit{Name: "wait-sec/op"}).Values
	if len(got) != 2 || got[0] != 0 || math.Abs(got[1]-2e-6) > 1e-15 {
		t.Errorf("%v, want 0 and 2e-06", got)
	}
}
