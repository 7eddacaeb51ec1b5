package bubble

import "time"

// SetGrace shortens grace, and returns what puts it back.
func SetGrace(d time.Duration) (restore func()) {
	old := grace
	grace = d
	return func() { grace = old }
}

// ParseGoroutine is for the test of its own.
var ParseGoroutine = parseGoroutine

// RaceEnabled says whether the race detector is on.
const RaceEnabled = raceEnabled
