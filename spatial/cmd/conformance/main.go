// Command conformance runs one table of operations on the fake and, if
// LATLAB_POSTGIS names one, on a real PostGIS with the same data, and prints
// what each gave as a Markdown table.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5"

	"latlab.example/common/emu"
	"latlab.example/spatial"
	"latlab.example/spatial/data"
	"latlab.example/spatial/fake"
	"latlab.example/spatial/fake/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Getenv("LATLAB_POSTGIS"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dsn string) (err error) {
	of := data.Small()
	if dsn != "" {
		if of, err = held(ctx, dsn); err != nil {
			return err
		}
	}
	set, err := data.New(of)
	if err != nil {
		return err
	}
	s, err := fake.New(fake.Config{Data: set, Waiter: emu.Spin})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	targets := []conformance.Target{conformance.At("fake", s.DSN(), true)}
	if dsn != "" {
		targets = append(targets, conformance.At("PostGIS", dsn, false))
	}
	return conformance.WriteMarkdown(ctx, out, targets...)
}

// held is the data that the server has; it loads the study's if it has none.
func held(ctx context.Context, dsn string) (of data.Config, err error) {
	cfg, err := spatial.ParsePool(dsn)
	if err != nil {
		return of, err
	}
	c, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return of, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	of, ok, err := data.Loaded(ctx, c)
	if err == nil && !ok {
		of = data.Study()
		err = data.Load(ctx, c, of, nil)
	}
	return of, err
}
