package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// fio is the program of that name.
type fio struct{ program string }

// version says which it is. Without it the error says how to get it.
func (f fio) version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, f.program, "--version").Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w: install package fio (apt-get install fio), or name it with -fio", err)
	} else if err != nil {
		return "", fmt.Errorf("%s --version: %w; name another fio with -fio", f.program, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// measure runs fio once. It draws offsets independently as we do, writes the
// same bytes each time as we do, and keeps no latencies, as we don't.
func (f fio) measure(ctx context.Context, path string, size int64, p point, span time.Duration) (float64, error) {
	cmd := exec.CommandContext(ctx, f.program, "--name=point", "--filename="+path, "--size="+strconv.FormatInt(size, 10),
		"--ioengine=io_uring", "--direct=1", "--rw=randwrite", "--bs="+strconv.Itoa(p.block), "--iodepth="+strconv.Itoa(p.depth),
		"--norandommap=1", "--randrepeat=0", "--scramble_buffers=0", "--gtod_reduce=1", "--thread=1",
		"--time_based=1", "--runtime="+strconv.Itoa(int(span/time.Second)), "--output-format=json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("fio: %s: %w: %s", p, err, strings.TrimSpace(errs.String()))
	}
	rate, err := writesPerSecond(out)
	if err != nil {
		return 0, fmt.Errorf("fio: %s: %w", p, err)
	}
	return rate, nil
}

// errOutput occurs when fio's output isn't that of one job that wrote.
var errOutput = errors.New("not the JSON output of one fio job that wrote; use fio 3")

// writesPerSecond reads fio's JSON output. Warnings may stand before it.
func writesPerSecond(out []byte) (float64, error) {
	start := bytes.IndexByte(out, '{')
	if start < 0 {
		return 0, errOutput
	}
	var o struct {
		Jobs []struct {
			Error int
			Write struct {
				IOPS     float64
				TotalIOs int64 `json:"total_ios"`
			}
		}
	}
	if err := json.Unmarshal(out[start:], &o); err != nil {
		return 0, fmt.Errorf("%w: %w", errOutput, err)
	}
	if len(o.Jobs) != 1 || o.Jobs[0].Write.TotalIOs <= 0 || o.Jobs[0].Write.IOPS <= 0 {
		return 0, errOutput
	}
	if e := o.Jobs[0].Error; e != 0 {
		return 0, fmt.Errorf("the job ended with error %d", e)
	}
	return o.Jobs[0].Write.IOPS, nil
}
