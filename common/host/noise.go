package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What makes a run dirty, see [Noise.Dirty].
const (
	MaxForeignCPU  = 0.10 // of one core
	MaxSteal       = 0.02 // of all CPU time
	MaxMemoryStall = 0.01 // of the elapsed time
)

// tick is the unit of /proc/stat, USER_HZ, which is 100 on all that Go runs on.
const tick = 10 * time.Millisecond

// Noise is what others did while a run lasted.
type Noise struct {
	Elapsed time.Duration `json:"elapsed_ns"`
	Known   bool          `json:"known"` // whether ForeignCPU and Steal could be read
	CPUs    int           `json:"cpus"`  // that the kernel counts

	// ForeignCPU is CPU time, in user and kernel, of other processes, as a
	// number of cores: 0.5 is half of one core. Interrupts count for nobody.
	ForeignCPU float64 `json:"foreignCPU"`

	// Steal is the share of all CPUs' time that the hypervisor gave to others.
	Steal float64 `json:"steal"`

	// Pressure stall information, nil if the kernel has none.
	CPU    *Pressure `json:"cpuPressure,omitempty"`
	IO     *Pressure `json:"ioPressure,omitempty"`
	Memory *Pressure `json:"memoryPressure,omitempty"`
}

// Pressure is how tasks of the whole host waited for one resource, by the
// "some" line of /proc/pressure: at least one task was waiting.
type Pressure struct {
	Stall time.Duration `json:"stall_ns"` // during the run
	Avg10 float64       `json:"avg10"`    // percent of the last ten seconds, at the end
}

// A NoiseMeter watches from [StartNoise] on.
type NoiseMeter struct {
	tree  tree
	start reading
}

// reading is what the meter's sources say at one time.
type reading struct {
	at       time.Time
	own      time.Duration // CPU time of this process and its ended children
	stat     cpuStat
	known    bool // own and stat are
	pressure map[string]psi
}

// StartNoise starts to watch. It reads a few small files and costs about 0.1 ms,
// as does Stop: keep both outside of what is timed.
func StartNoise() *NoiseMeter { return startNoise(system) }

func startNoise(t tree) *NoiseMeter { return &NoiseMeter{t, takeReading(t, time.Now())} }

// Stop returns the noise since the start. The meter goes on: a later Stop
// covers the whole time again. Children of this process count as its own once
// they have ended and been waited for; stop after that.
func (m *NoiseMeter) Stop() Noise {
	return m.start.until(takeReading(m.tree, time.Now()))
}

func takeReading(t tree, at time.Time) reading {
	r := reading{at: at, pressure: map[string]psi{}}
	own, ownKnown := ownCPU()
	stat, statKnown := parseStat(t.text("proc/stat"))
	r.own, r.stat, r.known = own, stat, ownKnown && statKnown
	for _, what := range []string{"cpu", "io", "memory"} {
		if p, ok := parsePressure(t.text("proc/pressure/" + what)); ok {
			r.pressure[what] = p
		}
	}
	return r
}

// until is the noise between two readings.
func (r reading) until(end reading) Noise {
	n := Noise{Elapsed: end.at.Sub(r.at), CPUs: end.stat.cpus}
	n.CPU, n.IO, n.Memory = r.stall(end, "cpu"), r.stall(end, "io"), r.stall(end, "memory")
	n.Known = r.known && end.known && n.Elapsed > 0
	if !n.Known {
		return n
	}
	// Counters of a CPU that was taken out go back; own time is exact where
	// the kernel's is in ticks. Below zero is zero.
	busy := max(0, end.stat.busy-r.stat.busy)
	foreign := max(0, time.Duration(busy)*tick-(end.own-r.own))
	n.ForeignCPU = foreign.Seconds() / n.Elapsed.Seconds()
	if total := end.stat.total - r.stat.total; total > 0 {
		n.Steal = float64(max(0, end.stat.steal-r.stat.steal)) / float64(total)
	}
	return n
}

func (r reading) stall(end reading, what string) *Pressure {
	from, ok1 := r.pressure[what]
	to, ok2 := end.pressure[what]
	if !ok1 || !ok2 {
		return nil
	}
	return &Pressure{Stall: to.total - from.total, Avg10: to.avg10}
}

// Dirty tells whether others disturbed the run so much that its figures should
// be marked, and why. It is when
//
//   - others used more than [MaxForeignCPU] of one core: two busy goroutines
//     elsewhere are enough to double a short wait;
//   - more than [MaxSteal] of the CPU time was stolen, as such pauses last
//     milliseconds;
//   - tasks stalled on memory for more than [MaxMemoryStall] of the time:
//     the host was reclaiming or swapping.
//
// The kernel counts CPU time in ticks of 10 ms, so three ticks of foreign time
// and two of steal are forgiven, which matters in runs shorter than a second.
// CPU and I/O pressure aren't judged: a run that saturates a resource makes
// them itself. What is unknown isn't dirty.
func (n Noise) Dirty() (reason string, dirty bool) {
	var why []string
	if n.Known {
		ticks := float64(tick) / float64(n.Elapsed)
		if n.ForeignCPU > MaxForeignCPU+3*ticks {
			why = append(why, fmt.Sprintf("others used %.2f of a core (more than %.2f)", n.ForeignCPU, MaxForeignCPU))
		}
		if n.Steal > MaxSteal && n.Steal*float64(n.CPUs) > 2*ticks {
			why = append(why, fmt.Sprintf("%.1f %% of CPU time stolen (more than %.0f %%)", 100*n.Steal, 100*MaxSteal))
		}
	}
	if n.Memory != nil {
		if share := float64(n.Memory.Stall) / float64(n.Elapsed); share > MaxMemoryStall {
			why = append(why, fmt.Sprintf("memory stalls for %.1f %% of the time (more than %.0f %%)", 100*share, 100*MaxMemoryStall))
		}
	}
	return strings.Join(why, "; "), len(why) > 0
}

// String is one line with all that is known.
func (n Noise) String() string {
	var b strings.Builder
	if n.Known {
		fmt.Fprintf(&b, "foreign CPU %.2f cores, steal %.1f %%", n.ForeignCPU, 100*n.Steal)
	} else {
		b.WriteString("foreign CPU and steal unknown")
	}
	for _, p := range []struct {
		name string
		*Pressure
	}{{"cpu", n.CPU}, {"io", n.IO}, {"memory", n.Memory}} {
		if p.Pressure == nil {
			fmt.Fprintf(&b, ", %s pressure %s", p.name, Absent)
		} else {
			fmt.Fprintf(&b, ", %s stalls %v", p.name, p.Stall)
		}
	}
	fmt.Fprintf(&b, " in %v", n.Elapsed.Round(time.Millisecond))
	return b.String()
}

// cpuStat is the first line of /proc/stat, in ticks, see proc_stat(5).
type cpuStat struct {
	cpus  int
	busy  int64 // user, nice and system: time of processes
	steal int64
	total int64
}

func parseStat(text string) (cpuStat, bool) {
	var s cpuStat
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		if f[0] != "cpu" {
			s.cpus++
			continue
		}
		if len(f) < 9 {
			return s, false
		}
		// user nice system idle iowait irq softirq steal; what follows is
		// the guests' and within user already.
		var n [8]int64
		for i := range n {
			v, err := strconv.ParseInt(f[i+1], 10, 64)
			if err != nil {
				return s, false
			}
			n[i] = v
			s.total += v
		}
		s.busy, s.steal = n[0]+n[1]+n[2], n[7]
	}
	return s, s.total > 0
}

// psi is the "some" line of a file of /proc/pressure.
type psi struct {
	avg10 float64
	total time.Duration
}

func parsePressure(text string) (psi, bool) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "some ")
		if !ok {
			continue
		}
		var p psi
		seen := 0
		for _, f := range strings.Fields(rest) {
			name, value, _ := strings.Cut(f, "=")
			switch name {
			case "avg10":
				v, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return psi{}, false
				}
				p.avg10 = v
				seen++
			case "total":
				v, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return psi{}, false
				}
				p.total = time.Duration(v) * time.Microsecond
				seen++
			}
		}
		return p, seen == 2
	}
	return psi{}, false
}
