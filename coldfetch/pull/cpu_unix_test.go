//go:build unix

package pull_test

import (
	"syscall"
	"time"
)

// ownCPU is the processor time of this process so far.
func ownCPU() (time.Duration, bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
