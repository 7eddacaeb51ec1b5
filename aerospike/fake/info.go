package fake

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"latlab.example/aerospike/wire"
)

// build is what the fake claims to be: the version that its replies were
// compared with.
const build = "8.1.0.0"

// ClusterName is what a fake answers when asked for its cluster's name: whoever
// measures can see that it is a fake.
const ClusterName = "latlab-fake"

// info answers the commands of one request.
func (n *node) info(names []string) []byte {
	var reply []byte
	for _, name := range names {
		reply = wire.AppendInfoReply(reply, wire.Info{Name: name, Value: n.infoValue(name)})
	}
	return reply
}

func (n *node) infoValue(name string) string {
	c := n.cluster
	switch name {
	case "build":
		return build
	case "node":
		return n.called()
	case "features":
		return "batch-any;pquery;pscans;query-show"
	case "cluster-name":
		return ClusterName
	case "service-clear-std":
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.addr
	case "peers-generation", "partition-generation":
		c.mu.Lock()
		defer c.mu.Unlock()
		return strconv.Itoa(c.generation)
	case "peers-clear-std":
		return c.peers(n)
	case "replicas":
		return c.replicas(n)
	}
	return "ERROR:4:unrecognized command"
}

// present are the nodes that listen.
func (c *Cluster) present() []*node {
	var all []*node
	for _, n := range c.nodes {
		n.mu.Lock()
		if n.listener != nil {
			all = append(all, n)
		}
		n.mu.Unlock()
	}
	return all
}

// peers lists the other nodes: generation,port,[[name,tls,[address]],...].
func (c *Cluster) peers(to *node) string {
	var all []string
	for _, n := range c.present() {
		if n != to {
			n.mu.Lock()
			all = append(all, fmt.Sprintf("[%s,,[%s]]", n.name, n.addr))
			n.mu.Unlock()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d,3000,[%s]", c.generation, strings.Join(all, ","))
}

// replicas says which partitions the node owns: a bitmap a replica, for each
// namespace. Partition p is on the nodes p, p+1, ... of those that are present.
func (c *Cluster) replicas(to *node) string {
	present := c.present()
	factor := min(c.cfg.Replicas, len(present))
	var maps strings.Builder
	for r := range factor {
		var owned [partitions / 8]byte
		for p := range partitions {
			if present[(p+r)%len(present)] == to {
				owned[p/8] |= 0x80 >> (p % 8)
			}
		}
		maps.WriteString("," + base64.StdEncoding.EncodeToString(owned[:]))
	}
	var all strings.Builder
	for _, ns := range c.cfg.Namespaces {
		fmt.Fprintf(&all, "%s:0,%d%s;", ns, factor, maps.String())
	}
	return all.String()
}

// epoch is where a record's time to live counts from.
var epoch = time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)

// expiry is what a reply says of a record that was written now with that time to
// live. Nothing expires here, but clients show it.
func expiry(ttl uint32) uint32 {
	const keep, never = 0xfffffffe, 0xffffffff
	if ttl == 0 || ttl == never || ttl == keep {
		return 0
	}
	return uint32(time.Since(epoch)/time.Second) + ttl
}
