package main

import (
	"bytes"
	"fmt"
)

// archive is an initial RAM disk in the making: cpio's format "newc", as the
// kernel's Documentation/driver-api/early-userspace/buffer-format.rst has it.
type archive struct {
	b bytes.Buffer
	n int
}

// Types and rights of entries.
const (
	folder  = 0o040755
	program = 0o100755
	plain   = 0o100644
)

func (a *archive) add(name string, mode int, data []byte) {
	a.n++
	fields := []int{a.n, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0}
	a.b.WriteString("070701")
	for _, f := range fields {
		fmt.Fprintf(&a.b, "%08x", f)
	}
	a.b.WriteString(name + "\x00")
	a.pad()
	a.b.Write(data)
	a.pad()
}

// pad fills up to a multiple of 4 bytes.
func (a *archive) pad() { a.b.Write(make([]byte, (4-a.b.Len()%4)%4)) }

// done ends the archive.
func (a *archive) done() []byte {
	a.add("TRAILER!!!", 0, nil)
	return a.b.Bytes()
}
