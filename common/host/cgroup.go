package host

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// noLimit is where a cgroup v1 memory limit stands for none: the kernel writes
// the largest number of pages that a signed 64-bit count of bytes holds.
const noLimit = 1 << 62

// cgroupLimits is the tightest CPU quota, in cores, and memory limit, in bytes,
// of the process's cgroups and all cgroups above that can be seen; 0 if there
// is none.
func cgroupLimits(t tree) (cores float64, memory uint64) {
	all := mounts(t)
	for line := range strings.Lines(t.text("proc/self/cgroup")) {
		// "0::/path" is version 2, "4:cpu,cpuacct:/path" version 1.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, dir := range cgroupDirs(all, parts[1], parts[2]) {
			if q := cpuQuota(t, dir); q > 0 && (cores == 0 || q < cores) {
				cores = q
			}
			if m := memoryLimit(t, dir); m > 0 && (memory == 0 || m < memory) {
				memory = m
			}
		}
	}
	return cores, memory
}

// cgroupDirs lists the folders of a cgroup and of those above it, up to the
// one that is mounted. Controllers are comma-separated; none means version 2.
func cgroupDirs(all []mount, controllers, group string) []string {
	var dirs []string
	for _, m := range all {
		switch {
		case controllers == "" && m.fs == "cgroup2":
		case controllers != "" && m.fs == "cgroup" && slices.ContainsFunc(strings.Split(controllers, ","), func(c string) bool {
			return slices.Contains(strings.Split(m.options, ","), c)
		}):
		default:
			continue
		}
		// A container may see only its own folder of the tree, mounted as if
		// it were the root.
		below := ""
		if under(group, m.root) {
			below = strings.TrimPrefix(group, strings.TrimSuffix(m.root, "/"))
		}
		for below != "" && below != "/" && !strings.Contains(below, "..") {
			dirs = append(dirs, path.Join(m.point, below))
			below = path.Dir(below)
		}
		dirs = append(dirs, m.point)
	}
	return dirs
}

func cpuQuota(t tree, dir string) float64 {
	var quota, period string
	if f := strings.Fields(t.text(dir + "/cpu.max")); len(f) == 2 { // version 2: "max 100000"
		quota, period = f[0], f[1]
	} else {
		quota, period = t.text(dir+"/cpu.cfs_quota_us"), t.text(dir+"/cpu.cfs_period_us")
	}
	q, err1 := strconv.ParseUint(quota, 10, 63) // neither "max" nor "-1" is a number here
	p, err2 := strconv.ParseUint(period, 10, 63)
	if err1 != nil || err2 != nil || p == 0 {
		return 0
	}
	return float64(q) / float64(p)
}

func memoryLimit(t tree, dir string) uint64 {
	for _, name := range []string{"/memory.max", "/memory.limit_in_bytes"} {
		if n, ok := t.number(dir + name); ok && n < noLimit {
			return n
		}
	}
	return 0
}
