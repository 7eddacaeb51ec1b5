package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU is the CPU time, user and system, of this process and of its children
// that have been waited for.
func ownCPU() (time.Duration, bool) {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			return 0, false
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum, true
}
