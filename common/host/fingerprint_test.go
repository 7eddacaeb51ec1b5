package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	f, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.IsZero() || f.OS != runtime.GOOS || f.Arch != runtime.GOARCH || f.Go != runtime.Version() || f.Logical < 1 || f.GOMAXPROCS < 1 {
		t.Errorf("got %+v", f)
	}
	for name, text := range map[string]string{"kernel": f.Kernel, "cpu": f.CPU, "virtual": f.Virtual, "governor": f.Governor, "clock": f.ClockSource} {
		if text == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if len(f.Paths) != 1 || filepath.Base(f.Paths[0].Path) != filepath.Base(dir) {
		t.Errorf("paths %+v, want one for %s", f.Paths, dir)
	}
	if strings.Contains(f.String(), "\n") || !strings.HasPrefix(f.String(), f.ID()) {
		t.Errorf("String is %q", f)
	}

	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Fingerprint
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(f, back) {
		t.Errorf("read back from JSON: %v\n%+v\n%+v", err, back, f)
	}

	again, err := Read(t.Context())
	if err != nil || again.ID() != f.ID() {
		t.Errorf("read again: %v, %s, want %s", err, again, f)
	}
}

func TestReadErrors(t *testing.T) {
	if _, err := Read(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing path: error %v, want %v", err, fs.ErrNotExist)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: error %v, want %v", err, context.Canceled)
	}
}

func TestReadFingerprintFromFiles(t *testing.T) {
	root := newTree(t, map[string]string{
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":            "performance\n",
		"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor":           "performance\n",
		"proc/self/mountinfo":      "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"proc/self/cgroup":         "0::/\n",
		"sys/fs/cgroup/cpu.max":    "150000 100000\n",
		"sys/fs/cgroup/memory.max": "1073741824\n",
	})
	f := readFingerprint(t.Context(), root)
	if f.Governor != "performance+powersave" || f.ClockSource != "tsc" || f.CPUQuota != 1.5 || f.MemoryLimit != 1<<30 {
		t.Errorf("got %+v", f)
	}
	empty := readFingerprint(t.Context(), newTree(t, nil))
	if empty.Governor != Absent || empty.ClockSource != Absent || empty.CPUQuota != 0 || empty.MemoryLimit != 0 {
		t.Errorf("from nothing: %+v", empty)
	}
}

func TestID(t *testing.T) {
	base := Fingerprint{OS: "linux", Arch: "amd64", CPU: "x", Logical: 2, Memory: 8 << 30, Go: "go1.26", GOMAXPROCS: 2}
	if !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(base.ID()) {
		t.Errorf("ID is %q", base.ID())
	}
	for name, change := range map[string]func(*Fingerprint){
		"Go": func(f *Fingerprint) { f.Go = "go1.27" }, "GOMAXPROCS": func(f *Fingerprint) { f.GOMAXPROCS = 1 },
		"paths": func(f *Fingerprint) { f.Paths = []Path{{Path: "/"}} }, "a little memory": func(f *Fingerprint) { f.Memory -= 1 << 20 },
	} {
		f := base
		if change(&f); f.ID() != base.ID() {
			t.Errorf("%s changes the ID", name)
		}
	}
	for name, change := range map[string]func(*Fingerprint){
		"OS": func(f *Fingerprint) { f.OS = "darwin" }, "arch": func(f *Fingerprint) { f.Arch = "arm64" },
		"kernel": func(f *Fingerprint) { f.Kernel = "7" }, "CPU": func(f *Fingerprint) { f.CPU = "y" },
		"cores": func(f *Fingerprint) { f.Physical++ }, "threads": func(f *Fingerprint) { f.Logical++ },
		"memory": func(f *Fingerprint) { f.Memory += 1 << 30 }, "virtual": func(f *Fingerprint) { f.Virtual = "kvm" },
		"governor": func(f *Fingerprint) { f.Governor = "powersave" }, "clock": func(f *Fingerprint) { f.ClockSource = "hpet" },
		"quota": func(f *Fingerprint) { f.CPUQuota = 1 }, "limit": func(f *Fingerprint) { f.MemoryLimit = 1 },
	} {
		f := base
		if change(&f); f.ID() == base.ID() {
			t.Errorf("%s doesn't change the ID", name)
		}
	}
	if !(Fingerprint{}).IsZero() || base.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func ExampleFingerprint() {
	f := Fingerprint{
		OS: "linux", Arch: "arm64", Kernel: "6.12.9", CPU: "Neoverse-N1", Physical: 4, Logical: 4, Memory: 16 << 30,
		Virtual: "no", Governor: "performance", ClockSource: "arch_sys_counter", CPUQuota: 1.5, MemoryLimit: 2 << 30, Go: "go1.26.0", GOMAXPROCS: 2,
		Paths: []Path{{Path: "/data", FS: "ext4", Dev: "259:2", Name: "nvme0n1p2", Disk: "nvme0n1", Scheduler: "none", Logical: 512, Physical: 4096, Rotational: "no"}},
	}
	fmt.Println(strings.ReplaceAll(f.String(), "; ", "\n"))
	// Output:
	// 9604376f: Neoverse-N1, 4 cores, 4 threads, 16 GiB, linux/arm64 6.12.9, not virtual, governor performance, clock arch_sys_counter, CPU quota 1.5, memory limit 2.0 GiB, go1.26.0 GOMAXPROCS=2
	// /data: ext4 on nvme0n1p2 of nvme0n1 (259:2), scheduler none, blocks 512/4096, rotational no
}

func TestPlace(t *testing.T) {
	f := Fingerprint{OS: "linux"}
	if f.Place() != f.ID() {
		t.Errorf("without a path: %s, want %s", f.Place(), f.ID())
	}
	f.Paths = []Path{{FS: "ext4", Disk: "vda"}, {FS: "block device", Disk: "nvme0n1"}}
	if want := f.ID() + "-ext4-vda-block_device-nvme0n1"; f.Place() != want {
		t.Errorf("got %s, want %s", f.Place(), want)
	}
}
