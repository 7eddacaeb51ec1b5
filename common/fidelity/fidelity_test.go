package fidelity_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"latlab.example/common/fidelity"
	"latlab.example/common/host"
)

func status(t *testing.T, declared, here string) fidelity.Status {
	t.Helper()
	d, err := fidelity.Parse("x = " + declared)
	if err != nil {
		t.Fatal(err)
	}
	return fidelity.Compare(d, fidelity.Facts{{Name: "x", Value: here}})[0].Status
}

func TestForms(t *testing.T) {
	for _, test := range []struct {
		declared, here string
		want           fidelity.Status
	}{
		{"2", "2", fidelity.Equal},
		{"2", "1", fidelity.Differs},
		{"nginx", "NGINX", fidelity.Equal},
		{"0.5ms..5ms", "500us", fidelity.Equal},
		{"0.5ms..5ms", "5ms", fidelity.Equal},
		{"0.5ms..5ms", "40us", fidelity.Differs},
		{"0.5ms..5ms", "3", fidelity.Differs},
		{"1..4", "2", fidelity.Equal},
		{"1..4", "many", fidelity.Differs},
		{">=4", "24", fidelity.Equal},
		{">=4", "2", fidelity.Differs},
		{">=1s", "2", fidelity.Differs},
		{"?", "2", fidelity.Unknown},
		{"2", "", fidelity.Unknown},
	} {
		if got := status(t, test.declared, test.here); got != test.want {
			t.Errorf("%s beside %s: %s, want %s", test.declared, test.here, got, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	facts, err := fidelity.Parse("# production\n\ncores = 2 # shared\nstore=s3.example:443#1\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(facts) != 2 || facts[0] != (fidelity.Fact{Name: "cores", Value: "2", Why: "shared"}) || facts[1].Value != "s3.example:443#1" {
		t.Errorf("got %+v", facts)
	}
	for _, bad := range []string{"cores", "= 2", "cores =", "a = 1\na = 2", "x = 5ms..1", "x = 4..1", "x = >=many", "x = a..b"} {
		if _, err := fidelity.Parse(bad); !errors.Is(err, fidelity.ErrFacts) {
			t.Errorf("%q: %v, want ErrFacts", bad, err)
		}
	}
}

// What only one side knows is a question, and no row is lost.
func TestCompareKeepsEveryFact(t *testing.T) {
	declared, err := fidelity.Parse("a = 1 # why a\nb = 2")
	if err != nil {
		t.Fatal(err)
	}
	table := fidelity.Compare(declared, fidelity.Facts{{Name: "c", Value: "3", Why: "read here"}, {Name: "b", Value: "3"}})
	want := fidelity.Table{
		{Name: "a", Production: "1", Status: fidelity.Unknown, Why: "why a"},
		{Name: "b", Production: "2", Here: "3", Status: fidelity.Differs},
		{Name: "c", Here: "3", Status: fidelity.Unknown, Why: "read here"},
	}
	got, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, again) {
		t.Errorf("got %s\nwant %s", got, again)
	}
	if table.String() != "0 equal, 1 differ (b), 2 unknown" {
		t.Error(table.String())
	}
	var text, page bytes.Buffer
	if err := errors.Join(table.WriteText(&text), table.WriteMarkdown(&page)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "differs", "read here"} {
		if !strings.Contains(text.String(), name) || !strings.Contains(page.String(), name) {
			t.Errorf("%s is in neither or one of\n%s\n%s", name, &text, &page)
		}
	}
}

// Facts of this host are there, and what isn't known isn't made up.
func TestHost(t *testing.T) {
	f, err := host.Read(t.Context(), os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	facts := fidelity.Host(f)
	for _, name := range []string{fidelity.Cores, fidelity.CPUShare, fidelity.GOMAXPROCS, fidelity.FileSystem} {
		if _, ok := facts.Get(name); !ok {
			t.Errorf("no fact %q", name)
		}
	}
	f.CPU, f.Memory = host.Unknown, 0
	for _, name := range []string{fidelity.CPU, fidelity.Memory} {
		if fact, _ := fidelity.Host(f).Get(name); fact.Value != "" {
			t.Errorf("%s is %q though nobody knows", name, fact.Value)
		}
	}
	f.CPUQuota = 1
	if fact, _ := fidelity.Host(f).Get(fidelity.CPUShare); !strings.Contains(fact.Value, "quota 1") {
		t.Errorf("a quota of one core is %q", fact.Value)
	}
}

func TestWith(t *testing.T) {
	base := fidelity.Facts{{Name: "a", Value: "1"}}
	got := base.With(fidelity.Fact{Name: "b", Value: "2"}, fidelity.Fact{Name: "a", Value: "3"})
	if len(got) != 2 || got[0].Value != "3" || base[0].Value != "1" {
		t.Errorf("got %v of %v", got, base)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("cores = 2 # shared\nrtt = 1ms..5ms\nx = >=4\ny = ?")
	f.Fuzz(func(t *testing.T, text string) {
		facts, err := fidelity.Parse(text)
		if err != nil {
			if !errors.Is(err, fidelity.ErrFacts) {
				t.Fatalf("%v doesn't wrap ErrFacts", err)
			}
			return
		}
		// A declared fact never differs from itself where it is plain text.
		for _, r := range fidelity.Compare(facts, facts) {
			plain := !strings.Contains(r.Production, "..") && !strings.HasPrefix(r.Production, ">=")
			if r.Status == fidelity.Differs && plain {
				t.Errorf("%+v", r)
			}
		}
	})
}
