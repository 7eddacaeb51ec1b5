package metrics

import _ "unsafe" // for go:linkname

// procPin keeps the goroutine on its P and returns the number of that P. The
// runtime lists it among the names that packages outside may link to, so no
// linker flag is needed.
//
//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
