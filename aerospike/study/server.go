//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/records"
	"latlab.example/common/lab"
)

func missing(why, do string) error { return &lab.Unavailable{Need: "aerospike", Why: why, Do: do} }

// probe says whether there is a real server. It writes nothing.
func probe(ctx context.Context) error {
	p := records.FromEnv()
	if p.Addr == "" {
		return missing("no Aerospike server is named", "set "+records.AddrVariable+" to host:port, and "+records.NamespaceVariable+" if the namespace isn't test")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.Addr)
	if err != nil {
		return missing(fmt.Sprintf("%s=%s: %v", records.AddrVariable, p.Addr, err), "start the server, or name another address")
	}
	if err := conn.Close(); err != nil {
		return err
	}
	client, err := connect(p.Addr, lab.Arm{}, false)
	if err != nil {
		return missing(err.Error(), "look at the server's log")
	}
	defer client.Close()
	name, err := info(client, "cluster-name")
	if err != nil {
		return err
	}
	if name == fake.ClusterName {
		return missing(p.Addr+" is a fake", "name a real server: what a fake gives isn't measured")
	}
	return nil
}

// info asks one node.
func info(client *as.Client, name string) (string, error) {
	nodes := client.GetNodes()
	if len(nodes) == 0 {
		return "", errors.New("the cluster has no nodes; look at the server's log")
	}
	m, err := nodes[0].RequestInfo(as.NewInfoPolicy(), name)
	if err != nil {
		return "", fmt.Errorf("info %s: %w", name, err)
	}
	return m[name], nil
}

func openReal(_ context.Context, a lab.Arm) (lab.Subject, error) {
	return openAt(records.FromEnv(), a)
}

// openAt connects, and has the records written if no other arm did. The last arm
// deletes them.
func openAt(p records.Place, a lab.Arm) (lab.Subject, error) {
	client, err := connect(p.Addr, a, false)
	if err != nil {
		return nil, err
	}
	if err := p.Hold(client); err != nil {
		client.Close()
		return nil, err
	}
	return newSubject(target{
		addr: p.Addr, client: client, namespace: p.Namespace, prefix: p.Prefix,
		use: func() (fake.Use, bool) { return fake.Use{}, false },
		close: func() error {
			defer client.Close()
			return p.Release(client)
		},
	}, a)
}
