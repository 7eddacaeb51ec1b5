// Package child runs a function of this program in a fresh process, within
// limits: chosen CPUs, a CPU quota, a number of processors for Go.
//
// What a process is allowed can't be taken back from a part of it: a collector,
// a network poller and a neighbour's goroutines all use the same processors. So
// what is to be measured on one core runs in a process of its own.
//
//	func init() { child.Register("service", serve) }
//
//	func main() {
//		child.Main() // in a child this runs serve and doesn't return
//		p, err := child.Start(ctx, "service", child.Limits{CPUs: []int{0}})
//		...
//	}
//
// The function talks to its parent by the reader and the writer that it gets:
// they are the child's standard input and output. What it, or a panic, writes to
// standard error is part of the parent's error.
//
// A child is in a process group of its own, so that Ctrl-C reaches the parent
// alone. It ends when the context of Start ends, and on Linux when its parent
// dies; elsewhere its input ends then.
package child
