package aerospike_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v7"
	"github.com/aerospike/aerospike-client-go/v7/logger"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/study"
	"latlab.example/aerospike/wire"
	"latlab.example/common/lab"
)

func TestMain(m *testing.M) {
	logger.Logger.SetLevel(logger.OFF) // faults make the client talk
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	lab.Main(study.Experiments...)
	os.Exit(m.Run())
}

// specs cover all bins of the tests' records.
var specs = []aerospike.Spec{
	{Bin: "i0", Kind: aerospike.Ints},
	{Bin: "i1", Kind: aerospike.Ints},
	{Bin: "i2", Kind: aerospike.Ints},
	{Bin: "f0", Kind: aerospike.Floats},
	{Bin: "f1", Kind: aerospike.Floats},
	{Bin: "f2", Kind: aerospike.Floats},
	{Bin: "f3", Kind: aerospike.Floats},
	{Bin: "s0", Kind: aerospike.Texts},
}

// want is the value of a bin of a record.
func want(set, user, bin string) any {
	n := 0
	for _, c := range set + user + bin {
		n = n*31 + int(c)
	}
	switch bin[0] {
	case 'i':
		return n
	case 'f':
		return float64(n) / 3
	}
	return set + "/" + user
}

// hit says which user keys have records.
func hit(user string) bool { return user[len(user)-1] != '7' }

// query has sets that share user keys, a key twice, misses, and a set that holds
// nothing.
func query(sets, keys int) aerospike.Query {
	var q aerospike.Query
	for s := range sets {
		k := aerospike.SetKeys{Set: fmt.Sprintf("set_%d", s)}
		for i := range keys {
			k.Keys = append(k.Keys, "u"+strconv.Itoa(i+s*keys/2))
		}
		if keys > 1 {
			k.Keys[keys-1] = k.Keys[0]
		}
		q = append(q, k)
	}
	return append(q, aerospike.SetKeys{Set: "empty", Keys: []string{"u1", "u2"}})
}

// records puts what a query finds.
func records(t testing.TB, c *fake.Cluster, q aerospike.Query) {
	t.Helper()
	for _, s := range q {
		for _, user := range s.Keys {
			if s.Set == "empty" || !hit(user) {
				continue
			}
			var bins []fake.Bin
			for _, spec := range specs {
				bins = append(bins, fake.Bin{Name: spec.Bin, Value: want(s.Set, user, spec.Bin)})
			}
			k, aerr := as.NewKey("test", s.Set, user)
			if aerr != nil {
				t.Fatal(aerr)
			}
			if err := c.Put("test", wire.Digest(k.Digest()), bins...); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// readers are all readers on a client.
func readers(client *as.Client, p *as.BatchPolicy) map[aerospike.ReaderName]aerospike.Reader {
	return map[aerospike.ReaderName]aerospike.Reader{
		aerospike.UseOfficial: aerospike.Official{Client: client, Policy: p},
		aerospike.UseOperate:  aerospike.Official{Client: client, Policy: p, Operate: true},
		aerospike.UseLazy:     aerospike.Lazy{Client: client, Policy: p},
	}
}
