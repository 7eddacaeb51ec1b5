// Package app is the spatial service as a program, for any load tool.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"latlab.example/common/emu"
	"latlab.example/common/metrics"
	"latlab.example/spatial"
)

// ErrUsage occurs when Serve can't understand its flags.
var ErrUsage = errors.New("see -h")

// DSNVariable names the database, unless a flag does.
const DSNVariable = "LATLAB_POSTGIS"

// Serve runs the service until ctx ends: the command behind `latlab app
// spatial`. args are its flags; -h prints them to out and ends it. It prints the
// service's address on a line of its own, then what can be asked.
func Serve(ctx context.Context, out io.Writer, args ...string) (err error) {
	var o spatial.Options
	flags := flag.NewFlagSet("app spatial", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	addr := flags.String("addr", "127.0.0.1:0", "address to listen at; port 0 takes a free one")
	dsn := flags.String("dsn", "", "the database, by default what "+DSNVariable+" says; what latlab fake postgis prints will do")
	flags.IntVar(&o.PoolSize, "pool", spatial.PoolToggle.Baseline(), "most connections to the database")
	flags.StringVar((*string)(&o.Search), "search", "", "radius, sorted, nearest, geometry-box or geometry-cast (default radius)")
	flags.StringVar((*string)(&o.Acquire), "acquire", "", "park or spin (default park)")
	flags.StringVar((*string)(&o.Fetch), "fetch", "", "media by any, n+1, batch or fan-out (default any)")
	flags.BoolVar(&o.Nested, "nested", false, "take a second connection for guides")
	flags.StringVar((*string)(&o.LogPlace), "log-place", "", "write the log after the connection was given back, or while it is held (default after)")
	level := flags.String("rowlog", string(spatial.LogOff), "off, summary or row; PUT /rowlog?level=row changes it")
	sink := flags.String("sink", "discard", "where the log goes: discard, stderr or file:PATH, which is appended to")
	line := flags.Duration("line", 0, "if not 0: the log is a simulated terminal, and shows a line in this time")
	timeout := flags.Duration("timeout", 30*time.Second, "most time for an answer")
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
	if *dsn == "" {
		*dsn = os.Getenv(DSNVariable) // no default of the flag: its help would show it
	}
	if *dsn == "" {
		return fmt.Errorf("no database is named: give -dsn, or set %s; %w", DSNVariable, ErrUsage)
	}
	if o.Pool, err = spatial.ParsePool(*dsn); err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	to, closeSink, err := openSink(*sink, *line)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSink()) }()
	if o.Log, err = spatial.NewRowLog(to, spatial.LogLevel(*level)); err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	o.Recorder = metrics.NewRecorder(spatial.Stages)
	s, err := spatial.New(ctx, o)
	if errors.Is(err, spatial.ErrOptions) {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	} else if err != nil {
		return err
	}
	defer s.Close()
	size, err := s.Size(ctx)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s\n%d locations, %d guides, %d media. Try /places?lon=126.98&lat=37.57&radius=5000, /gauges, /stages, /rowlog. Stop it with Ctrl-C.\n",
		l.Addr(), size.Locations, size.Guides, size.Media); err != nil {
		return errors.Join(err, l.Close())
	}
	return serve(ctx, l, http.TimeoutHandler(s.Handler(), *timeout, "no answer in time\n"))
}

// serve answers until ctx ends, and lets requests under way finish.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := srv.Shutdown(last)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if serr := <-ended; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

// openSink opens where the row log goes.
func openSink(name string, line time.Duration) (w io.Writer, done func() error, err error) {
	nothing := func() error { return nil }
	if line != 0 {
		w, err = spatial.NewTerminal(line, emu.Sleep)
		if err != nil {
			err = fmt.Errorf("%w; %w", err, ErrUsage)
		}
		return w, nothing, err
	}
	const file = "file:"
	switch {
	case name == "discard":
		return io.Discard, nothing, nil
	case name == "stderr":
		return os.Stderr, nothing, nil
	case len(name) > len(file) && name[:len(file)] == file:
		f, err := os.OpenFile(name[len(file):], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	return nil, nil, fmt.Errorf("no log sink %q: use discard, stderr or file:PATH; %w", name, ErrUsage)
}
