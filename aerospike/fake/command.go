package fake

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"latlab.example/common/emu"
)

// ErrUsage occurs when Serve can't understand its flags.
var ErrUsage = errors.New("see -h")

// Serve runs a cluster for any client until ctx ends: the command behind `latlab
// fake aerospike`. args are its flags; -h prints them to out and ends it. It
// prints each node's address on a line of its own, then how to connect.
func Serve(ctx context.Context, out io.Writer, args ...string) (err error) {
	cfg := Config{Waiter: emu.Spin}
	flags := flag.NewFlagSet("fake aerospike", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	flags.StringVar(&cfg.Addr, "addr", "127.0.0.1:0", "address of the first node; port 0 takes a free one")
	flags.IntVar(&cfg.Nodes, "nodes", 1, "nodes, which split the partitions")
	flags.IntVar(&cfg.Replicas, "replicas", 1, "nodes that own each partition")
	namespaces := flags.String("namespaces", "test", "namespaces, separated by commas")
	flags.DurationVar(&cfg.Request, "request", 0, "cost of a request")
	flags.DurationVar(&cfg.Key, "key", 0, "cost of each of its keys")
	flags.DurationVar(&cfg.RoundTrip, "round-trip", 0, "time there and back")
	flags.IntVar(&cfg.Workers, "workers", 0, "requests that a node serves at once; 0 is no limit")
	flags.BoolVar(&cfg.Shuffle, "shuffle", false, "answer the rows of a batch out of order")
	flags.Float64Var(&cfg.Misses, "misses", 0, "part of the keys that reads don't find, 0 to 1")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "of orders and misses")
	faults := flags.String("faults", "", "schedule of faults, such as batch:reset@every(100); key:error@3")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		flags.Usage()
		return nil
	} else if err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("takes flags, no argument %q; %w", flags.Arg(0), ErrUsage)
	}
	cfg.Namespaces = strings.Split(*namespaces, ",")
	if cfg.Faults, err = emu.ParseFaults(*faults); err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	c, err := New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, addr := range c.Addrs() {
		if _, err := fmt.Fprintln(out, addr); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "a modelled cluster, in memory; namespaces %s. Stop it with Ctrl-C.\n", strings.Join(cfg.Namespaces, ", ")); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
