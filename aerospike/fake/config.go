package fake

import (
	"errors"
	"fmt"
	"time"

	"latlab.example/aerospike/wire"
	"latlab.example/common/emu"
)

// Config shapes a cluster. The zero Config is one node with namespace "test"
// that answers at once.
type Config struct {
	Addr       string   // where node 0 listens; 127.0.0.1:0 if empty. Other nodes take free ports of that host
	Nodes      int      // 1 if zero
	Replicas   int      // nodes that own a partition; 1 if zero
	Namespaces []string // "test" if empty

	Request   time.Duration // a request's cost, whatever its size
	Key       time.Duration // each key's cost
	RoundTrip time.Duration // there and back; takes no worker
	Workers   int           // requests that a node serves at once; no limit if zero
	Waiter    emu.Waiter    // passes the costs; needed if there are any

	Shuffle bool    // rows of a batch come out of order even where inline is allowed
	Misses  float64 // part of the keys, chosen by digest, that reads don't find though they are there
	Block   int     // largest frame of a batch's reply in bytes, if its rows are smaller; 128 KiB if zero
	Seed    uint64  // of orders and misses

	// Faults are for operations batch, get (exists too), put (operate too),
	// delete, info and key (each row of a batch), at any node or, as node1.batch,
	// at one; nodes count from 0. Their kinds mean: error, the result code
	// FaultCode; reset, the connection closes instead of an answer; short, half of
	// the answer comes and then nothing; torn, half of it and the connection
	// closes; slow, the answer comes later. For key, every kind but slow is error;
	// for info, error is reset.
	Faults    *emu.Schedule
	FaultCode uint8 // wire.ServerError if zero
}

// ErrConfig occurs when a Config can't be; it comes wrapped with why.
var ErrConfig = errors.New("not a cluster")

const maxNodes = 64

var operations = [...]string{"batch", "get", "put", "delete", "info", "key"}

func (c *Config) fill() error {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	c.Nodes, c.Replicas = max(c.Nodes, 1), max(c.Replicas, 1)
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{"test"}
	}
	if c.Block == 0 {
		c.Block = 128 << 10
	}
	if c.FaultCode == 0 {
		c.FaultCode = wire.ServerError
	}
	switch {
	case c.Nodes > maxNodes || c.Replicas > c.Nodes:
		return fmt.Errorf("fake: %w: %d nodes with %d replicas; take at most %d nodes, and no more replicas than nodes", ErrConfig, c.Nodes, c.Replicas, maxNodes)
	case c.Request < 0 || c.Key < 0 || c.RoundTrip < 0 || c.Workers < 0 || c.Block < wire.HeaderSize:
		return fmt.Errorf("fake: %w: costs, workers and block size can't be negative", ErrConfig)
	case !(c.Misses >= 0 && c.Misses <= 1):
		return fmt.Errorf("fake: %w: misses %v; give a part from 0 to 1", ErrConfig, c.Misses)
	case c.Waiter == nil && (c.Request > 0 || c.Key > 0 || c.RoundTrip > 0 || c.Faults != nil):
		return fmt.Errorf("fake: %w: costs and faults need a waiter: emu.Spin", ErrConfig)
	}
	for _, ns := range c.Namespaces {
		if ns == "" || len(ns) > 31 {
			return fmt.Errorf("fake: %w: namespace %q; its name has 1 to 31 bytes", ErrConfig, ns)
		}
	}
	known := operations[:]
	for i := range c.Nodes {
		for _, op := range operations {
			known = append(known[:len(known):len(known)], nodeOp(i, op))
		}
	}
	if err := c.Faults.Check(known...); err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	return nil
}

func nodeOp(node int, op string) string { return fmt.Sprintf("node%d.%s", node, op) }
