// Command s3 builds and runs a real S3 server, versitygw, on loopback.
//
//	s3 build [-bin .bin]                build it once
//	s3 serve [-bin .bin] [-addr 127.0.0.1:7070] [-dir FOLDER]
//	                                    run it until Ctrl-C; prints the variables that name it
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"latlab.example/coldfetch/store"
)

var errUsage = errors.New("usage: s3 build|serve [flags]; -h after either lists them")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "s3:", err)
		stop()
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 0 || args[0] != "build" && args[0] != "serve" {
		return errUsage
	}
	var o store.Options
	flags := flag.NewFlagSet("s3 "+args[0], flag.ContinueOnError)
	bin := flags.String("bin", ".bin", "folder of the program")
	if args[0] == "serve" {
		flags.StringVar(&o.Addr, "addr", "127.0.0.1:7070", "address to listen at")
		flags.StringVar(&o.Dir, "dir", "", "folder for objects; a temporary one if empty")
	}
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		return errUsage
	}
	exe, err := store.Build(ctx, *bin, os.Stderr)
	if err != nil || args[0] == "build" {
		return err
	}
	s, err := store.Start(ctx, exe, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Printf("# versitygw %s, process %d. In another shell:\nexport %s=http://%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s AWS_REGION=%s\n# Stop it with Ctrl-C.\n",
		store.Version, s.PID(), store.EndpointVariable, s.Endpoint, s.AccessKey, s.SecretKey, s.Region)
	<-ctx.Done()
	return nil
}
