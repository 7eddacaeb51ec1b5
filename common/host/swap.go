package host

import (
	"context"

	"github.com/shirou/gopsutil/v4/mem"
)

// SwapUsed is how many bytes of memory are swapped out, and false if that is
// unknown here. A process whose pages are on a disk waits for it at any moment.
func SwapUsed(ctx context.Context) (uint64, bool) {
	s, err := mem.SwapMemoryWithContext(ctx)
	if err != nil {
		return 0, false
	}
	return s.Used, true
}
