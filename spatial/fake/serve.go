package fake

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"

	"latlab.example/common/emu"
	"latlab.example/spatial/data"
)

// ErrUsage occurs when Serve can't understand its flags.
var ErrUsage = errors.New("see -h")

// Serve runs a server for any client until ctx ends: the command behind `latlab
// fake postgis`. args are its flags; -h prints them to out and ends it. It
// prints its address on a line of its own, then how to connect with psql and a
// query to try.
func Serve(ctx context.Context, out io.Writer, args ...string) (err error) {
	cfg, of := Config{Waiter: emu.Spin}, data.Study()
	flags := flag.NewFlagSet("fake postgis", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	addr := flags.String("addr", "127.0.0.1:0", "address; port 0 takes a free one")
	flags.IntVar(&of.Locations, "locations", of.Locations, "places in the data")
	flags.IntVar(&of.Guides, "guides", of.Guides, "guides in the data")
	flags.Uint64Var(&of.Seed, "data-seed", of.Seed, "seed of the data")
	flags.IntVar(&cfg.Cores, "cores", 2, "cores on which statements queue; 0 is no limit")
	costs := flags.String("costs", "typical", "CPU time of statements: typical, or none")
	hold := flags.String("hold", "", "what a search takes beside the CPU, such as 100ms or exp(5ms,cap=50ms)")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "of -hold")
	flags.IntVar(&cfg.MaxConns, "max-connections", 100, "more are refused")
	flags.IntVar(&cfg.Backends, "backends", 0, "server processes that connections share, as behind a transaction pooler; 0 is one each")
	flags.DurationVar(&cfg.CancelDelay, "cancel-delay", 0, "how late the signal of a cancel request comes")
	faults := flags.String("faults", "", "schedule of faults, such as search:slow(2s)@every(100); connect:error@3")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		flags.Usage()
		return nil
	} else if err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("takes flags, no argument %q; %w", flags.Arg(0), ErrUsage)
	case *costs == "typical":
		cfg.Cost = Typical()
	case *costs != "none":
		return fmt.Errorf("-costs %q is neither typical nor none; %w", *costs, ErrUsage)
	}
	if *hold != "" {
		if cfg.Hold, err = emu.ParseLatency(*hold); err != nil {
			return fmt.Errorf("-hold: %w; %w", err, ErrUsage)
		}
	}
	if cfg.Faults, err = emu.ParseFaults(*faults); err != nil {
		return fmt.Errorf("-faults: %w; %w", err, ErrUsage)
	}
	if cfg.Data, err = data.New(of); err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	listen := *addr
	cfg.Listen = func() (net.Listener, error) { return new(net.ListenConfig).Listen(ctx, "tcp", listen) }
	s, err := New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fixed := cfg.Data.Locations[data.Fixed-1]
	if _, err := fmt.Fprintf(out, `%s
A modelled PostgreSQL with PostGIS, in memory: %s. Stop it with Ctrl-C.
  psql '%s'
It answers the case's statements and little else. Try:
  %s
`, s.Addr(), of, s.DSN(), Example(fixed.Lon, fixed.Lat, 5000, 5)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
