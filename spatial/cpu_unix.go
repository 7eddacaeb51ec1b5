//go:build unix

package spatial

import (
	"syscall"
	"time"
)

// ProcessCPU is the time that this process has used on all processors, user and
// system; ok is false where the system doesn't tell.
func ProcessCPU() (used time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
