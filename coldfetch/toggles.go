package coldfetch

import (
	"fmt"

	"latlab.example/coldfetch/exec"
	"latlab.example/common/metrics"
)

// Mode is how handlers run: see package exec.
type Mode string

// The modes. The study's service was a loop.
const (
	Loop       Mode = "loop"
	OffloadGIL Mode = "offload-gil"
	Goroutines Mode = "goroutines"
	Bounded    Mode = "bounded" // one build at a time
)

// Executor starts the mode's executor; the caller closes it. An unknown mode is
// an error in the program: it panics.
func (m Mode) Executor() exec.Executor {
	switch m {
	case Loop:
		return exec.NewLoop()
	case OffloadGIL:
		return exec.NewOffload(exec.Threads)
	case Goroutines:
		return exec.NewGoroutines()
	case Bounded:
		return exec.NewBounded(1)
	}
	panic(fmt.Sprintf("coldfetch: no mode %q", m))
}

// BuildProfile is the code that builds: both give the same result.
type BuildProfile string

// The profiles.
const (
	AsIs BuildProfile = "as-is" // splits each text again wherever its terms are needed, and counts in maps
	Lean BuildProfile = "lean"  // what a CPU profile of it suggests
)

// Flight is what callers of one document share.
type Flight string

// The levels.
const (
	Alone      Flight = "none"       // everybody pulls and builds for himself
	SharePull  Flight = "pull"       // one pull of a document at a time
	ShareBuild Flight = "pull+build" // and one build
)

// The choices that the code reads; first the study's baseline.
var (
	ModeToggle = metrics.NewToggle("mode", Loop, OffloadGIL, Goroutines, Bounded).
			Simulates("an interpreter lock", OffloadGIL)
	FlightToggle = metrics.NewToggle("single-flight", Alone, SharePull, ShareBuild)
	// CacheToggle is how many built documents are kept. There are six.
	CacheToggle   = metrics.NewToggle("cache", 2, 6, 0)
	GzipToggle    = metrics.NewToggle("gzip", false, true)
	ProfileToggle = metrics.NewToggle("build-profile", AsIs, Lean)
)
