package submit

import "latlab.example/common/metrics"

// Dedup is where a key is looked up.
type Dedup string

// The look-ups.
const (
	Locked Dedup = "locked" // in one critical section with its registration
	Racy   Dedup = "racy"   // before it, without the lock: the study's fault
)

// Dispatch is what becomes of references and registrations when a background
// task can't be started.
type Dispatch string

// The ways to fail.
const (
	Undo  Dispatch = "undo"  // they are taken back
	Leaky Dispatch = "leaky" // they stay, though not the place in the queue: the study's fault
)

// Toggles, the first level being the baseline.
var (
	DedupToggle    = metrics.NewToggle("dedup", Locked, Racy)
	DispatchToggle = metrics.NewToggle("dispatch", Undo, Leaky)
)

// resolve finds a toggle's level: option, environment, baseline. An option that
// isn't a level is an error too.
func resolve[T ~string](t *metrics.Toggle[T], option T) (T, error) {
	if option == "" {
		return t.Resolve(nil, nil)
	}
	return t.Parse(string(option))
}
