//go:build !unix

package rawblock

import "unsafe"

const pageSize = 4096

// mapPages takes heap memory: what needs it off the heap runs on Linux only.
func mapPages(n int) ([]byte, error) {
	raw := make([]byte, n+pageSize)
	skip := pageSize - int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))%pageSize)
	return raw[skip : skip+n : skip+n], nil
}

func unmapPages([]byte) {}
