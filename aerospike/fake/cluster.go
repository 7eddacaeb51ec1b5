package fake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"latlab.example/aerospike/wire"
	"latlab.example/common/emu"
)

const partitions = 4096

// Cluster is a fake cluster that listens. Its methods may be called
// concurrently.
type Cluster struct {
	cfg    Config
	store  store
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	nodes  []*node

	mu          sync.Mutex
	generation  int           // guarded by mu: of peers and partitions
	unavailable map[int]bool  // guarded by mu: partitions that answer code 11
	away        atomic.Uint64 // how many partitions are unavailable; zero saves the lock
}

// node is one address. Its connections share its workers.
type node struct {
	cluster *Cluster
	index   int
	ops     map[string]string // an operation's name at this node, for faults

	changing sync.Mutex // held to listen and to leave, until it is done; taken before mu

	mu       sync.Mutex
	addr     string            // guarded by mu
	name     string            // guarded by mu
	listener net.Listener      // guarded by mu; nil while the node is away
	conns    map[net.Conn]bool // guarded by mu
	busy     []time.Time       // guarded by mu: when each worker is free again
	use      Use               // guarded by mu
	running  sync.WaitGroup    // the listener's and the connections' goroutines
}

// Use is what a cluster was asked since it was made, without info requests.
type Use struct {
	Requests int64
	Keys     int64
	Queued   time.Duration // that requests waited for a worker, added up
}

// New starts a cluster. Close it.
func New(cfg Config) (*Cluster, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, generation: 1, unavailable: map[int]bool{}}
	c.store.init(cfg.Namespaces)
	// All nodes are there before the first answers: it tells of the others.
	for i := range cfg.Nodes {
		n := &node{cluster: c, index: i, addr: cfg.Addr, name: fmt.Sprintf("FAKE%04X", i), ops: map[string]string{}, busy: make([]time.Time, cfg.Workers)}
		if i > 0 {
			host, _, err := net.SplitHostPort(cfg.Addr)
			if err != nil {
				return nil, fmt.Errorf("fake: address of node 0: %w", err)
			}
			n.addr = net.JoinHostPort(host, "0")
		}
		for _, op := range operations {
			n.ops[op] = nodeOp(i, op)
		}
		c.nodes = append(c.nodes, n)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for _, n := range c.nodes {
		if err := n.listen(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Addrs are the nodes' addresses, host:port, also of those that are away.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, n := range c.nodes {
		n.mu.Lock()
		all = append(all, n.addr)
		n.mu.Unlock()
	}
	return all
}

// Names are the nodes' names.
func (c *Cluster) Names() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.called())
	}
	return all
}

// Use adds up what the nodes were asked.
func (c *Cluster) Use() (sum Use) {
	for _, n := range c.nodes {
		n.mu.Lock()
		sum.Requests += n.use.Requests
		sum.Keys += n.use.Keys
		sum.Queued += n.use.Queued
		n.mu.Unlock()
	}
	return sum
}

// Close closes all listeners and connections and waits until nothing runs.
func (c *Cluster) Close() error {
	c.cancel()
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.leave())
	}
	return errors.Join(errs...)
}

// Leave takes node i out of the cluster: its connections break, and its
// partitions go to the other nodes. The records stay.
func (c *Cluster) Leave(i int) error {
	err := c.nodes[i].leave()
	c.changed()
	return err
}

// Return brings node i back at its old address. The error wraps net.ErrClosed
// after Close.
func (c *Cluster) Return(i int) error {
	if err := c.nodes[i].listen(); err != nil {
		return err
	}
	c.changed()
	return nil
}

// Rename gives node i another name, as a restarted server may have one. Clients
// drop the node and find it again.
func (c *Cluster) Rename(i int, name string) {
	n := c.nodes[i]
	n.mu.Lock()
	n.name = name
	n.mu.Unlock()
	c.changed()
}

// Unavailable says whether keys in a partition answer result code 11.
func (c *Cluster) Unavailable(partition int, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on {
		c.unavailable[partition] = true
	} else {
		delete(c.unavailable, partition)
	}
	c.away.Store(uint64(len(c.unavailable)))
}

// Put writes a record, at no cost: nil values are left out.
func (c *Cluster) Put(namespace string, d wire.Digest, bins ...Bin) error {
	return c.store.load(namespace, d, bins)
}

func (c *Cluster) changed() {
	c.mu.Lock()
	c.generation++
	c.mu.Unlock()
}

func (c *Cluster) gone(d *wire.Digest) bool {
	if c.away.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unavailable[partitionOf(d)]
}

func partitionOf(d *wire.Digest) int { return (int(d[0]) | int(d[1])<<8) & (partitions - 1) }

// missed decides by the digest alone whether reads don't find a record.
func (c *Cluster) missed(d *wire.Digest) bool {
	if c.cfg.Misses == 0 {
		return false
	}
	h := c.cfg.Seed ^ 0x9e3779b97f4a7c15
	for _, b := range d {
		h = bits.RotateLeft64((h^uint64(b))*0x100000001b3, 29)
	}
	return float64(h>>11)/(1<<53) < c.cfg.Misses
}

func (n *node) called() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

func (n *node) listen() error {
	n.changing.Lock()
	defer n.changing.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cluster.ctx.Err() != nil {
		return fmt.Errorf("fake: node %d: %w: the cluster is; make another", n.index, net.ErrClosed)
	}
	if n.listener != nil {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(n.cluster.ctx, "tcp", n.addr)
	if err != nil {
		return fmt.Errorf("fake: node %d: %w; choose another address, or port 0 for a free one", n.index, err)
	}
	n.listener, n.addr, n.conns = l, l.Addr().String(), map[net.Conn]bool{}
	n.running.Add(1)
	go n.accept(l)
	return nil
}

func (n *node) leave() error {
	n.changing.Lock()
	defer n.changing.Unlock()
	n.mu.Lock()
	l := n.listener
	n.listener = nil
	for c := range n.conns {
		_ = c.Close() // its reader sees the error
	}
	n.mu.Unlock()
	if l == nil {
		return nil
	}
	err := l.Close()
	n.running.Wait()
	return err
}

// acceptPause is how long a node waits after it couldn't accept a connection, as
// when the process has no descriptor left.
const acceptPause = 5 * time.Millisecond

func (n *node) accept(l net.Listener) {
	defer n.running.Done()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			if emu.Wait(n.cluster.ctx, emu.Sleep, acceptPause) != nil {
				return
			}
			continue
		}
		n.mu.Lock()
		if n.listener != l {
			n.mu.Unlock()
			_ = conn.Close()
			return
		}
		n.conns[conn] = true
		n.running.Add(1)
		n.mu.Unlock()
		go func() {
			defer n.running.Done()
			newSession(n, conn).run()
			n.mu.Lock()
			delete(n.conns, conn)
			n.mu.Unlock()
			_ = conn.Close()
		}()
	}
}

// due books a request with so many keys that arrived now, and says when its
// answer is with the client. The zero time means at once.
func (n *node) due(keys int) time.Time {
	cfg := &n.cluster.cfg
	cost := cfg.Request + time.Duration(min(int64(keys), math.MaxInt64/int64(cfg.Key+1)))*cfg.Key
	n.mu.Lock()
	defer n.mu.Unlock()
	n.use.Requests++
	n.use.Keys += int64(keys)
	if cfg.Waiter == nil || cost == 0 && cfg.RoundTrip == 0 {
		return time.Time{}
	}
	there := cfg.RoundTrip / 2
	arrived := cfg.Waiter.Now().Add(there)
	start := arrived
	if len(n.busy) > 0 {
		first := 0
		for i, free := range n.busy {
			if free.Before(n.busy[first]) {
				first = i
			}
		}
		if n.busy[first].After(start) {
			start = n.busy[first]
		}
		n.busy[first] = start.Add(cost)
	}
	n.use.Queued += start.Sub(arrived)
	return start.Add(cost + cfg.RoundTrip - there)
}
