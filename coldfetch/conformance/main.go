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

// run asks and prints the table.
func run(ctx context.Context, out io.Writer) (err error) {
	targets, missing, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(targets)) }()
	if missing != nil {
		fmt.Fprintf(out, "No real server: %v.\n\n", missing)
	}
	t := newTable(targets)
	for _, cs := range cases {
		for _, to := range targets {
			for _, c := range clients {
				_ = t.add(cs, to, cs.on(ctx, to, c)) // the table counts it
			}
		}
	}
	if faults := t.write(out); faults > 0 {
		return fmt.Errorf("%d answers are wrong or not the same; the table shows them", faults)
	}
	return nil
}

// answer is what a case gave.
type answer struct {
	text string
	err  error
}

// table is Markdown: a row a case, a column a client on a target.
type table struct {
	head  string
	rows  map[string]string
	first map[string]string // a case's first good answer, which all others must equal
	fault int
}

func newTable(targets []*target) *table {
	head, rule := "| case |", "|---|"
	for _, t := range targets {
		for _, c := range clients {
			head += fmt.Sprintf(" %s, %s |", t.name, c.name)
			rule += "---|"
		}
	}
	return &table{head: head + "\n" + rule, rows: map[string]string{}, first: map[string]string{}}
}

// add enters a cell, and returns what is wrong with the answer.
func (t *table) add(cs testCase, to *target, a answer) error {
	first, known := t.first[cs.name], cs.known[to.kind]
	cell, err := a.text, a.err
	switch {
	case known != "" && a.err == nil:
		err = fmt.Errorf("no longer differs: %s", known)
	case known != "":
		cell, err = "differs: "+known, nil
	case a.err == nil && first != "" && a.text != first:
		err = fmt.Errorf("%s, not %s", a.text, first)
	case a.err == nil:
		t.first[cs.name] = a.text
	}
	if err != nil {
		t.fault++
		cell = "WRONG: " + strings.NewReplacer("|", "/", "\n", " ").Replace(err.Error())
	}
	t.rows[cs.name] += " " + cell + " |"
	return err
}

// write prints the table, and returns how many answers were wrong.
func (t *table) write(out io.Writer) (faults int) {
	fmt.Fprintln(out, t.head)
	for _, cs := range cases {
		fmt.Fprintf(out, "| %s |%s\n", cs.name, t.rows[cs.name])
	}
	return t.fault
}

// unavailable says whether an error means that there is no real server here.
func unavailable(err error) bool { return errors.Is(err, lab.ErrUnavailable) }
