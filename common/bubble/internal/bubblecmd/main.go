// Command bubblecmd shows that a bubble runs in a shipped command and leaves
// the command's flags, arguments and output alone. A test builds it.
//
//	bubblecmd -v -run 3 rest
//
// Its flags have the names of two of go test's, on purpose.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"latlab.example/common/bubble"
	"latlab.example/common/bubble/internal/shop"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args, procs := strings.Join(os.Args[1:], " "), runtime.GOMAXPROCS(0)

	// Before the flags are parsed, and after.
	if err := bubble.Run(ctx, func(context.Context) error { return nil }); err != nil {
		fail(err)
	}
	verbose := flag.Bool("v", false, "say more")
	runs := flag.Int("run", 1, "how many runs")
	load := shop.Standard()
	flag.DurationVar(&load.Span, "span", load.Span, "how long, in virtual time")
	race := flag.Bool("race", false, "race in the bubble")
	flag.Parse()
	if *race {
		n := 0
		fail(bubble.Run(ctx, func(context.Context) error {
			done := make(chan bool)
			go func() {
				n++
				close(done)
			}()
			n++
			<-done
			return nil
		}))
	}
	for range *runs {
		f, err := shop.Run(ctx, load)
		if err != nil {
			fail(err)
		}
		fmt.Println(f)
	}
	if *verbose {
		flag.VisitAll(func(f *flag.Flag) { fmt.Println("flag", f.Name) })
		fmt.Println("rest", flag.Args())
	}
	if now := strings.Join(os.Args[1:], " "); now != args || runtime.GOMAXPROCS(0) != procs {
		fail(fmt.Errorf("arguments %q became %q, GOMAXPROCS %d became %d", args, now, procs, runtime.GOMAXPROCS(0)))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
