package study

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/fake"
	"latlab.example/common/lab"
)

// Environment of the real rig.
const (
	AddrVariable      = "LATLAB_AEROSPIKE"           // host:port of any node
	NamespaceVariable = "LATLAB_AEROSPIKE_NAMESPACE" // "test" if empty
	PrefixVariable    = "LATLAB_AEROSPIKE_PREFIX"    // of the sets that are written; "latlab_" if empty
	ReuseVariable     = "LATLAB_AEROSPIKE_REUSE"     // "yes": overwrite and delete records under the prefix that are there already
)

// ErrPrefix occurs when the namespace holds records under the prefix that this
// process didn't write.
var ErrPrefix = errors.New("there are records under the prefix already")

// place is where the records of a real rig go.
type place struct {
	addr, namespace, prefix string
	reuse                   bool
}

func placeFromEnv() place {
	p := place{addr: os.Getenv(AddrVariable), namespace: os.Getenv(NamespaceVariable), prefix: os.Getenv(PrefixVariable), reuse: os.Getenv(ReuseVariable) == "yes"}
	if p.namespace == "" {
		p.namespace = "test"
	}
	if p.prefix == "" {
		p.prefix = "latlab_"
	}
	return p
}

func missing(why, do string) error { return &lab.Unavailable{Need: "aerospike", Why: why, Do: do} }

// probe says whether there is a real server. It writes nothing.
func probe(ctx context.Context) error {
	p := placeFromEnv()
	if p.addr == "" {
		return missing("no Aerospike server is named", "set "+AddrVariable+" to host:port, and "+NamespaceVariable+" if the namespace isn't test")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return missing(fmt.Sprintf("%s=%s: %v", AddrVariable, p.addr, err), "start the server, or name another address")
	}
	if err := conn.Close(); err != nil {
		return err
	}
	client, err := connect(p.addr, lab.Arm{})
	if err != nil {
		return missing(err.Error(), "look at the server's log")
	}
	defer client.Close()
	name, err := info(client, "cluster-name")
	if err != nil {
		return err
	}
	if name == fake.ClusterName {
		return missing(p.addr+" is a fake", "name a real server: what a fake gives isn't measured")
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

// written counts the open arms that share the records of a place.
var written = struct {
	sync.Mutex
	arms map[place]int
}{arms: map[place]int{}}

func openReal(_ context.Context, a lab.Arm) (lab.Subject, error) { return openAt(placeFromEnv(), a) }

// openAt connects, and writes the records if no other arm did. The last arm
// deletes them.
func openAt(p place, a lab.Arm) (lab.Subject, error) {
	client, err := connect(p.addr, a)
	if err != nil {
		return nil, err
	}
	if err := p.hold(client); err != nil {
		client.Close()
		return nil, err
	}
	return newSubject(target{
		client: client, namespace: p.namespace, prefix: p.prefix,
		use: func() (fake.Use, bool) { return fake.Use{}, false },
		close: func() error {
			defer client.Close()
			return p.release(client)
		},
	}, a)
}

func (p place) hold(client *as.Client) error {
	written.Lock()
	defer written.Unlock()
	if written.arms[p] == 0 {
		if err := p.empty(client); err != nil {
			return err
		}
		err := eachRecord(p.namespace, p.prefix, func(k *as.Key, vals []any) error {
			bins := as.BinMap{}
			for i, s := range specs {
				bins[s.Bin] = vals[i]
			}
			if aerr := client.Put(nil, k, bins); aerr != nil {
				return fmt.Errorf("write %s/%s: %w", k.Namespace(), k.SetName(), aerr)
			}
			return nil
		})
		if err != nil {
			return errors.Join(err, p.remove(client))
		}
	}
	written.arms[p]++
	return nil
}

func (p place) release(client *as.Client) error {
	written.Lock()
	defer written.Unlock()
	if written.arms[p]--; written.arms[p] > 0 {
		return nil
	}
	return p.remove(client)
}

// remove deletes what hold wrote, and nothing else.
func (p place) remove(client *as.Client) error {
	return eachRecord(p.namespace, p.prefix, func(k *as.Key, _ []any) error {
		if _, aerr := client.Delete(nil, k); aerr != nil {
			return fmt.Errorf("delete %s/%s: %w; records under prefix %q may be left", k.Namespace(), k.SetName(), aerr, p.prefix)
		}
		return nil
	})
}

// empty refuses a namespace with records under the prefix.
func (p place) empty(client *as.Client) error {
	if p.reuse {
		return nil
	}
	do := fmt.Sprintf("set %s to another prefix, or %s=yes to overwrite and delete them", PrefixVariable, ReuseVariable)
	for _, n := range client.GetNodes() {
		name := "sets/" + p.namespace
		m, err := n.RequestInfo(as.NewInfoPolicy(), name)
		if err != nil {
			return fmt.Errorf("info %s: %w", name, err)
		}
		if strings.HasPrefix(m[name], "ERROR") {
			return fmt.Errorf("node %s doesn't tell its sets (%s), so there may be records under %q; %s", n.GetName(), m[name], p.prefix, do)
		}
		for _, s := range strings.Split(m[name], ";") {
			if set := part(s, "set"); strings.HasPrefix(set, p.prefix) && part(s, "objects") != "0" {
				return fmt.Errorf("%w: set %s of namespace %s; %s", ErrPrefix, set, p.namespace, do)
			}
		}
	}
	return nil
}

// part is a value of ns=test:set=demo:objects=1.
func part(s, name string) string {
	for _, p := range strings.Split(s, ":") {
		if v, ok := strings.CutPrefix(p, name+"="); ok {
			return v
		}
	}
	return ""
}
