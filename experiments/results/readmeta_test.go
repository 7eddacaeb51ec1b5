package results

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"latlab.example/common/lab"
	"latlab.example/experiments/internal/toy"
	"latlab.example/experiments/runner"
)

// What was written is read, with the judgement of the run.
func TestReadMeta(t *testing.T) {
	dir := t.TempDir()
	s := run(t, toy.Speed, "model", 3, 8)
	path := write1(t, dir, s)
	stored, err := ReadMetaFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := stored.Meta
	if m.Baseline != s.Rows[0].Arm.String() || m.Unit != lab.SecPerOp.Name || m.Floor == nil || m.AA.Mid == nil {
		t.Errorf("baseline %q, unit %q, floor %v, control %v", m.Baseline, m.Unit, m.Floor, m.AA)
	}
	var units []lab.Unit
	for _, u := range m.Units {
		units = append(units, u.Lab())
	}
	if want := toy.Speed.AllUnits(); !reflect.DeepEqual(units, want) {
		t.Errorf("units %+v; want %+v", units, want)
	}
	if m.Arms[0].Effect != nil {
		t.Error("the baseline has an effect")
	}
	e := m.Arms[1].Effect
	if e == nil || !e.Judged || e.Verdict != lab.Holds || e.Reference != m.Baseline || e.P == nil || e.Holm == nil {
		t.Fatalf("effect of the batch %+v; want one that holds", e)
	}
	if i := e.Ratios[lab.SecPerOp.Name].Lab(); !(i.Lo <= i.Mid && i.Mid <= i.Hi && i.Hi < 0.6) {
		t.Errorf("ratio %v; want about a half", i)
	}
	tl := m.Arms[1].Timeline
	if tl == nil || !reflect.DeepEqual(tl.Stages, []string{"reserve", "write"}) || len(tl.Intervals) != 2 || tl.Intervals[1][3] != tl.Took {
		t.Errorf("timeline %+v; want that of an operation", tl)
	}
	text, err := os.ReadFile(stored.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "[0, 0, 0, ") {
		t.Error("an interval isn't on one line")
	}
}

// With too few blocks bounds are unknown, and stay so.
func TestUnknownBoundsAreNull(t *testing.T) {
	stored, err := ReadMetaFile(write1(t, t.TempDir(), run(t, toy.Speed, "model", 3, 1)))
	if err != nil {
		t.Fatal(err)
	}
	i := stored.Meta.Arms[1].Effect.Ratios[lab.SecPerOp.Name]
	if i.Lo != nil || i.Mid == nil || i.Hi != nil || stored.Meta.Floor != nil {
		t.Errorf("ratio %v, floor %v; want unknown bounds", i, stored.Meta.Floor)
	}
}

func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	write1(t, dir, run(t, toy.Speed, "model", 3, 2))
	if _, err := Write(dir, run(t, toy.Locked, "disk", 1, 2), Build{}); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	real, err := os.ReadFile(only(t, filepath.Join(dir, "modelled", "toy-speed", "*.json")))
	if err != nil {
		t.Fatal(err)
	}
	put("modelled/broken.json", "{")
	put("measured/liar.json", string(real))
	put("note.txt", "not read")
	put("a/b/c/d/e/f/g/h/i/deep.json", string(real))
	put("sweep.json", sweepText)
	put("tornado.json", tornadoText)
	f, err := ReadFolder(dir)
	found, skipped := f.Runs, f.Skipped
	if err != nil || len(found) != 3 || len(skipped) != 3 || len(f.Sweeps) != 1 || len(f.Tornados) != 1 {
		t.Fatalf("found %d, skipped %v, %d sweeps, %d tornados, %v; want 3, 3, 1, 1", len(found), skipped, len(f.Sweeps), len(f.Tornados), err)
	}
	for name, want := range map[string]string{
		"broken.json": "not the .json file of a latlab result",
		"liar.json":   "it says that it is modelled, and lies in the half of what is measured",
		"i":           "more than 8 folders within each other",
	} {
		ok := false
		for _, s := range skipped {
			ok = ok || filepath.Base(s.Path) == name && strings.Contains(s.Err.Error(), want)
		}
		if !ok {
			t.Errorf("skipped %v; want %s: %s", skipped, name, want)
		}
	}
	if _, err := ReadFolder(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// A link that leads out of the folder isn't followed.
func TestReadFolderStaysInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	path := write1(t, outside, run(t, toy.Speed, "model", 3, 1))
	meta := strings.TrimSuffix(path, ".txt") + ".json"
	for name, to := range map[string]string{"file.json": meta, "folder": filepath.Join(outside, "modelled")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	f, err := ReadFolder(dir)
	if err != nil || len(f.Runs) != 0 {
		t.Errorf("found %v, %v; want nothing", f.Runs, err)
	}
	skipped := f.Skipped
	if len(skipped) != 1 || !strings.Contains(skipped[0].Err.Error(), "not a regular file") {
		t.Errorf("skipped %v; want the link to a file", skipped)
	}
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %v, %v; want one file", pattern, all, err)
	}
	return all[0]
}

func TestReadMetaRefuses(t *testing.T) {
	const arm = `"arms": [{"arm": "a=b", "trials": [{"block": 0}]}]`
	good := `{"experiment": "x/y", "rig": "r", "kind": "virtual", "provenance": "modelled", ` + arm + `}`
	if _, err := ReadMeta(strings.NewReader(good), "f.json"); err != nil {
		t.Fatalf("a small file: %v", err)
	}
	for name, change := range map[string][2]string{
		"no object":             {good, `[]`},
		"no experiment":         {`"x/y"`, `""`},
		"no rig":                {`"r"`, `""`},
		"kind":                  {`virtual`, `unreal`},
		"provenance":            {`modelled`, `guessed`},
		"measured on a model":   {`modelled`, `measured`},
		"no arms":               {arm, `"arms": []`},
		"an arm without a name": {`"a=b"`, `""`},
		"no trials":             {`[{"block": 0}]`, `[]`},
		"a block below 0":       {`"block": 0`, `"block": -1`},
		"a long text":           {`"x/y"`, `"` + strings.Repeat("x", maxText+1) + `"`},
		"a verdict":             {`"arm": "a=b"`, `"arm": "a=b", "effect": {"verdict": "wins"}`},
		"a timeline outside":    {`"arm": "a=b"`, `"arm": "a=b", "timeline": {"stages": ["s"], "took_ns": 5, "intervals": [[0, 0, 0, 6]]}`},
		"an undeclared stage":   {`"arm": "a=b"`, `"arm": "a=b", "timeline": {"stages": ["s"], "took_ns": 5, "intervals": [[1, 0, 0, 5]]}`},
		"a unit's direction":    {`"kind"`, `"units": [{"name": "u", "better": "left"}], "kind"`},
		"a histogram":           {`"arm": "a=b"`, `"arm": "a=b", "stages": {"set": "s", "stages": [{"name": "s", "dist": {"count": 3}}]}`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if _, err := ReadMeta(strings.NewReader(text), "f.json"); !errors.Is(err, ErrMeta) || !strings.HasPrefix(err.Error(), "f.json: ") {
			t.Errorf("%s: %v; want ErrMeta with the file's name", name, err)
		}
	}
	if _, err := ReadMeta(strings.NewReader(strings.Repeat(" ", MaxMeta+1)), "f.json"); !errors.Is(err, ErrMeta) {
		t.Errorf("too long: %v", err)
	}
}

func FuzzReadMeta(f *testing.F) {
	rig, err := toy.Saving.Rig("model")
	if err != nil {
		f.Fatal(err)
	}
	arms, err := toy.Saving.Arms(rig, lab.Selection{})
	if err != nil {
		f.Fatal(err)
	}
	s, err := runner.Run(f.Context(), runner.Config{Blocks: 2, Budget: time.Hour}, toy.Saving, rig, arms)
	if err != nil {
		f.Fatal(err)
	}
	paths, err := Write(f.TempDir(), s, Build{})
	if err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(paths[0], ".txt") + ".json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"experiment": "x/y", "rig": "r", "kind": "real", "provenance": "measured", "host_id": "h", "arms": [{"arm": "a=b", "trials": [{"values": {"sec/op": -1e308}}], "effect": {"ratios": {"sec/op": {"mid": 1}}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadMeta(strings.NewReader(text), "fuzz")
		if err != nil {
			if !errors.Is(err, ErrMeta) {
				t.Errorf("%v isn't ErrMeta", err)
			}
			return
		}
		if m.Provenance == lab.Measured.String() && (m.Kind != lab.KindReal.String() || m.HostID == "") {
			t.Error("measured without a real rig and a host")
		}
		if len(m.Arms) == 0 || m.Arms[0].Arm == "" || len(m.Arms[0].Trials) == 0 {
			t.Errorf("arms %+v", m.Arms)
		}
	})
}
