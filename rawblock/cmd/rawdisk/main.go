// Command rawdisk shows what a run on a real block device would write to, and
// runs the store's correctness suite on one.
//
//	rawdisk plan DEV [--bytes N]
//	rawdisk run DEV --confirm PHRASE [--bytes N] [--engine posix|io_uring|both]
//
// Plan only reads. It prints the device that DEV leads to and, unless a guard
// refuses it, the phrase for --confirm: the device's serial, or path and size
// where there is none. Run overwrites the first N bytes, 64 MiB if not told, and
// leaves the first and last MiB of them zero. No time is measured: that is the
// runner's work.
//
// The exit code is 0, 1 for a refusal or a failed check, 2 for wrong usage.
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

	"latlab.example/rawblock"
	"latlab.example/rawblock/blockdev"
)

const usage = "usage: rawdisk plan DEV [--bytes N] | rawdisk run DEV --confirm PHRASE [--bytes N] [--engine posix|io_uring|both]"

// errUsage occurs for arguments that make no sense.
var errUsage = errors.New("wrong usage")

// defaultBytes is enough for the suite.
const defaultBytes = 64 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command. Errors take one line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := command(ctx, args, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "rawdisk:", strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

func command(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 || args[0] != "plan" && args[0] != "run" {
		return fmt.Errorf("%w; %s", errUsage, usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	bytes := flags.Int64("bytes", 0, "")
	confirm, engine := new(string), new(string)
	if args[0] == "run" {
		confirm, engine = flags.String("confirm", "", ""), flags.String("engine", "both", "")
	}
	dev, err := parse(flags, args[1:])
	if err != nil {
		return fmt.Errorf("%w: %w; %s", errUsage, err, usage)
	}
	if args[0] == "plan" {
		return plan(ctx, dev, *bytes, stdout)
	}
	engines, ok := map[string][]rawblock.Engine{
		"posix": {rawblock.Posix}, "io_uring": {rawblock.IOUring}, "both": {rawblock.Posix, rawblock.IOUring},
	}[*engine]
	if !ok {
		return fmt.Errorf("%w: engine %q; %s", errUsage, *engine, usage)
	}
	return check(ctx, dev, blockdev.Consent{Serial: *confirm}, *bytes, engines, stdout)
}

// parse takes flags before and after the one device.
func parse(flags *flag.FlagSet, args []string) (dev string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return "", err
		}
		switch {
		case flags.NArg() == 0 && dev == "":
			return "", blockdev.ErrNoDevice
		case flags.NArg() == 0:
			return dev, nil
		case dev != "":
			return "", fmt.Errorf("two devices, %q and %q", dev, flags.Arg(0))
		}
		if dev = flags.Arg(0); dev == "" {
			return "", blockdev.ErrNoDevice
		}
		args = flags.Args()[1:]
	}
}

// limit is the range for a device: what was asked, or the default.
func limit(ctx context.Context, dev string, bytes int64) (blockdev.Plan, error) {
	p, err := blockdev.Inspect(ctx, dev, bytes)
	if err == nil && bytes == 0 && p.Size > defaultBytes {
		p, err = blockdev.Inspect(ctx, dev, defaultBytes)
	}
	return p, err
}

func plan(ctx context.Context, dev string, bytes int64, stdout io.Writer) error {
	p, err := limit(ctx, dev, bytes)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, p)
	if len(p.Refusals) > 0 {
		return fmt.Errorf("%s would be refused", p.Path)
	}
	return nil
}

// check runs the suite with each engine. The device is held exclusively from the
// first to the last of it.
func check(ctx context.Context, dev string, c blockdev.Consent, bytes int64, engines []rawblock.Engine, stdout io.Writer) (err error) {
	p, err := limit(ctx, dev, bytes)
	if err != nil {
		return err
	}
	d, err := blockdev.Open(ctx, dev, c, p.Bytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Clear(context.WithoutCancel(ctx)), d.Close()) }()
	fmt.Fprintf(stdout, "on %s (%s), bytes 0 to %d, blocks of %d\n", d.Plan().Path, d.Plan().Number, d.Size()-1, d.BlockSize())
	checks := 0
	for _, e := range engines {
		for _, one := range suite {
			n, err := everywhere(ctx, d, e, one)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", e, one.name, err)
			}
			fmt.Fprintf(stdout, "ok  %-8s %s (%d ways)\n", e, one.name, n)
			checks += n
		}
	}
	fmt.Fprintf(stdout, "passed: %d checks, %d engines\n", checks, len(engines))
	return nil
}
