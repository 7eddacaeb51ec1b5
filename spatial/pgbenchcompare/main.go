// Command pgbenchcompare asks one PostGIS the same question with the load
// generator of package common/load and with pgbench, in turns, and prints both
// rates and their ratio. Its exit status says whether the generator keeps up.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"latlab.example/spatial/study"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "pgbenchcompare:", err)
		os.Exit(1)
	}
}

var (
	errUsage = errors.New("usage") // what is wrong has been said
	errBar   = errors.New("bar missed")
)

// bar is the least part of pgbench's rate that the generator must reach.
const bar = 0.95

// setting is what both programs are told.
type setting struct {
	dsn     string
	clients int
	span    time.Duration
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	var s setting
	flags := flag.NewFlagSet("pgbenchcompare", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&s.dsn, "dsn", "", "a PostGIS with the data, by default what "+study.DSNVariable+" says")
	flags.IntVar(&s.clients, "clients", 8, "connections, each of which asks again as soon as it is answered")
	flags.DurationVar(&s.span, "time", 3*time.Second, "length of a measurement, in whole seconds")
	rounds := flags.Int("rounds", 7, "measurements with each program, 5 at least")
	program := flags.String("pgbench", "pgbench", "pgbench's name or path")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if *rounds < 5 || s.span < time.Second || s.span%time.Second != 0 || s.clients < 1 || flags.NArg() > 0 {
		fmt.Fprintln(errs, "pgbenchcompare: at least 5 rounds of whole seconds, and no other argument")
		return errUsage
	}
	if s.dsn == "" {
		s.dsn = os.Getenv(study.DSNVariable) // no default of the flag: its help would show it
	}
	if s.dsn == "" {
		fmt.Fprintf(errs, "pgbenchcompare: no PostGIS is named; run `make postgis-up` and set %s to the DSN that it prints\n", study.DSNVariable)
		return errUsage
	}
	q, err := question(ctx, s.dsn)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a search of %g km at %.4f %.4f for %d rows, by %d connections: %d rounds of %v with each, in turns\n",
		q.Radius/1000, q.Lat, q.Lon, q.Limit, s.clients, *rounds, s.span)
	var own, theirs, ratios []float64
	for i := range *rounds {
		a, b, err := both(i%2 == 0, func() (float64, error) { return ours(ctx, s, q) }, func() (float64, error) { return pgbench(ctx, *program, s, q) })
		if err != nil {
			return err
		}
		fmt.Fprintf(errs, "round %d of %d: %.0f and %.0f a second\n", i+1, *rounds, a, b)
		own, theirs, ratios = append(own, a), append(theirs, b), append(ratios, a/b)
	}
	ratio := median(ratios)
	slices.Sort(ratios)
	fmt.Fprintf(out, "median answers a second: load generator %.0f, pgbench %.0f; ratio %.3f (rounds from %.3f to %.3f; the bar is %.2f)\n",
		median(own), median(theirs), ratio, ratios[0], ratios[len(ratios)-1], bar)
	if ratio < bar {
		return fmt.Errorf("%w: the load generator reached %.3f of pgbench's rate", errBar, ratio)
	}
	return nil
}

// both runs two measurements, one of them first.
func both(first bool, one, two func() (float64, error)) (a, b float64, err error) {
	if first {
		if a, err = one(); err != nil {
			return 0, 0, err
		}
		b, err = two()
		return a, b, err
	}
	if b, err = two(); err != nil {
		return 0, 0, err
	}
	a, err = one()
	return a, b, err
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
