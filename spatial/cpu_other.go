//go:build !unix

package spatial

import "time"

// ProcessCPU is the time that this process has used on all processors, user and
// system; ok is false where the system doesn't tell.
func ProcessCPU() (used time.Duration, ok bool) { return 0, false }
