// Command soak drives the emulated rig of every case with random faults, and
// looks for wrong answers and for what is left behind:
//
//	soak -for 10m
//	soak -case coldfetch -seed 17          one round, as it was
//	soak -case coldfetch -seed 17 -turns 20
//
// It prints a line a turn, and exits with 1 if it found anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"latlab.example/experiments/soak"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Stdout, os.Stderr, os.Args[1:]...)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, out, errs io.Writer, args ...string) (code int) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(errs)
	length := flags.Duration("for", 0, "how long; turns that were begun are finished")
	turns := flags.Int("turns", 0, "at most so many turns; 1 if neither this nor -for is given")
	seed := flags.Int64("seed", -1, "run this seed again and again; without it, seeds count up from the time of day")
	only := flags.String("case", "", "only these, with commas between: "+strings.Join(names(soak.Cases()), ", "))
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	o := soak.Options{For: *length, Turns: *turns, Seed: uint64(time.Now().Unix()), Cases: soak.Cases()}
	if *seed >= 0 {
		o.Seed, o.Replay = uint64(*seed), true
	}
	if o.For <= 0 && o.Turns <= 0 {
		o.Turns = 1
	}
	if *only != "" {
		var err error
		if o.Cases, err = choose(o.Cases, strings.Split(*only, ",")); err != nil {
			fmt.Fprintln(errs, "soak:", err)
			return 2
		}
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(errs, "soak: takes flags, no argument %q\n", flags.Arg(0))
		return 2
	}
	if _, err := soak.Run(ctx, out, o); err != nil {
		fmt.Fprintln(errs, "soak:", err)
		return 1
	}
	return 0
}

func names(cases []soak.Case) (all []string) {
	for _, c := range cases {
		all = append(all, c.Name)
	}
	return all
}

func choose(from []soak.Case, wanted []string) (some []soak.Case, _ error) {
	for _, name := range wanted {
		found := false
		for _, c := range from {
			if c.Name == name {
				some, found = append(some, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no case %q; there are %s", name, strings.Join(names(from), ", "))
		}
	}
	return some, nil
}
