package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

const (
	// Unknown stands for what this program can't find out here.
	Unknown = "unknown"
	// Absent stands for what the kernel doesn't have or doesn't show.
	Absent = "absent"
)

// A Fingerprint says what a result was measured on.
type Fingerprint struct {
	OS       string `json:"os"`       // GOOS
	Arch     string `json:"arch"`     // GOARCH
	Kernel   string `json:"kernel"`   // release, or Unknown
	CPU      string `json:"cpu"`      // model, or Unknown
	Physical int    `json:"physical"` // cores, 0 if unknown
	Logical  int    `json:"logical"`  // hardware threads, as this process may use fewer
	Memory   uint64 `json:"memory"`   // bytes, 0 if unknown
	Virtual  string `json:"virtual"`  // "no", or as "kvm+hypervisor", "docker", or Unknown

	Governor    string `json:"governor"`    // CPU frequency governor, or Absent
	ClockSource string `json:"clockSource"` // of the kernel, or Absent

	CPUQuota    float64 `json:"cpuQuota"`    // cores allowed by cgroups v1 and v2, 0 if unlimited
	MemoryLimit uint64  `json:"memoryLimit"` // bytes allowed by cgroups v1 and v2, 0 if unlimited

	Go         string `json:"go"`         // runtime.Version
	GOMAXPROCS int    `json:"gomaxprocs"` // when it was read

	Paths []Path `json:"paths,omitempty"` // storage that was asked about
}

// Read makes the fingerprint of this host, with what lies under the given
// paths. What can't be found out is marked so and is no error; the errors are
// those of [PathInfo] for a path, other than errors.ErrUnsupported, and of ctx.
func Read(ctx context.Context, paths ...string) (Fingerprint, error) {
	f := readFingerprint(ctx, system)
	for _, p := range paths {
		info, err := PathInfo(p)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return Fingerprint{}, err
		}
		f.Paths = append(f.Paths, info)
	}
	if err := ctx.Err(); err != nil {
		return Fingerprint{}, fmt.Errorf("host: read fingerprint: %w", err)
	}
	return f, nil
}

func readFingerprint(ctx context.Context, t tree) Fingerprint {
	if t != system {
		ctx = context.WithValue(ctx, common.EnvKey, common.EnvMap{
			common.HostProcEnvKey: t.path("proc"), common.HostSysEnvKey: t.path("sys"),
		})
	}
	f := Fingerprint{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		Kernel: Unknown, CPU: Unknown, Virtual: Unknown,
		Logical:     runtime.NumCPU(),
		Governor:    governor(t),
		ClockSource: or(t.text("sys/devices/system/clocksource/clocksource0/current_clocksource"), Absent),
		Go:          runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	if k, err := host.KernelVersionWithContext(ctx); err == nil {
		f.Kernel = or(k, Unknown)
	}
	if n, err := cpu.CountsWithContext(ctx, true); err == nil && n > 0 {
		f.Logical = n
	}
	if n, err := cpu.CountsWithContext(ctx, false); err == nil {
		f.Physical = n
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		f.Memory = m.Total
	}
	var flags []string
	if info, err := cpu.InfoWithContext(ctx); err == nil && len(info) > 0 {
		f.CPU = or(strings.Join(strings.Fields(info[0].ModelName), " "), Unknown)
		flags = info[0].Flags
	}
	f.Virtual = virtual(ctx, flags)
	f.CPUQuota, f.MemoryLimit = cgroupLimits(t)
	return f
}

// virtual names what this host is a guest of. A container hides the name of a
// hypervisor below it, but the CPU still says that there is one.
func virtual(ctx context.Context, flags []string) string {
	var of []string
	name, role, err := host.VirtualizationWithContext(ctx)
	if err == nil && role == "guest" && name != "" {
		of = append(of, name)
	}
	if slices.Contains(flags, "hypervisor") {
		of = append(of, "hypervisor")
	}
	if len(of) == 0 && (err != nil || runtime.GOOS != "linux") {
		return Unknown
	}
	return or(strings.Join(of, "+"), "no")
}

// governor is the CPU frequency governor. If CPUs differ it lists each once.
func governor(t tree) string {
	files, err := filepath.Glob(t.path("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil {
		return Absent
	}
	var names []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			names = append(names, strings.TrimSpace(string(b)))
		}
	}
	slices.Sort(names)
	return or(strings.Join(slices.Compact(names), "+"), Absent)
}

// IsZero tells whether f was never read.
func (f Fingerprint) IsZero() bool { return f.OS == "" }

// ID is eight hexadecimal digits for the kind of host: the same each time on
// one machine, whatever its load. It covers operating system, kernel release,
// CPU, cores, memory in whole GiB, virtualisation, governor, clock source and
// cgroup limits. It leaves out Go's version and GOMAXPROCS, which an
// experiment may vary, and the paths.
func (f Fingerprint) ID() string {
	gib := math.Round(float64(f.Memory) / (1 << 30))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d %d %v %q %q %q %v %d",
		f.OS, f.Arch, f.Kernel, f.CPU, f.Physical, f.Logical, gib, f.Virtual,
		f.Governor, f.ClockSource, f.CPUQuota, f.MemoryLimit))
	return hex.EncodeToString(sum[:4])
}

// Place is the ID with the file system and disk of each path that the
// fingerprint was read for, as "1f2e3d4c-ext4-vda": two disks of one host are
// two places.
func (f Fingerprint) Place() string {
	place := f.ID()
	for _, p := range f.Paths {
		place += "-" + p.FS + "-" + p.Disk
	}
	return strings.ReplaceAll(strings.ReplaceAll(place, " ", "_"), "/", "_")
}

// String is one line, such as "1f2e3d4c: AMD EPYC, 2 cores, 2 threads, 24 GiB,
// linux/amd64 6.18.4, virtual: kvm+hypervisor, governor absent, clock tsc, no
// CPU quota, no memory limit, go1.26.8 GOMAXPROCS=2; /data: ext4 on vda ...".
func (f Fingerprint) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d cores, %d threads, %.0f GiB, %s/%s %s, ",
		f.ID(), f.CPU, f.Physical, f.Logical, float64(f.Memory)/(1<<30), f.OS, f.Arch, f.Kernel)
	if f.Virtual == "no" {
		b.WriteString("not virtual")
	} else {
		b.WriteString("virtual: " + f.Virtual)
	}
	fmt.Fprintf(&b, ", governor %s, clock %s", f.Governor, f.ClockSource)
	if f.CPUQuota > 0 {
		fmt.Fprintf(&b, ", CPU quota %g", f.CPUQuota)
	} else {
		b.WriteString(", no CPU quota")
	}
	if f.MemoryLimit > 0 {
		fmt.Fprintf(&b, ", memory limit %.1f GiB", float64(f.MemoryLimit)/(1<<30))
	} else {
		b.WriteString(", no memory limit")
	}
	fmt.Fprintf(&b, ", %s GOMAXPROCS=%d", f.Go, f.GOMAXPROCS)
	for _, p := range f.Paths {
		b.WriteString("; " + p.String())
	}
	return b.String()
}
