// Package uring is engine io_uring: many transfers in one submission.
//
// It is built only on Linux with tag giouring, and its library links only with
// -ldflags=-checklinkname=0; the Makefile passes both. Otherwise New answers
// with rawblock.ErrNotBuilt.
//
// How it works:
//
//  1. A caller borrows a ring and is its only user until its transfers are
//     complete, so that no ring is shared and no lock is held while one waits.
//     Single writes borrow rings of one entry, batches and streams larger ones.
//  2. It fills the ring, and submits and waits in one system call: the kernel
//     finishes a transfer on the thread that submitted it.
//  3. It counts completions and nothing else, since a signal ends a wait early and
//     a bad entry ends a submission early, neither with an error. It never has
//     more under way than the ring has entries, so no completion is ever lost.
//  4. What was taken in part is asked for again from where it ended. A transfer
//     that moves no bytes is an error.
//  5. It returns when nothing is under way, whatever happened: a caller's buffers
//     are its own again.
//
// Buffers may lie outside the Go heap (as a store's do) or on it: the kernel
// gets addresses, which Go's collector can't see, but Go doesn't move heap
// objects, and a borrowed ring holds the caller's transfers, which keeps
// their buffers alive and off the stack.
package uring

import (
	"latlab.example/common/metrics"
	"latlab.example/rawblock"
)

// File is what the engine sits on: a *rawblock.File, or what embeds one.
type File interface {
	rawblock.Device
	// Fd is the descriptor, open for reading and writing until Close.
	Fd() int
	// Place is where in the file a transfer goes, or why it may not. Every
	// transfer of the engine passes it.
	Place(off int64, n int) (int64, error)
}

// Options are the engine's. The zero value is the default.
type Options struct {
	// Entries is how many transfers of a batch are under way at most, 1 to 32768;
	// larger batches go through in pieces. 0 is 1024.
	Entries int
	// Registered makes Register work. Transfers from and to registered memory spare
	// the kernel finding and pinning its pages each time: for 1000 scattered writes
	// that was a fifth of the CPU time at 4 KiB and half at 64 KiB; the device being
	// the limit, they took as long (BenchmarkMeasuredOptions).
	Registered bool
	// SQPoll has a kernel thread poll for the submissions of batches, which spares
	// their system call. The thread takes a whole CPU until it has been idle for a
	// second: on 2 CPUs the same writes took 14 % less time on a quiet host and 14 %
	// more on a busy one, for 1.2 to 2 times the CPU time (BenchmarkMeasuredSQPoll).
	// There is one ring for batches then, for which they wait. Single writes don't
	// use it.
	SQPoll bool
}

// Toggles, the first level being the baseline.
var (
	EntriesToggle    = metrics.NewToggle("ring", 1024, 64, 256)
	RegisteredToggle = metrics.NewToggle("registered", false, true)
	SQPollToggle     = metrics.NewToggle("sqpoll", false, true)
)

// OptionsOf are the options that an arm chose.
func OptionsOf(c metrics.Choice) Options {
	return Options{Entries: EntriesToggle.Of(c), Registered: RegisteredToggle.Of(c), SQPoll: SQPollToggle.Of(c)}
}
