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

// onCores pins the service to so many processors.
func onCores(n int, procs string) child.Limits {
	var l child.Limits
	if all := allowed(); len(all) >= n {
		l.CPUs = all[:n]
	}
	if p, err := strconv.Atoi(procs); err == nil {
		l.MaxProcs = p
	}
	return l
}

// The ways to give a service one core.
const (
	pinned     = "pinned"       // to one processor
	quota      = "quota"        // of one core, on all processors
	quotaProcs = "quota-procs1" // the same, and GOMAXPROCS=1
	unlimited  = "all"
)

var share = lab.NewFactor("share", quota, pinned, quotaProcs, unlimited)

// byShare are the limits of a level of share.
func byShare(a lab.Arm) child.Limits {
	switch share.Of(a) {
	case pinned:
		return onCores(1, "")
	case quota:
		return child.Limits{Quota: 1}
	case quotaProcs:
		return child.Limits{Quota: 1, MaxProcs: 1}
	}
	return child.Limits{}
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

// twoCores says whether the host can tell one core from two.
func twoCores(context.Context) error {
	if n := len(allowed()); n < 2 {
		return &lab.Unavailable{Need: "cores", Why: fmt.Sprintf("%d core may be used, and an arm has 2", n), Do: "run it on a host with more"}
	}
	return nil
}

// twoCoresAndStore needs a real store, too.
func twoCoresAndStore(probe lab.Probe) lab.Probe {
	return func(ctx context.Context) error {
		if err := twoCores(ctx); err != nil {
			return err
		}
		return probe(ctx)
	}
}
