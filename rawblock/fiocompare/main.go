// Command fiocompare writes random blocks to one file with engine io_uring and
// with fio, in turns, and prints both rates and their ratio at each block size
// and queue depth. Its exit status says whether the engine keeps up.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"latlab.example/common/lab"
	"latlab.example/rawblock"
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
		fmt.Fprintln(os.Stderr, "fiocompare:", err)
		os.Exit(1)
	}
}

var (
	errUsage = errors.New("usage") // the flag package has said what
	errBar   = errors.New("bar missed")
)

// points are compared, in this order in every round.
var points = []point{{4 << 10, 1}, {4 << 10, 32}, {4 << 10, 128}, {64 << 10, 1}, {64 << 10, 32}, {64 << 10, 128}}

func run(ctx context.Context, args []string, out, errs io.Writer) (err error) {
	flags := flag.NewFlagSet("fiocompare", flag.ContinueOnError)
	flags.SetOutput(errs)
	dir := flags.String("dir", "", "folder on a disk for the file (default "+lab.DirVariable+", else the user's cache)")
	size := flags.Int64("size", 256<<20, "the file's size in bytes, in whole MiB")
	rounds := flags.Int("rounds", 7, "measurements of each point with each program, 5 at least")
	span := flags.Duration("time", time.Second, "length of a measurement, in whole seconds")
	program := flags.String("fio", "fio", "fio's name or path")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if *rounds < 5 || *span < time.Second || *span%time.Second != 0 || *size < 1<<20 || *size%(1<<20) != 0 || flags.NArg() > 0 {
		fmt.Fprintln(errs, "fiocompare: at least 5 rounds of whole seconds, on whole MiB, and no other argument")
		return errUsage
	}
	f := fio{program: *program}
	var version string
	if version, err = f.version(ctx); err != nil {
		return err
	}
	if *dir == "" {
		if *dir, err = lab.RealDir(); err != nil {
			return err
		}
	}
	// The file has no name, so that it goes even if this is killed; fio gets it by
	// its descriptor.
	file, err := rawblock.TempFile(*dir, *size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	fmt.Fprintf(out, "random direct writes to one file of %d MiB in %s: %d rounds of %v a point, in turns; %s, io_uring\n\n",
		*size>>20, *dir, *rounds, *span, version)
	t, err := compare(ctx, *rounds, points,
		func(p point) (float64, error) { return ours(ctx, path, *size, p, *span) },
		func(p point) (float64, error) { return f.measure(ctx, path, *size, p, *span) },
		func(round int) { fmt.Fprintf(errs, "round %d of %d\n", round, *rounds) })
	if err != nil {
		return err
	}
	fmt.Fprint(out, t)
	return t.verdict()
}
