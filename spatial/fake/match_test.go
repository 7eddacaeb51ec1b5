package fake

import (
	"strings"
	"testing"

	"latlab.example/spatial"
)

func TestStatementsAreFoundByTheirText(t *testing.T) {
	for _, e := range []string{
		spatial.SearchRadius, spatial.SearchSorted, spatial.SearchCast, spatial.SearchBox, spatial.SearchNearest, spatial.GuidesAt, spatial.GuidesByID,
		spatial.LocationsByID, spatial.MediaOf, spatial.MediaOfAll, spatial.Counts, spatial.Sleep, spatial.Burn,
	} {
		exact, _ := find(tokens(e))
		if exact == nil {
			t.Fatalf("not known: %s", e)
		}
		// Other blanks, case and comments make no other statement.
		spaced := strings.ReplaceAll(strings.ReplaceAll(e, "(", " (\n\t/* a */"), ",", " , -- b\n")
		if got, _ := find(tokens(strings.ToUpper(spaced))); got != exact {
			t.Errorf("another statement: %s", spaced)
		}
		if got, _ := find(tokens(e + " AND true")); got != nil {
			t.Errorf("%s AND true is known", e)
		}
	}
}

func TestLiterals(t *testing.T) {
	search := func(lon, lat, radius, limit string) string {
		return strings.NewReplacer("$1", lon, "$2", lat, "$3", radius, "$4", limit).Replace(spatial.SearchRadius)
	}
	for _, test := range []struct {
		sql string
		lon float64 // of the first argument
		ok  bool
	}{
		{search("126.5", "37", "5e3", "100"), 126.5, true},
		{search(" -126.5 ", " (37) ", "5000", "'100'"), -126.5, true},
		{search("(-126.5)", "'-1'", "+5", "null"), -126.5, true},
		{search(".5", "1", "5", "1"), 0.5, true},
		{search("126.5+0", "37", "5", "1"), 0, false},
		{search("'x'", "37", "5", "1"), 0, false},
		{search("- 'x'", "37", "5", "1"), 0, false},
		{strings.Replace(search("1", "37", "5", "1"), "MakePoint(1::", "MakePoint(2::", 1), 0, false}, // two different centres
		{search("f(1)", "37", "5", "1"), 0, false},
	} {
		p, fail := read(tokens(test.sql), nil)
		if (fail == nil) != test.ok {
			t.Errorf("%.90s: %+v", test.sql, fail)
		}
		if fail == nil && p.consts[0].f != test.lon {
			t.Errorf("%.90s: %v, want %v", test.sql, p.consts[0].f, test.lon)
		}
	}
	// A client may number its parameters in its own way.
	p, fail := read(tokens(strings.NewReplacer("$1", "$2", "$2", "$1").Replace(spatial.SearchRadius)), nil)
	if fail != nil || len(p.params) != 4 || p.params[0] != oidFloat8 || p.params[3] != oidInt8 || p.args[0].param != 2 {
		t.Errorf("%+v, %+v", p, fail)
	}
}

func TestFloatsAsPostgreSQLWritesThem(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 1: "1", 126.978: "126.978", -0.5: "-0.5", 1e14: "100000000000000", 1e15: "1e+15", 1e16: "1e+16", 1.5e-5: "1.5e-05", 0.0001: "0.0001", 1e-7: "1e-07", 123456789.125: "123456789.125",
	} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

// No text panics, and what is read as a statement has as many arguments as the
// statement has parameters.
func FuzzRead(f *testing.F) {
	for _, s := range []string{spatial.SearchRadius, spatial.MediaOf, "select 1; begin", "set x = 'y", `show "a b"`, "deallocate prepare x", "$1 /* ", "a<->b", "- - (( 1 ))", "select pg_sleep((-1))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for _, s := range split(tokens(sql)) {
			p, fail := read(s, nil)
			if fail == nil && p.statement != nil && (len(p.consts) != len(p.statement.params) || len(p.args) != len(p.consts)) {
				t.Errorf("%q: %d constants", sql, len(p.consts))
			}
			if fail != nil && fail.Code == "" {
				t.Errorf("%q: an error without a code", sql)
			}
		}
	})
}

// No parameter panics.
func FuzzParam(f *testing.F) {
	f.Add(uint32(oidInt8Array), uint32(0), int16(1), []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7})
	f.Add(uint32(oidInt8Array), uint32(0), int16(0), []byte("{1,2}"))
	f.Add(uint32(oidFloat8), uint32(oidInt4), int16(1), []byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, want, given uint32, format int16, raw []byte) {
		v, fail := readParam(want, given, format, raw)
		if fail != nil && fail.Code == "" || fail == nil && v.null != (raw == nil) {
			t.Errorf("%+v, %+v", v, fail)
		}
	})
}
