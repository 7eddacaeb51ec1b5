// Command conformance asks the fake and a real S3 server the same things, with
// two clients, and prints a table of what they answer.
//
// It is a module of its own, so that nothing else depends on the AWS SDK.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"latlab.example/common/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run prints the table. It is Markdown: a row a case, a column a client on a target.
func run(ctx context.Context, out io.Writer) (err error) {
	targets, missing, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(targets)) }()
	if missing != nil {
		fmt.Fprintf(out, "No real server: %v.\n\n", missing)
	}
	head, rule := "| case |", "|---|"
	for _, t := range targets {
		for _, c := range clients {
			head += fmt.Sprintf(" %s, %s |", t.name, c.name)
			rule += "---|"
		}
	}
	fmt.Fprintf(out, "%s\n%s\n", head, rule)
	faults := 0
	for _, cs := range cases {
		row := "| " + cs.name + " |"
		want := ""
		for _, t := range targets {
			for _, c := range clients {
				got, why := cs.on(ctx, t, c)
				switch {
				case cs.known[t.kind] != "":
					row += " differs: " + cs.known[t.kind] + " |"
					if why == nil {
						faults++
						row += " (no longer) |"
					}
				case why != nil:
					faults++
					row += " " + strings.ReplaceAll(why.Error(), "|", "/") + " |"
				case want != "" && got != want:
					faults++
					row += " " + got + ", not " + want + " |"
				default:
					want = got
					row += " " + got + " |"
				}
			}
		}
		fmt.Fprintln(out, row)
	}
	if faults > 0 {
		return fmt.Errorf("%d answers are wrong or not the same; the table shows them", faults)
	}
	return nil
}

// unavailable says whether an error means that there is no real server here.
func unavailable(err error) bool { return errors.Is(err, lab.ErrUnavailable) }
