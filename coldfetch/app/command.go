package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"

	"latlab.example/coldfetch"
	"latlab.example/coldfetch/fake"
	"latlab.example/coldfetch/pull"
	"latlab.example/coldfetch/seed"
	"latlab.example/coldfetch/store"
	"latlab.example/common/emu"
	"latlab.example/common/metrics"
	"latlab.example/common/metrics/prom"
)

// ErrUsage occurs when Serve can't understand its flags.
var ErrUsage = errors.New("see -h")

// flags of the command.
type flags struct {
	addr, dir, profile, bucket, prefix string
	mode, flight, build, sync          string
	cache, nodes, buffer, procs        int
	gzip, noSeed                       bool
	set                                *flag.FlagSet
}

func parse(args []string) (*flags, error) {
	f := &flags{set: flag.NewFlagSet("app coldfetch", flag.ContinueOnError)}
	f.set.SetOutput(io.Discard) // the error says what is wrong
	f.set.StringVar(&f.addr, "addr", "127.0.0.1:0", "address of the proxy; port 0 takes a free one")
	f.set.StringVar(&f.dir, "dir", "", "folder of pulled files; empty: a temporary one, so that every document is cold at first")
	f.set.StringVar(&f.profile, "store", "loopback", "the fake store's profile: loopback, lan or wan. Not with "+store.EndpointVariable)
	f.set.StringVar(&f.bucket, "bucket", "latlab", "bucket of the documents")
	f.set.StringVar(&f.prefix, "prefix", "", "of their keys")
	f.set.BoolVar(&f.noSeed, "no-seed", false, "take the documents that are in the bucket, and write nothing")
	f.set.StringVar(&f.mode, "mode", string(coldfetch.Loop), "how handlers run: "+labels(coldfetch.ModeToggle))
	f.set.StringVar(&f.flight, "single-flight", string(coldfetch.Alone), "what callers of one document share: "+labels(coldfetch.FlightToggle))
	f.set.StringVar(&f.build, "build-profile", string(coldfetch.AsIs), "the code that builds: "+labels(coldfetch.ProfileToggle))
	f.set.StringVar(&f.sync, "fsync", string(pull.SyncFolder), "what a pull flushes: "+labels(pull.SyncToggle))
	f.set.IntVar(&f.cache, "cache", 2, "built documents that are kept")
	f.set.IntVar(&f.nodes, "nodes", coldfetch.DefaultNodes, "size of a build")
	f.set.IntVar(&f.buffer, "proxy-buffer", 0, "bytes of an answer that the proxy takes ahead of its client")
	f.set.BoolVar(&f.gzip, "gzip", false, "compress answers")
	f.set.IntVar(&f.procs, "procs", 0, "GOMAXPROCS; 0 leaves it to Go")
	return f, f.set.Parse(args)
}

func labels[T any](t *metrics.Toggle[T]) string {
	var all []string
	for i := range t.Len() {
		all = append(all, t.Label(i))
	}
	return strings.Join(all, ", ")
}

// Serve runs the service behind its proxy until ctx ends: the command behind
// `latlab app coldfetch`. args are its flags; -h prints them to out and ends it.
// It prints the proxy's URL on a line of its own, then what to ask for. Its store
// is a fake in this process, or the one that LATLAB_S3 names.
//
// The proxy also answers /metrics, itself.
func Serve(ctx context.Context, out io.Writer, args ...string) (err error) {
	f, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.set.SetOutput(out)
		f.set.Usage()
		return nil
	} else if err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	if f.set.NArg() > 0 {
		return fmt.Errorf("takes flags, no argument %q; %w", f.set.Arg(0), ErrUsage)
	}
	cfg, err := f.config()
	if err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	if f.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(f.procs))
	}
	account, what, stop, err := f.openStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	client, tr, err := Client(account, nil)
	if err != nil {
		return err
	}
	defer tr.CloseIdleConnections()
	cfg.Client = client
	if !f.noSeed {
		if err := seed.Fill(ctx, seed.To(client, f.bucket), cfg.Prefix, seed.Documents()...); err != nil {
			return fmt.Errorf("%w; name a bucket that is there and may be written, or -no-seed", err)
		}
	}
	s, err := Start(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := fmt.Fprintf(out, "%s\nthe service itself: %s; its store: %s\nask for /api/list, /api/health, /metrics, or:\n", s.URL, s.Direct, what); err != nil {
		return err
	}
	for _, p := range Paths() {
		if _, err := fmt.Fprintln(out, s.URL+p); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, "Stop it with Ctrl-C."); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// config is the stack that the flags ask for, without a client.
func (f *flags) config() (c Config, err error) {
	c = Config{
		Bucket: f.bucket, Prefix: JoinPrefix(f.prefix), Dir: f.dir, CacheEntries: f.cache, Nodes: f.nodes, ProxyBuffer: f.buffer, Gzip: f.gzip,
		Recorder: metrics.NewRecorder(coldfetch.Stages, metrics.WithSwitch(true)), PullRecorder: metrics.NewRecorder(pull.Stages, metrics.WithSwitch(true)),
	}
	var errs [4]error
	c.Mode, errs[0] = coldfetch.ModeToggle.Parse(f.mode)
	c.Flight, errs[1] = coldfetch.FlightToggle.Parse(f.flight)
	c.Profile, errs[2] = coldfetch.ProfileToggle.Parse(f.build)
	c.Sync, errs[3] = pull.SyncToggle.Parse(f.sync)
	if f.cache < 0 || f.nodes < 0 || f.buffer < 0 || f.procs < 0 {
		errs[0] = errors.Join(errs[0], errors.New("-cache, -nodes, -proxy-buffer and -procs can't be negative"))
	}
	c.Listen = func(part string) (net.Listener, error) {
		if part == "proxy" {
			return net.Listen("tcp", f.addr)
		}
		return net.Listen("tcp", "127.0.0.1:0")
	}
	c.Around = func(h http.Handler, s *Stack) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/metrics", prom.Handler(s.Service.Recorder(), s.Pulls))
		mux.Handle("/", h)
		return mux
	}
	return c, errors.Join(errs[:]...)
}

// openStore starts a fake, or takes the store of the environment.
func (f *flags) openStore() (a store.Account, what string, stop func() error, err error) {
	a, named, err := store.FromEnv()
	if err != nil {
		return a, "", nil, err
	}
	if named {
		return a, a.Endpoint, func() error { return nil }, nil
	}
	p, err := fake.ProfileNamed(f.profile)
	if err != nil {
		return a, "", nil, fmt.Errorf("%w; %w", err, ErrUsage)
	}
	server, err := fake.New(fake.Config{Buckets: []string{f.bucket}, Profile: p, Waiter: emu.Spin})
	if err != nil {
		return a, "", nil, err
	}
	addr, err := server.Start("")
	if err != nil {
		return a, "", nil, errors.Join(err, server.Close())
	}
	return store.Account{Endpoint: addr, AccessKey: fake.DefaultAccessKey, SecretKey: fake.DefaultSecretKey, Region: fake.DefaultRegion},
		"a fake, " + p.String(), server.Close, nil
}
