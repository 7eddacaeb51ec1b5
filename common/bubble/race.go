//go:build race

package bubble

import (
	"flag"
	"testing"
)

const raceEnabled = true

// When the race detector finds a race, package testing reports it, and looks
// at one of its flags for that. In a command nobody has made them. They go
// into a set that nobody parses.
func init() {
	if testing.Testing() {
		return // MainStart will do it
	}
	set := flag.CommandLine
	flag.CommandLine = flag.NewFlagSet("testing", flag.ContinueOnError)
	testing.Init()
	flag.CommandLine = set
}
