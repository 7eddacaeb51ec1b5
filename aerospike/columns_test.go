package aerospike_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/internal/aerotest"
	"latlab.example/aerospike/wire"
)

// Records whose bins come in any order, or not at all, or beside bins that no
// column asks for, give the same columns from bytes as from the client's maps.
func TestColumnsOfIrregularRecords(t *testing.T) {
	c := aerotest.Start(t, fake.Config{})
	client := aerotest.Connect(t, c.Addrs()[0])
	r := rand.New(rand.NewPCG(1, 1))
	var keys []*as.Key
	for i := range 500 {
		k, aerr := as.NewKey("test", "irregular", i)
		if aerr != nil {
			t.Fatal(aerr)
		}
		keys = append(keys, k)
		bins := []fake.Bin{{Name: "other", Value: []any{i}}}
		for _, s := range specs {
			if r.IntN(4) > 0 {
				bins = append(bins, fake.Bin{Name: s.Bin, Value: want("irregular", string(rune('a'+i%26)), s.Bin)})
			}
		}
		if i%3 > 0 { // a third stays in the specs' order
			r.Shuffle(len(bins), func(i, j int) { bins[i], bins[j] = bins[j], bins[i] })
		}
		if err := c.Put("test", wire.Digest(k.Digest()), bins...); err != nil {
			t.Fatal(err)
		}
	}
	var all []*aerospike.Columns
	for _, reader := range []aerospike.Reader{aerospike.Official{Client: client}, aerospike.Lazy{Client: client}} {
		rows, err := reader.Read(t.Context(), aerospike.Span{}, keys)
		if err != nil {
			t.Fatal(err)
		}
		cols, err := aerospike.NewColumns(specs, rows)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cols)
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Error("columns from maps and from bytes differ")
	}
	valid := 0
	for _, col := range all[1].Cols {
		for _, v := range col.Valid {
			if v {
				valid++
			}
		}
	}
	if total := len(specs) * len(keys); valid < total/2 || valid == total {
		t.Errorf("%d of %d values are there: the records are too regular to test anything", valid, total)
	}
}
