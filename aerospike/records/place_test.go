package records_test

import (
	"testing"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/aerospike/records"
)

// there counts the records of a place.
func there(t *testing.T, client *as.Client, p records.Place) (n int) {
	t.Helper()
	if err := records.Each(p.Namespace, p.Prefix, func(k *as.Key, _ []any) error {
		if ok, aerr := client.Exists(nil, k); aerr != nil {
			return aerr
		} else if ok {
			n++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// Records are there while somebody holds them, and only a holder takes them away.
func TestHolders(t *testing.T) {
	const all = records.Sets * records.Keys
	c := aerotest.Start(t, fake.Config{})
	if err := records.Fill(c, "test"); err != nil {
		t.Fatal(err)
	}
	client := aerotest.Connect(t, c.Addrs()[0])
	p := records.Place{Addr: c.Addrs()[0], Namespace: "test", Reuse: true} // where others' records are
	for _, step := range []struct {
		name string
		do   func(*as.Client) error
		want int
	}{
		{"released by nobody", p.Release, all},
		{"held", p.Hold, all},
		{"held twice", p.Hold, all},
		{"released once", p.Release, all},
		{"released", p.Release, 0},
		{"held again", p.Hold, all},
		{"released again", p.Release, 0},
	} {
		if err := step.do(client); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := there(t, client, p); n != step.want {
			t.Errorf("%s: %d records, want %d", step.name, n, step.want)
		}
	}
}
