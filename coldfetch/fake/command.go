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

// Serve runs a server for any client until ctx ends: the command behind `latlab
// fake s3`. args are its flags; -h prints them to out and ends it. It prints the
// endpoint on a line of its own, then how to connect.
func Serve(ctx context.Context, out io.Writer, args ...string) (err error) {
	cfg := Config{Waiter: emu.Spin}
	flags := flag.NewFlagSet("fake s3", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	addr := flags.String("addr", "127.0.0.1:0", "address to listen at; port 0 takes a free one")
	flags.StringVar(&cfg.AccessKey, "access-key", DefaultAccessKey, "access key")
	flags.StringVar(&cfg.SecretKey, "secret-key", DefaultSecretKey, "secret key")
	flags.StringVar(&cfg.Region, "region", DefaultRegion, "region")
	flags.StringVar(&cfg.Domain, "domain", DefaultDomain, "host under which a bucket is a sub-domain")
	buckets := flags.String("buckets", "docs", "buckets, separated by commas")
	profile := flags.String("profile", "loopback", "loopback, lan or wan")
	first := flags.String("first-byte", "", "time to the first byte instead of the profile's, such as 30ms or exp(30ms,cap=1s)")
	connect := flags.Duration("connect", -1, "time to connect instead of the profile's")
	perConn := flags.Int64("connection-rate", -1, "bytes a second of one connection instead of the profile's; 0 is no limit")
	total := flags.Int64("total-rate", -1, "bytes a second in all instead of the profile's; 0 is no limit")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "of latencies")
	faults := flags.String("faults", "", "schedule of faults, such as get:reset@every(100); put:error@3")
	flags.Int64Var(&cfg.FaultAt, "fault-at", 0, "byte of the body at which faults act; 0 is its middle")
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
	usage := func(err error) error { return fmt.Errorf("%w; %w", err, ErrUsage) }
	if *buckets != "" {
		cfg.Buckets = strings.Split(*buckets, ",")
	}
	if cfg.Profile, err = ProfileNamed(*profile); err != nil {
		return usage(err)
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["first-byte"] {
		if cfg.Profile.FirstByte, err = emu.ParseLatency(*first); err != nil {
			return usage(err)
		}
	}
	if given["connect"] {
		cfg.Profile.Connect = *connect
	}
	if given["connection-rate"] {
		cfg.Profile.PerConnection = *perConn
	}
	if given["total-rate"] {
		cfg.Profile.Total = *total
	}
	if given["first-byte"] || given["connect"] || given["connection-rate"] || given["total-rate"] {
		cfg.Profile.Name = "own"
	}
	if cfg.Faults, err = emu.ParseFaults(*faults); err != nil {
		return usage(err)
	}
	s, err := New(cfg)
	if errors.Is(err, ErrConfig) || errors.Is(err, emu.ErrUnknownOp) {
		return usage(err)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	at, err := s.Start(*addr)
	if err != nil {
		return err
	}
	cfg = s.cfg
	if _, err := fmt.Fprintf(out, "http://%s\na modelled object store, in memory; profile %s\naccess key %s, secret key %s, region %s, buckets %s. Stop it with Ctrl-C.\n",
		at, cfg.Profile, cfg.AccessKey, cfg.SecretKey, cfg.Region, *buckets); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
