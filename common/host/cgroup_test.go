package host

import "testing"

func TestCgroupLimits(t *testing.T) {
	const (
		v2  = "31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		cpu = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		mem = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	)
	for name, tt := range map[string]struct {
		files  map[string]string
		cores  float64
		memory uint64
	}{
		"nothing": {nil, 0, 0},
		"v2 without limits": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a",
			"sys/fs/cgroup/a/cpu.max": "max 100000", "sys/fs/cgroup/a/memory.max": "max",
		}, 0, 0},
		"v2, the tightest of its own and those above": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000", "sys/fs/cgroup/a/cpu.max": "50000 100000",
			"sys/fs/cgroup/a/b/memory.max": "1000", "sys/fs/cgroup/a/memory.max": "2000",
		}, 0.5, 1000},
		"v1": {map[string]string{
			"proc/self/mountinfo": cpu + mem, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/y\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "250000", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "4096",
		}, 2.5, 4096},
		"v1 without limits": {map[string]string{
			"proc/self/mountinfo": cpu + mem, "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
		}, 0, 0},
		"a container that sees its own folder as the root": {map[string]string{
			"proc/self/mountinfo": "32 31 0:29 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "proc/self/cgroup": "3:cpu:/docker/1/sub\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/cpu/sub/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/sub/cpu.cfs_period_us": "100000",
		}, 2, 0},
		"a group outside of what is seen": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/../other\n",
			"sys/fs/cgroup/cpu.max": "100000 100000", "sys/fs/other/cpu.max": "1 100000",
		}, 1, 0},
		"rubbish": {map[string]string{
			"proc/self/mountinfo": "x\n" + v2 + "1 2 - y", "proc/self/cgroup": "x\n0::/\n",
			"sys/fs/cgroup/cpu.max": "many 0", "sys/fs/cgroup/memory.max": "-5",
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cores, memory := cgroupLimits(newTree(t, tt.files))
			if cores != tt.cores || memory != tt.memory {
				t.Errorf("%v cores and %d bytes, want %v and %d", cores, memory, tt.cores, tt.memory)
			}
		})
	}
}
