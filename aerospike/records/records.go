// Package records is the data set that experiments and the service read: nine
// sets of 200 records with eight bins, which share their user keys.
//
// [Each] makes the records, [Fill] puts them into a fake, and [Place] writes them
// to a real server, under a prefix, and takes them away again.
package records

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/wire"
)

// The study's sizes.
const (
	Sets = 9
	Keys = 200 // of each set
)

// Specs are the bins of a record: the service makes its features of them.
var Specs = []aerospike.Spec{
	{Bin: "age", Kind: aerospike.Ints},
	{Bin: "city", Kind: aerospike.Ints},
	{Bin: "seen", Kind: aerospike.Ints},
	{Bin: "ctr", Kind: aerospike.Floats},
	{Bin: "price", Kind: aerospike.Floats},
	{Bin: "score", Kind: aerospike.Floats},
	{Bin: "rank", Kind: aerospike.Floats},
	{Bin: "name", Kind: aerospike.Texts},
}

// values are a record's, by spec.
func values(set, key int) []any {
	n := set*Keys + key
	f := float64(n) / 7
	return []any{n, n % 50, n * 1000, f, f * 2, f * 3, f * 4, "item " + strconv.Itoa(n)}
}

// SetName is the name of a set.
func SetName(prefix string, set int) string { return prefix + "set_" + strconv.Itoa(set) }

// Empty is the name of a set that holds nothing, as one of the study's did.
func Empty(prefix string) string { return prefix + "set_empty" }

func userKey(key int) string { return "key_" + strconv.Itoa(key) }

// Ask is a request for keys of the first sets, of which a part is there: which
// ones miss follows from set and key alone, and the seed decides the order within
// a set. Sets share user keys; those that miss have names of their own.
func Ask(prefix string, sets, keys int, hits float64, seed uint64) aerospike.Query {
	r := rand.New(rand.NewPCG(seed, 0))
	var q aerospike.Query
	for s := range sets {
		k := aerospike.SetKeys{Set: SetName(prefix, s)}
		for i := range keys {
			user := userKey(i)
			h := fnv.New32a()
			_, _ = fmt.Fprint(h, s, i) // never fails
			if float64(h.Sum32()%1000) >= hits*1000 {
				user = "missing_" + strconv.Itoa(i)
			}
			k.Keys = append(k.Keys, user)
		}
		r.Shuffle(len(k.Keys), func(i, j int) { k.Keys[i], k.Keys[j] = k.Keys[j], k.Keys[i] })
		q = append(q, k)
	}
	return q
}

// Each calls f with all records, their values by spec. It stops at the first
// error.
func Each(namespace, prefix string, f func(*as.Key, []any) error) error {
	for s := range Sets {
		for i := range Keys {
			k, aerr := as.NewKey(namespace, SetName(prefix, s), userKey(i))
			if aerr != nil {
				return aerr
			}
			if err := f(k, values(s, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fill puts all records into a fake, without a prefix.
func Fill(c *fake.Cluster, namespace string) error {
	return Each(namespace, "", func(k *as.Key, vals []any) error {
		bins := make([]fake.Bin, len(Specs))
		for i, s := range Specs {
			bins[i] = fake.Bin{Name: s.Bin, Value: vals[i]}
		}
		return c.Put(namespace, wire.Digest(k.Digest()), bins...)
	})
}
