package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Pin keeps all threads of this process, and those and the child processes
// that they start, on the given CPUs. The returned restore gives each thread
// back what it had, and new threads what the calling thread had.
//
// It needs no privilege. The error says which CPUs are allowed if one isn't;
// nothing is changed then. Pins nest: restore in reverse order. Don't pin from
// several goroutines at once. GOMAXPROCS isn't set, but unless the program or
// the environment sets it the Go runtime follows the number of allowed CPUs
// within seconds.
//
// Off Linux the error wraps errors.ErrUnsupported.
func Pin(cpus ...int) (restore func() error, err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("host: pin to CPUs %v: read affinity: %w", cpus, err)
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("host: pin: no CPU given; allowed are %v", list(&before))
	}
	for _, c := range cpus {
		if c < 0 || c >= maxCPUs || !before.IsSet(c) {
			return nil, fmt.Errorf("host: pin to CPUs %v: CPU %d isn't allowed; allowed are %v", cpus, c, list(&before))
		}
		set.Set(c)
	}
	old := map[int]unix.CPUSet{}
	restore = func() error {
		return eachThread(func(tid int) error {
			was, ok := old[tid]
			if !ok {
				was = before
			}
			return unix.SchedSetaffinity(tid, &was)
		})
	}
	err = eachThread(func(tid int) error {
		var was unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &was); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
		old[tid] = was
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("host: pin to CPUs %v: %w", cpus, errors.Join(err, restore()))
	}
	return restore, nil
}

// eachThread calls do once for each thread of this process. A thread inherits
// from the one that starts it, which may not have had its turn: so it looks
// again until there is none that it hasn't seen. Threads that ended meanwhile
// are no error.
func eachThread(do func(tid int) error) error {
	const dir = "/proc/self/task"
	seen := map[int]bool{}
	for again := true; again; {
		again = false
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || seen[tid] {
				continue
			}
			seen[tid], again = true, true
			if err := do(tid); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("thread %d: %w", tid, err)
			}
		}
	}
	return nil
}

// maxCPUs is how many CPUs a set holds.
const maxCPUs = 1024

// list is the CPUs of a set.
func list(set *unix.CPUSet) []int {
	var cpus []int
	for c := range maxCPUs {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}
