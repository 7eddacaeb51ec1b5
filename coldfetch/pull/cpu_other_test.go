//go:build !unix

package pull_test

import "time"

func ownCPU() (time.Duration, bool) { return 0, false }
