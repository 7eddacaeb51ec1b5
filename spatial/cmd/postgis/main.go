// Command postgis runs a private PostgreSQL with PostGIS and the case's data.
//
//	postgis up [-dir FOLDER]               start and load it, print its connection string, leave it running
//	postgis down [-dir FOLDER]             stop it; the data stay
//	postgis run [-dir FOLDER] -- COMMAND   start and load it, run a command with LATLAB_POSTGIS set, stop it
//
// Without -dir, up and down use a folder in the user's cache, and run one in the
// system's temporary folder, which it removes. Killed half-way, the same command
// goes on where it was. It installs nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"latlab.example/spatial/data"
	"latlab.example/spatial/postgis"
)

// Variable names the server for everything else in latlab.
const variable = "LATLAB_POSTGIS"

var errUsage = errors.New("usage: postgis up|down|run [-dir FOLDER] [-locations N] [-guides N] [-seed N] [-- COMMAND]")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		os.Exit(exit.ExitCode())
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, steps io.Writer, args []string) (err error) {
	if len(args) == 0 {
		return errUsage
	}
	of := data.Study()
	flags := flag.NewFlagSet("postgis", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	dir := flags.String("dir", "", "folder of the cluster")
	flags.IntVar(&of.Locations, "locations", of.Locations, "places in the data")
	flags.IntVar(&of.Guides, "guides", of.Guides, "guides in the data")
	flags.Uint64Var(&of.Seed, "seed", of.Seed, "seed of the data")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	verb := args[0]
	if verb != "up" && verb != "down" && verb != "run" || (flags.NArg() > 0) != (verb == "run") {
		return errUsage
	}
	if *dir == "" && verb != "run" {
		cache, err := cacheDir()
		if err != nil {
			return err
		}
		*dir = filepath.Join(cache, "latlab", "postgis")
	}
	switch verb {
	case "up":
		c, err := postgis.Up(ctx, *dir, of, steps)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, c.DSN())
		return err
	case "down":
		c, err := postgis.Open(*dir)
		if err != nil {
			return err
		}
		return c.Down(ctx)
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "latlab-postgis-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*dir)) }()
	}
	return with(ctx, *dir, of, steps, flags.Args())
}

// cacheDir is the user's cache, or /var/tmp for root, whose home is closed to
// the cluster's owner.
func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/tmp", nil
	}
	return os.UserCacheDir()
}

// with runs a command beside a cluster.
func with(ctx context.Context, dir string, of data.Config, steps io.Writer, command []string) (err error) {
	c, err := postgis.Up(ctx, dir, of, steps)
	if err != nil {
		// It may have started before it failed.
		if half, open := postgis.Open(dir); open == nil {
			err = errors.Join(err, half.Down(context.WithoutCancel(ctx)))
		}
		return err
	}
	defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx))) }()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it may have something to keep
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variable+"="+c.DSN())
	return cmd.Run()
}
