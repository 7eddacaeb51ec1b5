package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"latlab.example/common/load"
	"latlab.example/spatial"
)

// generic is how both programs have the server plan, so that neither is warm
// where the other is cold.
const generic = "plan_cache_mode=force_generic_plan"

// question is a search of 5 km around the study's fixed place.
func question(ctx context.Context, dsn string) (q spatial.Query, err error) {
	cfg, err := spatial.ParsePool(dsn)
	if err != nil {
		return q, err
	}
	s, err := spatial.New(ctx, spatial.Options{Pool: cfg, PoolSize: 1})
	if err != nil {
		return q, err
	}
	defer s.Close()
	at, err := s.Locations(ctx, []int64{1})
	if err != nil {
		return q, err
	}
	if len(at) != 1 {
		return q, errors.New("the database holds no location 1; load the data first")
	}
	return spatial.Query{Lon: at[0].Lon, Lat: at[0].Lat, Radius: 5000, Limit: spatial.DefaultLimit}, nil
}

// warm is how long the load runs before it counts.
const warm = 500 * time.Millisecond

// ours is the rate of the load generator with pgx. As pgbench does, it takes the
// rows from the network and looks into none.
func ours(ctx context.Context, s setting, q spatial.Query) (perSec float64, err error) {
	cfg, err := spatial.ParsePool(s.dsn)
	if err != nil {
		return 0, err
	}
	name, value, _ := strings.Cut(generic, "=")
	cfg.ConnConfig.RuntimeParams[name] = value
	cfg.MaxConns = int32(s.clients)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	// pgbench asks for text, where pgx would ask for binary.
	args := append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, spatial.ByRadius.Args(q)...)
	rep, err := load.Closed{
		Users:   load.Hold(float64(s.clients), warm+s.span),
		Options: load.Options{Window: load.Window{From: warm, To: warm + s.span}},
	}.Run(ctx, func(ctx context.Context, _ load.Request) error {
		rows, err := pool.Query(ctx, spatial.SearchRadius, args...)
		if err != nil {
			return err
		}
		rows.Close()
		return rows.Err()
	})
	if err != nil {
		return 0, err
	}
	if n := rep.Failures(); n > 0 {
		return 0, fmt.Errorf("load generator: %d failures, the first: %s", n, rep.Errors[0].First)
	}
	return rep.PerSec(), ctx.Err()
}

// script is the same statement for pgbench, with its arguments as variables.
func script(q spatial.Query) string {
	var b strings.Builder
	text := spatial.SearchRadius
	for i, arg := range spatial.ByRadius.Args(q) {
		fmt.Fprintf(&b, "\\set v%d %v\n", i+1, arg)
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), ":v"+strconv.Itoa(i+1))
	}
	return b.String() + text + ";\n"
}

var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial`)

// pgbench is the rate of pgbench. It has no warm-up but that of its connections.
func pgbench(ctx context.Context, program string, s setting, q spatial.Query) (perSec float64, err error) {
	f, err := os.CreateTemp("", "latlab-pgbench-*.sql")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if _, err := f.WriteString(script(q)); err != nil {
		return 0, errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	n := strconv.Itoa(s.clients)
	cmd := exec.CommandContext(ctx, program, "--no-vacuum", "--protocol=prepared", "--client="+n, "--jobs="+strconv.Itoa(min(s.clients, 2)),
		"--time="+strconv.Itoa(int(s.span/time.Second)), "--file="+f.Name(), spatial.WithoutPassword(s.dsn))
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c "+generic, "LC_ALL=C")
	if cfg, err := spatial.ParsePool(s.dsn); err != nil {
		return 0, err
	} else if cfg.ConnConfig.Password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+cfg.ConnConfig.Password)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(errs.String()))
	}
	return parse(out.String())
}

// parse reads the rate out of what pgbench prints.
func parse(text string) (float64, error) {
	m := tps.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate: %q", text)
	}
	if strings.Contains(text, "number of failed transactions") && !strings.Contains(text, "number of failed transactions: 0 ") {
		return 0, fmt.Errorf("pgbench had failures: %q", text)
	}
	return strconv.ParseFloat(m[1], 64)
}
