// Package slowdisk is a block device with a chosen latency: a real /dev/loopN
// whose medium is modelled.
//
// The loop device lies, with direct I/O, on a file that this process serves
// through FUSE. So a store's requests go through the kernel's block layer as
// they would to a drive, and come back to a medium that is memory, serves so
// many requests at once as it has channels, takes so long for each, and fails on
// schedule:
//
//	store -> O_DIRECT -> block layer -> loop driver -> FUSE -> memory, waits
//
// What the path itself costs comes on top of the latency: some 0.1 ms a request
// alone, less for each of many together. The waits are spun by emu.Spin in this
// process, which keeps one core busy.
//
// # What is needed
//
// Linux, root, /dev/fuse and a loop device. Without one of them Open says which
// (ErrRoot, ErrFUSE, ErrLoop, rawblock.ErrPlatform) and what to do. FUSE must
// pass direct requests on without waiting for each (capability ASYNC_DIO); else
// the device would serve one request at a time in silence, so Open refuses.
//
// # What is left behind
//
// Close leaves nothing, nor does an Open that fails. The kernel detaches the
// loop device itself when the process ends. A killed process leaves its mount,
// and stays as a zombie itself if a request was under way, since nobody answers
// that any more. The mount's name says whose it was, so the next Open, or
// CleanStale, unmounts what belongs to no living process, which also ends such a
// zombie. By hand: umount -f -l DIR, where DIR is a mount of type
// fuse.latlab-slowdisk.
//
// # Faults
//
// A schedule counts requests as they reach the medium, from the end of Open on.
// The kernel splits transfers of more than 512 KiB, and may merge neighbours.
//
//	read, write  error, reset  fails with EIO and changes nothing
//	read, write  short         moves the first half of its blocks, and says so
//	read         torn          as short
//	write        torn          moves the first half of its blocks, and hides it
//	flush        error, reset  fails with EIO and makes nothing durable
//	flush        torn, short   makes nothing durable, and hides it: a dropped flush
//	all          slow(D)       takes D longer
//
// A block device knows no short transfers. The loop driver reads the rest of a
// short read anew, so the read succeeds. It fails a short write with EIO (seen on
// Linux 6.18): the store sees an error, and the device has half of the data.
package slowdisk
