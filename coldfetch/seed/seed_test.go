package seed_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/slug"
)

// The service finds each document under the key that it was put at, and no two
// share one, NFC and NFD of a name included.
func TestKeys(t *testing.T) {
	stored := map[string]int{}
	put := func(_ context.Context, key string, body []byte) error {
		stored[key] = len(body)
		return nil
	}
	docs := seed.Documents()
	if err := seed.Fill(t.Context(), put, "p/", docs...); err != nil {
		t.Fatal(err)
	}
	if len(docs) != 6 || len(stored) != 6 {
		t.Fatalf("%d documents under %d keys: %v", len(docs), len(stored), slices.Collect(maps.Keys(stored)))
	}
	large := 0
	for i, name := range seed.Names() {
		sl, err := slug.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		key, err := slug.Key(seed.Root, sl)
		if err != nil {
			t.Fatal(err)
		}
		size, ok := stored["p/"+key]
		if !ok || key != docs[i].Key() || size < docs[i].Size-64 || size > docs[i].Size+64 {
			t.Errorf("%q: %d bytes at %q, want about %d", name, size, key, docs[i].Size)
		}
		if size > 100_000 {
			large++
		}
		if back, err := slug.Name(sl); err != nil || back != name {
			t.Errorf("%q comes back as %q, %v", name, back, err)
		}
	}
	if large != 1 {
		t.Errorf("%d documents over 100 KB, want 1", large)
	}
}
