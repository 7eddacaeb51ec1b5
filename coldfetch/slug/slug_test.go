package slug_test

import (
	"errors"
	"fmt"
	"math/rand"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"latlab.example/coldfetch/slug"
)

const (
	nfc = "1. 연구개발계획서 양식_서울지방청"
	nfd = "1. \u110b\u1167\u11ab\u1100\u116e개발계획서 양식_서울지방청"
)

func ExampleOf() {
	for _, name := range []string{nfc, "../etc/passwd", "50% + #1"} {
		s, err := slug.Of(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		key, err := slug.Key("docs", s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(key)
	}
	// Output:
	// docs/1.-연구개발계획서-양식_서울지방청
	// docs/~2E~2E~2Fetc~2Fpasswd
	// docs/50~25-~2B-~231
}

// hostile makes names of what paths, URLs and Unicode are sensitive to.
type hostile string

func (hostile) Generate(r *rand.Rand, size int) reflect.Value {
	parts := []string{
		"/", ".", "..", "~", "~2E", "%2e", "%", "+", " ", "-", "#", "?", "&", "\\", "\x00", "\n", "\xff", "a", "A", "0", "_",
		"연", "\u110b\u1167\u11ab", "é", "e\u0301", "\u2028", "\ufffd", "\uffff", "\U000e0041", "\u3000",
		strings.Repeat("가", 30), strings.Repeat("\u1100\u1161", 21), strings.Repeat("/", 40),
	}
	var b strings.Builder
	for range 1 + r.Intn(max(size/5, 1)) {
		b.WriteString(parts[r.Intn(len(parts))])
	}
	return reflect.ValueOf(hostile(b.String()))
}

var many = &quick.Config{MaxCount: 5000}

// A name comes back from its slug, and the slug from its key.
func TestRoundTrip(t *testing.T) {
	tooLong := 0
	check := func(h hostile) bool {
		name := string(h)
		s, err := slug.Of(name)
		if errors.Is(err, slug.ErrName) {
			tooLong++
			return len(name) > slug.MaxKey/3
		}
		back, err := slug.Name(s)
		if err != nil || back != name {
			t.Logf("%q: %q, %v", name, back, err)
			return false
		}
		key, err := slug.Key("docs/latlab", s)
		if errors.Is(err, slug.ErrName) {
			tooLong++
			return len(s) > 950
		}
		again, kerr := slug.OfKey("docs/latlab", key)
		return err == nil && kerr == nil && again == s
	}
	if err := quick.Check(check, many); err != nil {
		t.Error(err)
	}
	if tooLong > many.MaxCount/4 {
		t.Errorf("%d of %d names were too long: the test looks at too few", tooLong, many.MaxCount)
	}
}

// A key is under its root, however a server or a file system reads it, and every
// part fits in a file name.
func TestKeysStayUnderTheirRoot(t *testing.T) {
	check := func(h hostile) bool {
		s, err := slug.Of(string(h))
		if err != nil {
			return errors.Is(err, slug.ErrName)
		}
		key, err := slug.Key("docs", s)
		if err != nil {
			return errors.Is(err, slug.ErrName)
		}
		for part := range strings.SplitSeq(key, "/") {
			if part == "" || part == "." || part == ".." || len(part) > 200 {
				t.Logf("%q has part %q", key, part)
				return false
			}
		}
		return strings.HasPrefix(key, "docs/") && path.Clean(key) == key && len(key) <= slug.MaxKey &&
			utf8.ValidString(key) && !strings.ContainsAny(key, "\x00\n\\%?#+ ") &&
			!strings.Contains(s, "/") && s != "." && s != ".."
	}
	if err := quick.Check(check, many); err != nil {
		t.Error(err)
	}
}

// No two names have one key, and no key is a folder of another.
func TestKeysDiffer(t *testing.T) {
	check := func(a, b hostile) bool {
		if a == b {
			return true
		}
		sa, err := slug.Of(string(a))
		sb, berr := slug.Of(string(b))
		if err != nil || berr != nil {
			return true
		}
		ka, err := slug.Key("docs", sa)
		kb, berr := slug.Key("docs", sb)
		if err != nil || berr != nil {
			return sa != sb
		}
		return ka != kb && slug.File(ka) != slug.File(kb) && !strings.HasPrefix(kb, ka+"/") && !strings.HasPrefix(ka, kb+"/")
	}
	if err := quick.Check(check, many); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("a", 199)
	for _, pair := range [][2]string{
		{nfc, nfd},
		{"a b", "a-b"},
		{"a b", "a+b"},
		{"~2E", "."},
		{"A", "a"},
		{"a", "a "},
		{".", ".."},
		{long, long + "bb"},
		{long + "a", long + "aa"},
		{"x/y", "x~2Fy"},
		{"\xff", "\ufffd"},
	} {
		if !check(hostile(pair[0]), hostile(pair[1])) {
			t.Errorf("%q and %q share a key, or one is the other's folder", pair[0], pair[1])
		}
	}
}

func TestWhatIsNoSlug(t *testing.T) {
	for _, s := range []string{"", ".", "..", "a b", "~", "~2", "~2e", "~61", "a/b", "~zz", "a..b", ".a", "a.", "\xff", "\u2028"} {
		if name, err := slug.Name(s); !errors.Is(err, slug.ErrSlug) {
			t.Errorf("Name(%q) = %q, %v, want ErrSlug", s, name, err)
		}
		if key, err := slug.Key("docs", s); !errors.Is(err, slug.ErrSlug) {
			t.Errorf("Key(%q) = %q, %v, want ErrSlug", s, key, err)
		}
	}
	for _, root := range []string{"/docs", "docs/", "a//b", "..", "a/../b", ".", "a\x00"} {
		if key, err := slug.Key(root, "a"); !errors.Is(err, slug.ErrKey) {
			t.Errorf("Key under %q = %q, %v, want ErrKey", root, key, err)
		}
	}
	for _, key := range []string{"docs", "docs/", "other/a", "docs/a/b", "docs/a~/b", "a", "docs/../docs/a"} {
		if s, err := slug.OfKey("docs", key); !errors.Is(err, slug.ErrKey) {
			t.Errorf("OfKey(%q) = %q, %v, want ErrKey", key, s, err)
		}
	}
	if _, err := slug.Of(""); !errors.Is(err, slug.ErrName) {
		t.Errorf("the empty name: %v, want ErrName", err)
	}
	if s, err := slug.Of(strings.Repeat("가", 400)); !errors.Is(err, slug.ErrName) {
		t.Errorf("a name of 1200 bytes: %q, %v, want ErrName", s, err)
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"1.-연구", "~2E", "a..b", "~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := slug.Name(s)
		if err != nil {
			return
		}
		if again, err := slug.Of(name); err == nil && again != s || err != nil && len(s) <= slug.MaxKey {
			t.Errorf("%q is the slug of %q, whose slug is %q (%v)", s, name, again, err)
		}
	})
}
