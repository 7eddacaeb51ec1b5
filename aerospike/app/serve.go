// Package app is the recommendation service as a program, for any load tool.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	as "github.com/aerospike/aerospike-client-go/v7"

	"latlab.example/aerospike/fake"
	"latlab.example/aerospike/predict"
	"latlab.example/aerospike/records"
	"latlab.example/common/emu"
	"latlab.example/common/metrics"
)

// ErrUsage occurs when Serve can't understand its flags.
var ErrUsage = errors.New("see -h")

// options are Serve's flags.
type options struct {
	addr       string
	place      records.Place
	workers    int
	limit      int
	inference  string
	slots      int
	queue      int
	fakeConfig fake.Config
}

func parse(out io.Writer, args []string) (o options, err error) {
	o.place = records.FromEnv()
	flags := flag.NewFlagSet("app predict", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	flags.StringVar(&o.addr, "addr", "127.0.0.1:0", "address to listen at; port 0 takes a free one")
	flags.StringVar(&o.place.Addr, "aerospike", o.place.Addr, "host:port of a node, by default "+records.AddrVariable+"; empty: a fake of its own, in memory")
	flags.StringVar(&o.place.Namespace, "namespace", o.place.Namespace, "of the records")
	flags.StringVar(&o.place.Prefix, "prefix", o.place.Prefix, "of the sets that are written on a server, and deleted at the end; empty: writes nothing, and reads what is there")
	flags.BoolVar(&o.place.Reuse, "reuse", o.place.Reuse, "overwrite and delete records that are there already under the prefix")
	flags.IntVar(&o.workers, "workers", 16, "size of the pool that the official readers run on; 0 is none")
	flags.IntVar(&o.limit, "limit", 0, "reads under way at once; 0 is no limit")
	flags.StringVar(&o.inference, "inference", string(predict.InferenceToggle.Baseline()), "inline, or pool: a bounded number of requests is scored at once")
	flags.IntVar(&o.slots, "slots", 0, "of -inference pool; 0 is one a processor")
	flags.IntVar(&o.queue, "connections", 128, "to each node, opened beforehand")
	flags.DurationVar(&o.fakeConfig.Request, "request", 0, "of the fake: cost of a request")
	flags.DurationVar(&o.fakeConfig.Key, "key", 0, "of the fake: cost of each of its keys")
	flags.DurationVar(&o.fakeConfig.RoundTrip, "round-trip", 0, "of the fake: time there and back")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		flags.Usage()
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w; %w", err, ErrUsage)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("takes flags, no argument %q; %w", flags.Arg(0), ErrUsage)
	}
	if o.queue < 1 {
		return o, fmt.Errorf("-connections %d; give at least 1; %w", o.queue, ErrUsage)
	}
	return o, nil
}

// Serve runs the service until ctx ends: the command behind `latlab app predict`.
// args are its flags; -h prints them to out and ends it. It prints the service's
// URL on a line of its own, then what can be asked. On a real server it writes
// records under its prefix, and deletes them at the end.
func Serve(ctx context.Context, out io.Writer, args ...string) (err error) {
	o, err := parse(out, args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	what := "the cluster at " + o.place.Addr
	if o.place.Addr == "" {
		c, ferr := o.own()
		if ferr != nil {
			return ferr
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		o.place.Addr, o.place.Prefix, what = c.Addrs()[0], "", "a modelled cluster, in memory"
	}
	client, err := connect(o.place.Addr, o.queue)
	if err != nil {
		return err
	}
	defer client.Close()
	if o.place.Prefix != "" {
		if err := o.place.Hold(client); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.place.Release(client)) }()
	}
	s, err := predict.New(predict.Options{
		Client: client, Namespace: o.place.Namespace, Prefix: o.place.Prefix, Workers: o.workers, Limit: o.limit,
		Inference: predict.Inference(o.inference), Slots: o.slots, Recorder: metrics.NewRecorder(predict.Stages),
	})
	if errors.Is(err, predict.ErrOptions) {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	} else if err != nil {
		return err
	}
	defer s.Close()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return fmt.Errorf("listen: %w; choose another -addr, or port 0 for a free one", err)
	}
	if _, err := fmt.Fprintf(out, "http://%s\nreads %s. GET %s, /health, /metrics (stages are on with %s=on). Stop it with Ctrl-C.\n",
		l.Addr(), what, predict.Ask{}.Path(), metrics.EnvStages); err != nil {
		return errors.Join(err, l.Close())
	}
	return listen(ctx, l, s)
}

// own starts a fake with the records.
func (o *options) own() (*fake.Cluster, error) {
	o.fakeConfig.Waiter = emu.Spin
	o.fakeConfig.Namespaces = []string{o.place.Namespace}
	c, err := fake.New(o.fakeConfig)
	if errors.Is(err, fake.ErrConfig) {
		return nil, fmt.Errorf("%w; %w", err, ErrUsage)
	} else if err != nil {
		return nil, err
	}
	if err := records.Fill(c, o.place.Namespace); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// connect opens so many connections a node: an empty pool fails a read.
func connect(addr string, connections int) (*as.Client, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("-aerospike %q: %w; give host:port; %w", addr, err, ErrUsage)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("-aerospike %q: %w; give host:port; %w", addr, err, ErrUsage)
	}
	p := as.NewClientPolicy()
	p.ConnectionQueueSize = connections + 8 // and the client's own
	client, aerr := as.NewClientWithPolicy(p, host, n)
	if aerr != nil {
		return nil, fmt.Errorf("connect to %s: %w; is a server there?", addr, aerr)
	}
	if _, aerr := client.WarmUp(connections); aerr != nil {
		client.Close()
		return nil, fmt.Errorf("open %d connections to %s: %w", connections, addr, aerr)
	}
	return client, nil
}

// listen serves until ctx ends, and lets requests end.
func listen(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if serr := <-ended; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
