package aerospike

import (
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"
)

// routesAge is how long a partition's node is believed: short beside the
// client's tend interval, by which its own map may be old.
const routesAge = 50 * time.Millisecond

const partitions = 4096

// routes remembers which node has a partition. Asking the client takes locks
// for every key.
type routes struct {
	by      way
	until   time.Time
	nodes   [partitions]*as.Node
	alive   *as.Node // was active when this read began to use it
	kept    bool     // the policy gives a partition the same node each time
	cluster *as.Cluster
}

// way is what a partition's node depends on.
type way struct {
	client      *as.Client
	namespace   string
	replica, sc as.ReplicaPolicy
}

// use prepares for a read.
func (r *routes) use(client *as.Client, p *as.BatchPolicy, namespace string) {
	by := way{client, namespace, p.ReplicaPolicy, as.GetReplicaPolicySC(&p.BasePolicy)}
	if now := time.Now(); by != r.by || now.After(r.until) {
		*r = routes{by: by, until: now.Add(routesAge), cluster: client.Cluster()}
		r.kept = steady(by.replica) && steady(by.sc)
	}
	r.alive = nil
}

func steady(p as.ReplicaPolicy) bool { return p == as.SEQUENCE || p == as.MASTER }

// forget makes the next read ask the client again.
func (r *routes) forget() { r.until = time.Time{} }

// node is the one to ask for a key.
func (r *routes) node(k *as.Key) (*as.Node, as.Error) {
	if !r.kept || k.Namespace() != r.by.namespace {
		return as.GetNodeBatchRead(r.cluster, k, r.by.replica, r.by.sc, nil, 0, 0)
	}
	slot := &r.nodes[k.PartitionId()]
	if n := *slot; n != nil && (n == r.alive || n.IsActive()) {
		r.alive = n
		return n, nil
	}
	n, err := as.GetNodeBatchRead(r.cluster, k, r.by.replica, r.by.sc, nil, 0, 0)
	*slot = n
	return n, err
}
