package fidelity

import (
	"math"
	"runtime"
	"strconv"
	"strings"

	"latlab.example/common/host"
)

// Names of the facts that Host reads.
const (
	OS         = "os"
	CPU        = "cpu"
	Cores      = "cores"      // processors that this process may run on
	CPUShare   = "cpu share"  // pinned, quota of so many cores, or all cores
	GOMAXPROCS = "GOMAXPROCS" // of this process
	Memory     = "memory GiB"
	Virtual    = "virtual"
	Governor   = "governor"
	Clock      = "clock source"
	FileSystem = "file system" // of the first path that the fingerprint was read for
	Disk       = "disk"
)

// Host is what a fingerprint and this process say of where it runs.
func Host(f host.Fingerprint) Facts {
	facts := Facts{
		{Name: Cores, Value: strconv.Itoa(runtime.NumCPU()), Why: "processors this process may run on"},
		{Name: CPUShare, Value: share(f)},
		{Name: GOMAXPROCS, Value: strconv.Itoa(runtime.GOMAXPROCS(0)), Why: "with a quota of one core Go still takes 2"},
		{Name: OS, Value: f.OS + "/" + f.Arch + " " + f.Kernel},
		{Name: CPU, Value: known(f.CPU)},
		{Name: Memory, Value: gib(f)},
		{Name: Virtual, Value: known(f.Virtual)},
		{Name: Governor, Value: known(f.Governor)},
		{Name: Clock, Value: known(f.ClockSource)},
	}
	if len(f.Paths) > 0 {
		facts = append(facts, Fact{Name: FileSystem, Value: known(f.Paths[0].FS)}, Fact{Name: Disk, Value: known(f.Paths[0].Disk)})
	}
	return facts
}

func share(f host.Fingerprint) string {
	var parts []string
	if n := runtime.NumCPU(); n < f.Logical {
		parts = append(parts, "pinned")
	}
	if f.CPUQuota > 0 {
		parts = append(parts, "quota "+strconv.FormatFloat(f.CPUQuota, 'g', 3, 64))
	}
	if len(parts) == 0 {
		return "all cores"
	}
	return strings.Join(parts, ", ")
}

func gib(f host.Fingerprint) string {
	if f.Memory == 0 {
		return ""
	}
	least := f.Memory
	if f.MemoryLimit > 0 {
		least = min(least, f.MemoryLimit)
	}
	return strconv.FormatFloat(math.Round(float64(least)/(1<<30)), 'g', 6, 64)
}

// known drops the word for what couldn't be found out. That something is absent
// is an answer.
func known(s string) string {
	if s == host.Unknown {
		return ""
	}
	return s
}
