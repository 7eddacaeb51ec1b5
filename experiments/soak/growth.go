package soak

import (
	"fmt"
	"math"
	"runtime"
	"slices"
)

// What a case's memory may do: caches fill, the runtime keeps a little of its own,
// and what one case let go may be counted with the next. A case grows if it passes
// both.
const (
	Allowance = 1 << 20 // bytes that all its rounds may add
	PerRound  = 4 << 10 // bytes that a round may add
	judgeFrom = 10      // rounds; fewer have no slope worth its name
)

// Growth is the slope of what a case adds to the bytes that live after a
// collection: the median of the slopes between any two rounds (Theil and Sen),
// so that single rounds which fill a cache, or are followed by another case's
// clean-up, don't count.
type Growth struct {
	Case     string
	Rounds   int
	PerRound float64 // bytes
}

// Flat says whether the case kept to one of the two limits, or its rounds are too
// few to tell.
func (g Growth) Flat() bool {
	return g.Rounds < judgeFrom || g.PerRound <= PerRound || g.PerRound*float64(g.Rounds) <= Allowance
}

func (g Growth) String() string {
	if g.Rounds < judgeFrom {
		return fmt.Sprintf("memory of %s: %d rounds are too few to judge; %d will do", g.Case, g.Rounds, judgeFrom)
	}
	verdict := "flat"
	if !g.Flat() {
		verdict = "GROWS"
	}
	return fmt.Sprintf("memory of %s: %s, %+.0f bytes a round, %+.2f MiB in %d rounds; it grows beyond both %d bytes and %d MiB",
		g.Case, verdict, g.PerRound, g.PerRound*float64(g.Rounds)/(1<<20), g.Rounds, PerRound, Allowance>>20)
}

// grown is the series of one case: bytes added up to each round.
type grown struct{ sums []float64 }

func (g *grown) add(bytes int64) {
	last := 0.0
	if n := len(g.sums); n > 0 {
		last = g.sums[n-1]
	}
	g.sums = append(g.sums, last+float64(bytes))
}

func (g *grown) growth(name string) Growth {
	return Growth{Case: name, Rounds: len(g.sums), PerRound: slope(g.sums)}
}

// most points that a slope is computed from, since it takes all pairs.
const most = 1000

// slope is Theil and Sen's.
func slope(of []float64) float64 {
	step := (len(of) + most - 1) / most
	var all []float64
	for i := 0; i < len(of); i += max(step, 1) {
		for j := i + step; j < len(of); j += step {
			all = append(all, (of[j]-of[i])/float64(j-i))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// alive is how many bytes live on the heap after collections: as many as make it
// smaller, since pools and finalizers let go in steps.
func alive() int64 {
	var m runtime.MemStats
	for last := uint64(math.MaxUint64); ; last = m.HeapAlloc {
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		if m.HeapAlloc+1<<10 >= last {
			return int64(m.HeapAlloc)
		}
	}
}
