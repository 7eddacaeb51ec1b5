package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// apart puts the child in a process group of its own and lets it die with the
// parent.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

const (
	cgroups = "/sys/fs/cgroup"
	period  = 100 * time.Millisecond // the kernel's default
)

// quota is a cgroup made for one child.
type quota struct{ dir string }

// newQuota makes a cgroup with so many cores of CPU time, in version 2's tree or
// in version 1's, by the kernel's Documentation/admin-guide/cgroup-v2.rst and
// Documentation/scheduler/sched-bwc.rst.
func newQuota(cores float64) (*quota, error) {
	allowed := int64(cores * float64(period.Microseconds()))
	if cores < 0.01 { // the kernel's least is 1 ms a period
		return nil, fmt.Errorf("quota of %g cores: at least 0.01 is needed", cores)
	}
	base, err := base()
	if err != nil {
		return nil, fmt.Errorf("quota: %w", err)
	}
	dir, err := os.MkdirTemp(base, fmt.Sprintf("latlab-%d-", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("quota: make a cgroup: %w; run as root, or where your cgroup is delegated to you", err)
	}
	q := &quota{dir: dir}
	files := map[string]string{"cpu.max": fmt.Sprintf("%d %d", allowed, period.Microseconds())}
	if _, err := os.Stat(filepath.Join(dir, "cpu.cfs_quota_us")); err == nil {
		files = map[string]string{
			"cpu.cfs_period_us": strconv.FormatInt(period.Microseconds(), 10),
			"cpu.cfs_quota_us":  strconv.FormatInt(allowed, 10),
		}
	}
	for name, text := range files {
		if err := write(filepath.Join(dir, name), text); err != nil {
			return nil, errors.Join(fmt.Errorf("quota: %w; the cgroup may lack the cpu controller", err), q.remove())
		}
	}
	return q, nil
}

// base is the folder of cgroups that a new one goes into. Version 2 allows no
// processes in a group that hands out controllers, so the new one is this
// process's sibling there.
func base() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(own)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		for c := range strings.SplitSeq(controllers, ",") {
			if c == "cpu" {
				return filepath.Join(cgroups, controllers, path), nil
			}
		}
		if controllers == "" {
			if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
				return filepath.Join(cgroups, filepath.Dir(path)), nil
			}
		}
	}
	return "", fmt.Errorf("%w: no cgroup with a cpu controller is mounted at %s", errors.ErrUnsupported, cgroups)
}

// write fills a file of the kernel's: it mustn't be created if it isn't there.
func write(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// join moves this process into the cgroup.
func join(dir string) error { return write(filepath.Join(dir, "cgroup.procs"), "0") }

// remove takes the cgroup away once the child has ended.
func (q *quota) remove() error {
	if q == nil {
		return nil
	}
	var err error
	for range 100 { // the kernel takes a moment to empty the group
		if err = os.Remove(q.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("quota: %w", err)
}
