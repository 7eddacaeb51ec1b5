//go:build unix

package rawblock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func mapPages(n int) ([]byte, error) {
	buf, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for write buffers: %w; use fewer or smaller keys a batch", n, err)
	}
	return buf, nil
}

func unmapPages(buf []byte) { _ = unix.Munmap(buf) } // fails only for memory that isn't mapped
