package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	sweepText = `{"experiment": "toy/saving", "rig": "model", "provenance": "modelled", "baseline": "strategy=loop", "parameter": "saved", "has": "0.3", "source": "assumed: a toy",
		"unit": "sec/op", "points": [{"value": 0, "text": "0", "arms": [{"arm": "strategy=batch", "ratio": {"lo": 1, "mid": 1, "hi": 1}, "verdict": "fails"}]}], "flips": []}`
	tornadoText = `[{"experiment": "toy/saving", "rig": "model", "provenance": "modelled", "baseline": "strategy=loop", "arm": "strategy=batch", "unit": "sec/op", "ratio": 0.7,
		"bars": [{"parameter": "saved", "from": "0", "to": "0.9", "ratio_at_from": 1, "ratio_at_to": 0.2, "source": "assumed: a toy"}]}]`
)

func TestReadSweep(t *testing.T) {
	s, _, err := ReadSweep(strings.NewReader(sweepText))
	if err != nil || s.Parameter != "saved" || len(s.Points) != 1 || s.Points[0].Arms[0].Ratio.Lab().Mid != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	_, all, err := ReadSweep(strings.NewReader(tornadoText))
	if err != nil || len(all) != 1 || all[0].Bars[0].AtTo != 0.2 {
		t.Errorf("%+v, %v", all, err)
	}
	for name, change := range map[string][3]string{
		"measured":        {sweepText, `"modelled"`, `"measured"`},
		"no points":       {sweepText, `"points"`, `"dots"`},
		"no parameter":    {sweepText, `"saved"`, `""`},
		"a verdict":       {sweepText, `"fails"`, `"wins"`},
		"a long text":     {sweepText, `"text": "0"`, `"text": "` + strings.Repeat("0", maxText+1) + `"`},
		"no arms":         {tornadoText, tornadoText, `[]`},
		"no bars":         {tornadoText, `"bars"`, `"rods"`},
		"below 0":         {tornadoText, `0.2`, `-0.2`},
		"measured too":    {tornadoText, `"modelled"`, `"measured"`},
		"half of a file":  {tornadoText, `}]}]`, ``},
		"something else":  {sweepText, sweepText, `"x"`},
		"nothing":         {sweepText, sweepText, ``},
		"another's array": {sweepText, sweepText, `[1]`},
	} {
		if _, _, err := ReadSweep(strings.NewReader(strings.Replace(change[0], change[1], change[2], 1))); !errors.Is(err, ErrSweep) {
			t.Errorf("%s: %v; want ErrSweep", name, err)
		}
	}
}

// A file by its name is read like those of a folder, and its error names it.
func TestFolderRead(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var f Folder
	if err := errors.Join(f.Read(put("s.json", sweepText)), f.Read(put("t.json", tornadoText))); err != nil || len(f.Sweeps) != 1 || len(f.Tornados) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	bad := put("bad.json", "{}")
	if err := f.Read(bad); !errors.Is(err, ErrMeta) || !strings.HasPrefix(err.Error(), bad+": ") {
		t.Errorf("%v; want ErrMeta with the name", err)
	}
	if err := f.Read(filepath.Join(dir, "none.txt")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("%v; want the missing .json", err)
	}
}

func FuzzReadSweep(f *testing.F) {
	f.Add(sweepText)
	f.Add(tornadoText)
	f.Fuzz(func(t *testing.T, text string) {
		s, all, err := ReadSweep(strings.NewReader(text))
		switch {
		case err != nil:
			if !errors.Is(err, ErrSweep) {
				t.Errorf("%v isn't ErrSweep", err)
			}
		case s == nil && len(all) == 0:
			t.Error("neither a sweep nor a tornado, and no error")
		case s != nil && (s.Provenance != "modelled" || len(s.Points) == 0):
			t.Errorf("%+v", s)
		}
	})
}
