package records

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	as "github.com/aerospike/aerospike-client-go/v7"
)

// Environment that says where a real server is and what may be written there.
const (
	AddrVariable      = "LATLAB_AEROSPIKE"           // host:port of any node
	NamespaceVariable = "LATLAB_AEROSPIKE_NAMESPACE" // "test" if empty
	PrefixVariable    = "LATLAB_AEROSPIKE_PREFIX"    // of the sets that are written; "latlab_" if empty
	ReuseVariable     = "LATLAB_AEROSPIKE_REUSE"     // "yes": overwrite and delete records under the prefix that are there already
)

// ErrPrefix occurs when the namespace holds records under the prefix that this
// process didn't write.
var ErrPrefix = errors.New("there are records under the prefix already")

// Place is where the records of a real server go.
type Place struct {
	Addr, Namespace, Prefix string
	Reuse                   bool // overwrite and delete what is there under the prefix
}

// FromEnv is the place that the environment names. Its address may be empty.
func FromEnv() Place {
	p := Place{Addr: os.Getenv(AddrVariable), Namespace: os.Getenv(NamespaceVariable), Prefix: os.Getenv(PrefixVariable), Reuse: os.Getenv(ReuseVariable) == "yes"}
	if p.Namespace == "" {
		p.Namespace = "test"
	}
	if p.Prefix == "" {
		p.Prefix = "latlab_"
	}
	return p
}

// written counts those who hold the records of a place.
var written = struct {
	sync.Mutex
	holders map[Place]int
}{holders: map[Place]int{}}

// Hold writes the records, if nobody in this process holds them already. An error
// that wraps ErrPrefix means that it wrote nothing.
func (p Place) Hold(client *as.Client) error {
	written.Lock()
	defer written.Unlock()
	if written.holders[p] == 0 {
		if err := p.empty(client); err != nil {
			return err
		}
		err := Each(p.Namespace, p.Prefix, func(k *as.Key, vals []any) error {
			bins := as.BinMap{}
			for i, s := range Specs {
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
	written.holders[p]++
	return nil
}

// Release deletes the records when their last holder lets go of them. If nobody
// in this process holds them it does nothing.
func (p Place) Release(client *as.Client) error {
	written.Lock()
	defer written.Unlock()
	switch written.holders[p] {
	case 0:
		return nil
	case 1:
		delete(written.holders, p)
		return p.remove(client)
	}
	written.holders[p]--
	return nil
}

// remove deletes what Hold wrote, and nothing else.
func (p Place) remove(client *as.Client) error {
	return Each(p.Namespace, p.Prefix, func(k *as.Key, _ []any) error {
		if _, aerr := client.Delete(nil, k); aerr != nil {
			return fmt.Errorf("delete %s/%s: %w; records under prefix %q may be left", k.Namespace(), k.SetName(), aerr, p.Prefix)
		}
		return nil
	})
}

// empty refuses a namespace with records under the prefix.
func (p Place) empty(client *as.Client) error {
	if p.Reuse {
		return nil
	}
	do := fmt.Sprintf("set %s to another prefix, or %s=yes to overwrite and delete them", PrefixVariable, ReuseVariable)
	for _, n := range client.GetNodes() {
		name := "sets/" + p.Namespace
		m, err := n.RequestInfo(as.NewInfoPolicy(), name)
		if err != nil {
			return fmt.Errorf("info %s: %w", name, err)
		}
		if strings.HasPrefix(m[name], "ERROR") {
			return fmt.Errorf("node %s doesn't tell its sets (%s), so there may be records under %q; %s", n.GetName(), m[name], p.Prefix, do)
		}
		for _, s := range strings.Split(m[name], ";") {
			if set := part(s, "set"); strings.HasPrefix(set, p.Prefix) && part(s, "objects") != "0" {
				return fmt.Errorf("%w: set %s of namespace %s; %s", ErrPrefix, set, p.Namespace, do)
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
