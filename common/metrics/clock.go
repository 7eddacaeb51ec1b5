package metrics

import "time"

// Mark is a moment that [Recorder.Start] took: nanoseconds of the monotonic
// clock since a fixed moment of this process. Zero means that recording was
// off. Marks are compared with each other only, and only when both come from
// one process, and from the same synctest bubble if from any.
type Mark int64

// epoch lies a second before the package starts, so that no mark is zero even
// on a clock that ticks slowly.
var epoch = time.Now().Add(-time.Second)

// now reads the clock once. time.Since of a time with a monotonic part takes
// one monotonic read, half the cost of time.Now, and is virtual inside a
// testing/synctest bubble.
func now() Mark { return Mark(time.Since(epoch)) }
