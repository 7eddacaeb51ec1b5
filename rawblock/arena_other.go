//go:build !unix

package rawblock

import "unsafe"

const pageSize = 4096

// MapPages gives zeroed memory of at least n bytes, aligned to a page, from the Go
// heap: what needs it off the heap runs on Linux only.
func MapPages(n int) ([]byte, error) {
	raw := make([]byte, n+pageSize)
	skip := pageSize - int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))%pageSize)
	return raw[skip : skip+n : skip+n], nil
}

// UnmapPages leaves it to the garbage collector.
func UnmapPages([]byte) {}
