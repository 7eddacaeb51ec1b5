//go:build unix

package rawblock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// MapPages gives zeroed memory of at least n bytes as the store's buffers have it:
// aligned to a page, and on Unix outside the Go heap, so that direct I/O and a ring
// can take it. UnmapPages gives it back. The error is the system's.
func MapPages(n int) ([]byte, error) {
	buf, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for write buffers: %w; use fewer or smaller keys a batch", n, err)
	}
	return buf, nil
}

// UnmapPages gives memory of MapPages back; nothing may use it any more.
func UnmapPages(buf []byte) { _ = unix.Munmap(buf) } // fails only for memory that isn't mapped
