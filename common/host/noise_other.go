//go:build !linux

package host

import "time"

func ownCPU() (time.Duration, bool) { return 0, false }
