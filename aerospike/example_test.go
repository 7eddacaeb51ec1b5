package aerospike_test

import (
	"context"
	"fmt"
	"net"
	"strconv"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike"
	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/wire"
)

// Two sets that share user keys, read at once: each row is its own set's. The
// reader leaves records as bytes and fills columns from them.
func Example() {
	cluster, err := fake.New(fake.Config{Nodes: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	for _, set := range []string{"clicks", "views"} {
		k, aerr := as.NewKey("test", set, "ann")
		if aerr != nil {
			fmt.Println(aerr)
			return
		}
		if err := cluster.Put("test", wire.Digest(k.Digest()), fake.Bin{Name: "n", Value: len(set)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	host, port, _ := net.SplitHostPort(cluster.Addrs()[0])
	number, _ := strconv.Atoi(port)
	client, aerr := as.NewClient(host, number)
	if aerr != nil {
		fmt.Println(aerr)
		return
	}
	defer client.Close()

	p, err := aerospike.New(aerospike.Options{
		Namespace: "test", Reader: aerospike.Lazy{Client: client}, Mode: aerospike.Single,
		Form: aerospike.Typed, Columns: []aerospike.Spec{{Bin: "n", Kind: aerospike.Ints}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.Read(context.Background(), aerospike.Query{
		{Set: "clicks", Keys: []string{"ann", "bob"}}, {Set: "views", Keys: []string{"ann"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range r.Sets {
		fmt.Println(s.Name, s.Columns.Cols[0].Ints, s.Columns.Cols[0].Valid)
	}
	// Output:
	// clicks [6 0] [true false]
	// views [5] [true]
}
