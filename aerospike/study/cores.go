//go:build !js

package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"latlab.example/common/child"
	"latlab.example/common/lab"
)

// limits are what a trial's process is allowed.
func limits(a lab.Arm) child.Limits {
	var l child.Limits
	if n := cores.Of(a); n < len(allowed()) {
		l.CPUs = allowed()[:n]
	}
	if n, err := strconv.Atoi(maxprocs.Of(a)); err == nil {
		l.MaxProcs = n
	}
	return l
}

// allowed are the processors that this process may run on, as far as the system
// tells.
func allowed() (all []int) {
	status, _ := os.ReadFile("/proc/self/status") // there is none but on Linux
	for line := range strings.Lines(string(status)) {
		list, ok := strings.CutPrefix(line, "Cpus_allowed_list:")
		if !ok {
			continue
		}
		for _, part := range strings.Split(strings.TrimSpace(list), ",") {
			from, to, ranged := strings.Cut(part, "-")
			first, err := strconv.Atoi(from)
			last := first
			if ranged {
				var lerr error
				last, lerr = strconv.Atoi(to)
				err = errors.Join(err, lerr)
			}
			if err != nil {
				return nil
			}
			for cpu := first; cpu <= last; cpu++ {
				all = append(all, cpu)
			}
		}
		return all
	}
	for cpu := range runtime.NumCPU() {
		all = append(all, cpu)
	}
	return all
}

// enoughCores says whether the host can give a trial as many cores as any arm
// asks for.
func enoughCores(context.Context) error {
	if most := cores.Baseline(); len(allowed()) < most {
		return &lab.Unavailable{Need: "cores", Why: fmt.Sprintf("%d cores may be used, and an arm has %d", len(allowed()), most), Do: "run it on a host with more"}
	}
	return nil
}

func probeCores(ctx context.Context) error {
	if err := enoughCores(ctx); err != nil {
		return err
	}
	return probe(ctx)
}
